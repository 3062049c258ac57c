"""The dashboard's numbers, found a second time in the event log."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from llmserve_lab.engine import Request, simulate
from llmserve_lab.symptoms.case import watched
from llmserve_lab.symptoms.cases import case
from llmserve_lab.symptoms.cases.experts import RoutedWindow
from llmserve_lab.symptoms.dashboard import BINS, METRICS, of_report
from llmserve_lab.symptoms.served import WatchedRun, server


def served(key: str, cause: int) -> WatchedRun:
    setup = case(key).causes[cause].setup(0)
    assert isinstance(setup, WatchedRun)
    return setup


def test_preemptions_are_those_of_the_events() -> None:
    run = served("preemption-storm", 1)
    log = run.report().log
    assert log is not None
    events = sum(each.kind == "preempted" for each in log.events)
    shown = run.observe()["preemptions"]
    assert events == pytest.approx(shown * run.report().num_requests) and events > 0


def test_waiting_is_the_queue_swept_event_by_event() -> None:
    """At the end of a record the queue is what arrived and was not admitted."""
    run = served("first-token", 1)
    log = run.report().log
    assert log is not None
    moves = {"arrived": 1, "admitted": -1, "preempted": 1}
    area = busy = 0.0
    for step in log.steps:
        queue = sum(moves.get(e.kind, 0) for e in log.events if e.time_s < step.end_s)
        area += queue * (step.end_s - step.start_s)
        busy += step.end_s - step.start_s
    # a request that comes during a step is in the gauge of its end
    assert run.observe()["waiting"] == pytest.approx(area / busy, rel=0.02)


@pytest.mark.parametrize("replicas", [2, 3])
def test_replicas_that_do_the_same_show_the_gauges_of_one(replicas: int) -> None:
    """Requests add up over replicas; a share of the cache stays a share."""
    rng = np.random.default_rng(2)
    alone = [
        Request(id=i, arrival_s=0.2 * i, prompt_len=int(p), output_len=40)
        for i, p in enumerate(rng.integers(500, 3000, 12))
    ]
    copies = [
        replace(each, id=replicas * each.id + copy)
        for each in alone
        for copy in range(replicas)
    ]
    one, many = (
        of_report(simulate(requests, server(replicas=count), log=True, leap=False))
        for requests, count in ((alone, 1), (copies, replicas))
    )
    assert one.series is not None and many.series is not None
    assert max(one.series.kv_usage) > 0
    assert many.series.kv_usage == pytest.approx(one.series.kv_usage)
    for gauge in ("running", "waiting"):
        added = replicas * np.array(getattr(one.series, gauge))
        assert getattr(many.series, gauge) == pytest.approx(added)
    assert many["kv_peak"] == pytest.approx(one["kv_peak"])


def test_accepted_drafts_are_those_that_were_drawn() -> None:
    run = served("speculation", 0)
    speculation = run.pool.speculation
    assert speculation is not None
    kept = passes = 0
    for request in run.requests:
        emitted = 1
        while emitted < request.output_len:
            left = request.output_len - emitted - 1
            more = min(speculation.kept(request.id, emitted), left)
            kept, passes, emitted = kept + more, passes + 1, emitted + 1 + more
    assert run.observe()["acceptance"] == pytest.approx(
        kept / passes / speculation.n_draft
    )


def test_hits_are_the_leading_names_that_came_before() -> None:
    """Nothing is evicted with so few system prompts: then a set of names is enough."""
    run = case("prefix-cache").healthy(0)
    assert isinstance(run, WatchedRun)
    report, known, found = run.report(), set[int](), 0
    assert report.log is not None
    first = {e.id: e.time_s for e in report.log.events if e.kind == "first_token"}
    start = {e.id: e.time_s for e in report.log.events if e.kind == "admitted"}
    by_id = {each.id: each for each in run.requests}
    moves = sorted(
        [(t, 0, i) for i, t in first.items()] + [(t, 1, i) for i, t in start.items()]
    )
    for _, starts, number in moves:
        request = by_id[number]
        full = request.prefix[: (request.prompt_len - 1) // 16]
        if starts:
            found += 16 * sum(name in known for name in full)
        else:
            known |= set(full)
    prompts = sum(each.prompt_len for each in run.requests)
    assert run.observe()["hit_share"] == pytest.approx(found / prompts)


def test_series_are_the_gauges_of_the_records() -> None:
    run = served("preemption-storm", 0)
    report, shown = run.report(), watched(case("preemption-storm"), run_name()).series
    assert shown is not None and report.log is not None
    assert len(shown.times_s) == BINS
    assert all(a < b for a, b in pairwise(shown.times_s))
    for time_s, running, waiting, usage in zip(
        shown.times_s, shown.running, shown.waiting, shown.kv_usage, strict=True
    ):
        (step,) = (s for s in report.log if s.start_s <= time_s < s.end_s)
        assert running == step.decode_rows + len(step.chunks)
        assert waiting == step.waiting
        assert usage == pytest.approx(step.used_blocks / step.num_blocks)


def run_name() -> str:
    return case("preemption-storm").causes[0].name


def test_balance_counts_every_choice_once() -> None:
    for extra in (0, 32):
        router = RoutedWindow(0.25, 64, 3, extra)
        where = router.placement()
        for counts in router.chosen(1):
            assert counts.sum() == 64 * 8
            assert where.loads(counts).sum() == pytest.approx(64 * 8)
        assert 0 < router.observe()["balance_step"] <= 1


def test_balancedness_is_of_the_iterations_that_its_words_say() -> None:
    """The mean rows of a GPU over those of the busiest: of each, or of all in one."""
    window = RoutedWindow(None, 4, 3)  # few rows, which differ much from step to step
    where = window.placement()
    loads = [list(where.loads(each)) for each in window.chosen(1)]
    each_gpu = [sum(gpu) for gpu in zip(*loads, strict=True)]
    single = [sum(load) / len(load) / max(load) for load in loads]
    of_one, of_all = (
        f"balancedness of {which}"
        for which in ("an iteration", "all iterations together")
    )
    right = {
        of_one: sum(single) / len(single),
        of_all: sum(each_gpu) / len(each_gpu) / max(each_gpu),
    }
    shown = {METRICS[key].words: x for key, x in window.observe().values.items()}
    assert shown == pytest.approx(right)
    assert shown[of_all] > 1.2 * shown[of_one]


def test_idle_slots_by_hand() -> None:
    """A static batch of two, one answer of 1 token and one of 100; a third waits."""
    from llmserve_lab.engine import Static

    lengths = (1, 100, 1)
    requests = tuple(
        Request(arrival_s=0.0, prompt_len=10, output_len=n, id=i)
        for i, n in enumerate(lengths)
    )
    shown = WatchedRun(requests, server(Static(2))).observe()
    assert 0.45 < shown["idle_slots"] < 0.5
    np.testing.assert_allclose(shown["short_ratio"], 1.0, atol=0.1)


def test_a_run_without_a_log_has_no_dashboard() -> None:
    requests = [Request(arrival_s=0.0, prompt_len=10, output_len=3, id=0)]
    with pytest.raises(ValueError, match="report must hold a log"):
        of_report(simulate(requests, server()))
