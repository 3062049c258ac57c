"""What the page shows, against the runs: storm, dashboards, tables, bench, exercise."""

from __future__ import annotations

import re

import numpy as np
import pytest

from llmserve_lab.symptoms import exercise, measured
from llmserve_lab.symptoms.case import trials, tried, watched
from llmserve_lab.symptoms.cases import CASES, case
from llmserve_lab.symptoms.dashboard import METRICS, steady_tokens_per_s
from llmserve_lab.symptoms.page import (
    boards,
    figures,
    pause,
    playground,
    promql,
    tables,
)
from llmserve_lab.symptoms.served import WatchedRun
from tests.benches import answered


@pytest.mark.parametrize("who", boards.GAME)
def test_a_dashboard_stands_beside_the_one_before_its_change(who: str) -> None:
    of, cause = boards.place(who)
    shown = boards.dashboard(who)
    for at, each in enumerate((None, cause), start=1):
        stands = {str(row[0]): row[at] for row in shown.rows}
        all_of_it = boards.panel(watched(of, each))
        assert stands == {name: all_of_it[name] for name in stands}
        assert all(name in stands for name, said in all_of_it.items() if said != "–")
    with pytest.raises(ValueError, match="who must be one of"):
        boards.dashboard("dashboard 4")


def test_the_slowest_percent_is_four_times_as_long_as_before() -> None:
    """As the question on dashboard 2 says; its median is what it was."""
    of, cause = boards.place("dashboard 2")
    before, now = watched(of), watched(of, cause)
    assert round(now["itl_p99"] / before["itl_p99"]) == 4
    assert now["itl_p50"] / before["itl_p50"] == pytest.approx(1, abs=0.05)


def test_no_iteration_of_the_server_that_preempts_explains_its_pause() -> None:
    """Its budget cuts every prompt; what stands still for seconds was preempted."""
    of = case("pauses")
    run = of.cause("preemption").setup(0)
    assert isinstance(run, WatchedRun)
    log = run.report().log
    assert log is not None
    longest = max((each.end_s - each.start_s) / each.count for each in log)
    assert longest < 0.1 < watched(of, "preemption")["worst_gap"] / 10


def test_queue_time_and_prefill_make_the_time_to_the_first_token() -> None:
    """Both are counted when a request finishes, so their share is of one population."""
    (query,) = (q for name, _, q in promql.ROWS if name.startswith("queue time"))
    assert query.count("vllm:request_queue_time_seconds_sum") == 2
    assert query.count("vllm:request_prefill_time_seconds_sum") == 1


def test_boards_show_the_numbers_of_their_runs() -> None:
    for name, exported, *_ in boards.pair().panel.rows:
        kind = str(exported).split()[0].rstrip("s")
        assert kind in ("gauge", "counter", "histogram", "the"), name
    with pytest.raises(ValueError, match="gauges over time, got none"):
        expert = case("hot-expert")
        boards._gauges_of(watched(expert, expert.causes[0].name), "", "")


def test_one_moment_has_one_fullest_cache() -> None:
    """The same load with nothing found, and with nothing looked up, holds as much."""
    of = case("prefix-cache")
    off, clock = (watched(of, cause.name)["kv_peak"] for cause in of.causes[:2])
    shown = boards.dashboard("dashboard 3")
    now = {str(row[0]): row[-1] for row in shown.rows}
    assert off == clock and now["KV cache in use, most"] == f"{off:.0%}"


@pytest.mark.long
@pytest.mark.parametrize("key", [each.key for each in CASES])
def test_tables_say_what_was_tried(key: str) -> None:
    """Below each cause are its remedies; each verdict is read off the cells alone."""
    of, table = case(key), tables.tried_on(key)
    done = {(e.cause.name, f"→ {e.remedy.words}"): e for e in trials(of)}
    assert len(set(table.columns)) == len(table.columns), "no column twice"
    for column in zip(*table.rows, strict=True):
        assert set(column) != {"–"}, "no column without a number"
    words, cause, found = METRICS[of.goal].words, "", []
    at = table.columns.index("tokens/s" if of.goal == "tokens_per_s" else words)
    for name, said, *cells in table.rows[1:]:
        if said == "as it is":
            cause = str(name)
            continue
        trial = done[cause, str(name)]
        found.append((cause, name))
        assert trial.helped == (said != "in vain")
        shown = tables.number(of.goal, trial.after[of.goal])
        assert str(cells[at - 2]).startswith(shown)
        worse = [c for c in cells if str(c).endswith("(worse)")]
        assert len(worse) == len(trial.price)
        assert (said == "helps, at a price") == bool(trial.helped and worse)
    assert found == [key for key in done]


def test_a_price_is_a_metric_that_became_clearly_worse() -> None:
    """A cap and smaller chunks delay the first token, and the cap takes more than a
    quarter of the rate; both help the percentile on which the alarm rings."""
    of = case("percentiles")
    cap, chunks, bits = (
        tried(of, "a large batch", each) for each in ("cap the batch", *CHUNKS)
    )
    assert cap.helped and set(cap.price) == {"tokens_per_s", "ttft_p50"}
    assert chunks.helped and set(chunks.price) == {"ttft_p50"}
    rate = "tokens_per_s"
    assert 0.85 < chunks.after[rate] / chunks.before[rate] < 1
    assert chunks.factor > 3 * cap.factor
    assert not bits.helped and bits.price == ()
    assert of.goal == of.alarm.metric


CHUNKS = ("smaller chunks", "8 bits for the cache")


def test_a_steady_rate_is_never_above_that_of_iterations_that_read_no_prompt() -> None:
    """Reading prompts takes time in which fewer tokens are written."""
    of = case("idle-arithmetic")
    for each in (watched(of), *(e.after for e in trials(of))):
        assert each["tokens_per_s"] < 1.02 * each["decode_per_s"]


