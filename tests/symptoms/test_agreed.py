"""What the page says twice: bases, keys and names agree with the runs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import inf, isnan
from pathlib import Path

import numpy as np
import pytest

from llmserve_lab.engine import Chunked
from llmserve_lab.symptoms import exercise, reports, triage
from llmserve_lab.symptoms.case import tried, watched
from llmserve_lab.symptoms.cases import case
from llmserve_lab.symptoms.mapped import panel_of
from llmserve_lab.symptoms.page import boards, promql
from llmserve_lab.symptoms.prometheus import FINISHED, ITL, Above, Ratio, Scrape
from llmserve_lab.symptoms.served import BUDGET, WatchedRun, changed, poisson, server
from llmserve_lab.symptoms.storm import slots_in_numbers, slots_on_average

CELLS = json.loads(Path("chapters/symptoms.ipynb").read_text("utf8"))["cells"]
TEXT = "".join("".join(c["source"]) for c in CELLS if c["cell_type"] == "markdown")
STORMS = [("preemption-storm", 0), ("preemption-storm", 1), ("pauses", 1)]


def ran(key: str, cause: int) -> WatchedRun:
    run = case(key).causes[cause].setup(0)
    assert isinstance(run, WatchedRun)
    return run


@pytest.mark.parametrize(("key", "cause"), STORMS)
def test_tokens_computed_again_are_a_share_of_all_that_were_computed(
    key: str, cause: int
) -> None:
    """Prompts and answers, less the last token of each, and what was lost."""
    run = ran(key, cause)
    report = run.report()
    once = int((report.prompt_len + report.output_len - 1).sum())
    again = report.recomputed_tokens
    assert run.observe()["recomputed"] == pytest.approx(again / (once + again))
    assert run.observe()["recomputed"] < again / once, "not of the tokens needed"


def test_the_storm_does_more_than_a_quarter_of_its_work_again() -> None:
    """The words before the table, and the base of the published share beside it."""
    share = watched(case("preemption-storm"), "answers outgrow the cache")["recomputed"]
    assert "more than a quarter of all computed tokens" in TEXT
    assert 0.25 < share < 1 / 3
    assert float(reports.AGAIN_LOW) < share < float(reports.AGAIN_FORCED)


@pytest.mark.parametrize("prompt", (1000, 700))
def test_the_printed_factors_give_the_printed_sum(prompt: int) -> None:
    left, total = slots_in_numbers(prompt, 1500).replace(",", "").split(" ≈ ")
    slots, each, two, root, spread = map(float, re.findall(r"[\d.]+", left))
    assert slots * each + two * root * spread == pytest.approx(float(total), abs=60)
    assert slots == slots_on_average(prompt, 1500)


@pytest.mark.parametrize("seed", (0, 3))
def test_slots_stand_empty_only_where_a_request_was_left_in_the_queue(
    seed: int,
) -> None:
    of = case("short-answers")
    static, full = (cause.name for cause in of.causes)
    assert watched(of, None, seed)["idle_slots"] < 0.05
    assert watched(of, full, seed)["idle_slots"] < 0.05
    assert watched(of, static, seed)["idle_slots"] > 0.5
    mended = tried(of, static, "continuous batching", seed).after
    assert mended["idle_slots"] < 0.05
    assert tried(of, static, "a larger static batch", seed).after["idle_slots"] > 0.5


def test_a_slot_is_refused_from_the_iteration_after_an_arrival() -> None:
    """The queue at the start of each iteration, counted from the events."""
    run = ran("short-answers", 0)
    log = run.report().log
    assert log is not None
    moves = {"arrived": 1, "admitted": -1}
    refused_s = empty_s = 0.0
    for step in log.steps:
        queue = sum(
            moves.get(e.kind, 0) for e in log.events if e.time_s <= step.start_s
        )
        if queue:
            seconds = step.end_s - step.start_s
            refused_s += seconds
            empty_s += seconds * (1 - (step.decode_rows + len(step.chunks)) / 16)
    share = empty_s / refused_s
    assert run.observe()["idle_slots"] == pytest.approx(share, rel=0.01)


@pytest.mark.parametrize("seed", (0, 3))
def test_a_replica_halves_the_median_of_a_large_batch_and_not_its_p99(
    seed: int,
) -> None:
    of = case("percentiles")
    two = tried(of, "a large batch", "a second replica", seed)
    eight = tried(of, "a large batch", "8 bits for the cache", seed)
    assert two.after["itl_p50"] < 0.6 * two.before["itl_p50"]
    assert 0.85 < two.after["itl_p99"] / two.before["itl_p99"] < 1
    assert not eight.helped and not eight.price, "a little better, at no price"


@pytest.mark.parametrize("seed", (0, 3))
def test_larger_chunks_gain_nothing_on_long_prompts(seed: int) -> None:
    """Under the default budget an iteration is bound by arithmetic already."""
    larger = tried(case("first-token"), "long prompts", "larger chunks", seed)
    assert 0.95 < larger.factor < 1.02
    log = ran("first-token", 0).report().log
    assert log is not None
    whole = [s for s in log if sum(rows for _, rows, _ in s.chunks) == BUDGET]
    assert whole and all(s.compute_s > 3 * s.memory_s for s in whole)
    assert "larger" not in triage.PROMPTS.remedy


@pytest.mark.long
@pytest.mark.parametrize("seed", (0, 3))
def test_both_servers_that_pause_get_the_same_smaller_chunks(seed: int) -> None:
    of = case("pauses")
    whole, storm = of.causes
    one, other = (each.remedy("smaller chunks") for each in (whole, storm))
    assert one.option == other.option
    gain = tried(of, storm.name, "smaller chunks", seed).factor
    assert 0.8 < gain < 1.25, "hardly"


def test_every_panel_that_is_drawn_has_its_query_under_the_same_name() -> None:
    asked = {name for name, *_ in promql.ROWS}
    for name in boards.COUNTED_AS:
        head, _, tail = name.partition(", P50 / ")
        names = [f"{head}, P50", f"{head}, {tail}"] if tail else [name]
        assert asked.issuperset(names) or name == "gaps > 0.5 s/request", name


def test_a_stalled_server_shows_an_infinite_number_or_none() -> None:
    """Gaps over no finished request, and nothing over nothing."""
    seen = promql.scraped("pauses", "preemption")
    zero = Above(ITL, 80.0)  # no gap is as long
    assert zero.value(seen) == 0
    stalled = Scrape({**seen.counters, FINISHED.metric: 0.0}, seen.histograms)
    assert Ratio(Above(ITL, 0.5), FINISHED).value(stalled) == inf
    assert isnan(Ratio(zero, FINISHED).value(stalled))


def test_an_alarm_that_fits_nothing_is_not_called_healthy() -> None:
    run = case("pauses").healthy(0)
    assert isinstance(run, WatchedRun)
    calm = panel_of(run)
    assert triage.cause_of(calm) == triage.HEALTHY
    assert triage.cause_of(calm | {"alarm": 1.0}) == triage.UNKNOWN
    assert triage.UNKNOWN.remedy != triage.HEALTHY.remedy


SAME = {  # of the map, in the words of the exercise
    triage.OUTGROWN: "preemption",
    triage.LITTLE: "preemption",
    triage.LONG: "long prompts in one piece",
    triage.PROMPTS: "long prompts",
    triage.FEW: "too few slots",
    triage.FULL: "none of these",
    triage.OVERLOAD: "none of these",
    triage.HEALTHY: "healthy",
}


@pytest.mark.long
def test_the_solution_and_the_map_say_the_same_of_every_panel() -> None:
    for _, cause, panel in exercise.panels():
        assert SAME[triage.cause_of(panel)] == cause == exercise.by_signs(panel)


@pytest.mark.long
def test_no_key_that_the_exercise_offers_can_be_left_out() -> None:
    """Hide it, or all that speak of room for more slots: then an answer is wrong."""
    told = re.findall(r'`"(\w+)"`', TEXT[TEXT.index("the keys are") :][:250])
    assert set(told) == set(exercise.SHOWN)
    calm = {"preemptions": 0.0, "ttft_p50": 0.0, "queue_share": 0.0, "long_gaps": 0.0}
    room = {"slots": 0.0, "kv_peak": 0.0, "itl_p50": 0.0}
    for hidden in (*({key: value} for key, value in calm.items()), room):

        def blind(
            panel: Mapping[str, float], hidden: Mapping[str, float] = hidden
        ) -> str:
            return exercise.by_signs({**panel, **hidden})

        assert exercise.check(blind).startswith("not yet"), hidden


def test_slots_that_are_not_taken_are_no_lack_of_slots() -> None:
    """Overload looks like too few slots to whoever does not count them."""
    requests = poisson(rate_per_s=60.0, many=900, seed=0)
    run = WatchedRun(requests, server(Chunked(512, 1024)))
    panel = panel_of(run)
    assert panel["running_most"] < panel["slots"]
    assert exercise.by_signs(panel) == "none of these"
    wider = changed(policy=Chunked(512, 2048))(run).observe()
    assert wider["ttft_p50"] == pytest.approx(np.float64(panel["ttft_p50"]))