def test_the_gain_of_drafts_is_the_ratio_of_the_rates_beside_it() -> None:
    of = case("speculation")
    off = tried(of, "a large batch", "no drafts in large batches")
    rates = [each["tokens_per_s"] for each in off.pair]
    assert off.before["gain"] == pytest.approx(rates[0] / rates[1])


def test_no_open_load_writes_more_than_arrives_but_from_its_queue() -> None:
    """All that a static batch writes was asked for; a window can hold older work."""
    of = case("short-answers")
    for cause in of.causes:
        run = cause.setup(0)
        assert isinstance(run, WatchedRun)
        report = run.report()
        asked = sum(each.output_len for each in run.requests)
        assert report.output_len.sum() == asked
        assert report.throughput_tokens_per_s < asked / report.arrival_s.max()


@pytest.mark.parametrize("cause", (0, 1))
def test_the_pause_that_is_drawn_is_that_of_the_report(cause: int) -> None:
    run = case("pauses").causes[cause].setup(0)
    assert isinstance(run, WatchedRun)
    report, shown = run.report(), pause.longest(run.report())
    assert np.isclose(report.worst_gap_s, shown.seconds, rtol=1e-3).any()
    p90 = np.percentile(report.worst_gap_s, 90)
    assert shown.seconds == pytest.approx(p90, rel=0.02)
    assert ("preempted" in shown.reason) == (cause == 1)


def test_the_steady_window_counts_neither_ramp_nor_drain() -> None:
    """Two pools carry what is offered; over the whole run half of it is missing."""
    run = case("pools").healthy(0)
    assert isinstance(run, WatchedRun)
    report = run.report()
    offered = float(report.output_len.sum() / report.arrival_s.max())
    assert steady_tokens_per_s(report) == pytest.approx(offered, rel=0.12)
    assert report.throughput_tokens_per_s < 0.6 * offered


def test_every_panel_asks_for_a_metric_of_its_type() -> None:
    for _, kind, query in promql.ROWS:
        assert ("_bucket" in query or "_sum" in query) == (kind == "histogram")
        assert ("rate(" in query) == (kind != "gauge")
        assert query.count("(") == query.count(")") and "vllm:" in query


# Counters of a made-up server, and what each panel then has to say.
COUNTED = {
    "vllm:request_queue_time_seconds_sum": 12.0,
    "vllm:request_prefill_time_seconds_sum": 36.0,
    "vllm:num_preemptions_total": 3.0,
    "vllm:e2e_request_latency_seconds_count": 60.0,
    "vllm:prefix_cache_hits_total": 800.0,
    "vllm:prefix_cache_queries_total": 1000.0,
    "vllm:generation_tokens_total": 5000.0,
}
SAID = {
    "queue time, share of TTFT": 0.25,
    "preemptions per request": 0.05,
    "prefix cache, share found": 0.8,
    "tokens written per second": 5000.0,
}
RATE = re.compile(r"sum by \(instance, engine\) \(rate\((\S+?)\[5m\]\)\)")


def test_every_rate_and_ratio_says_what_its_panel_is_called() -> None:
    found = {}
    for panel, _, query in promql.ROWS:
        asked = [COUNTED[name] for name in RATE.findall(query)]
        if asked:
            form = RATE.sub("·", query)
            assert form in ("·", "· / ·", "· / (· + ·)")
            found[panel] = asked[0] / (sum(asked[1:]) or 1.0)
    assert found == pytest.approx(SAID)


def test_the_bench_tries_a_remedy_and_refuses_one_of_another_cause() -> None:
    assert "901 ms" in answered(playground.bench)
    refused = answered(playground.bench, remedy="turn it on")
    assert "remedy must be one of smaller chunks, fewer slots" in refused


def test_the_naive_diagnosis_is_told_and_the_solution_passes() -> None:
    assert exercise.check(exercise.by_first_alarm).startswith("not yet")
    assert exercise.check(exercise.by_signs).startswith("well done")
    with pytest.raises(ValueError, match="diagnose must return the name of a cause"):
        exercise.check(lambda panel: 3)  # type: ignore[arg-type,return-value]


def test_slots_from_two_measured_rows_are_near_those_of_the_cache() -> None:
    """Little's law knows nothing of memory, the count of blocks nothing of time."""
    found = measured.jump()
    assert found.full.clients == 2 * found.calm.clients
    assert found.slots / found.room == pytest.approx(1.0, abs=0.05)
    assert found.full.tpot_s / found.calm.tpot_s < 1.1


def test_the_staircases_are_those_of_the_events() -> None:
    """Arrived less admitted is what the log has waiting; the grey area is the queue."""
    report = figures.overloaded()
    assert report.log is not None
    arrived, admitted = figures.staircases(report)
    assert (admitted - arrived).sum() == pytest.approx(report.queue_s.sum())
    for at_s in (20.0, figures.SHOWN_S, 150.0):
        high, low = figures.waiting_at(report, at_s)
        events = [each for each in report.log.events if each.time_s <= at_s]
        assert high == sum(each.kind == "arrived" for each in events)
        assert low == sum(each.kind == "admitted" for each in events)
        assert high - low > 1


def test_the_diagnosis_of_the_text_names_all_three() -> None:
    of = case("pauses")
    said = [exercise.why_it_pauses(watched(of, name)) for name in (None, *PAUSE)]
    assert said[0] == "no answer pauses"
    for name, each in zip(PAUSE, said[1:], strict=True):
        assert each.startswith(name)


PAUSE = ("preemption", "long prompts in one piece")
