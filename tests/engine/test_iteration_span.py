"""Sums of a run in closed form against its iterations, one after the other."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.engine import IterationCost, IterationLoad, Request
from llmserve_lab.engine.metrics.tbt_histogram import TbtHistogram
from llmserve_lab.engine.scheduler.decode_batch import DecodeBatch
from llmserve_lab.engine.scheduler.sequence import Sequence
from llmserve_lab.engine.timing.iteration_span import IterationSpan

costs = st.builds(
    IterationCost,
    row_s=st.floats(1e-5, 1e-3),
    pair_s=st.floats(0, 1e-5),
    weights_s=st.floats(0, 1e-2),
    kv_token_s=st.floats(0, 1e-5),
    overhead_s=st.sampled_from([0.0, 1e-3]),
    overlap=st.sampled_from([0.0, 0.25, 1.0]),
)
Asked = tuple[IterationCost, int, int, int, bool]
runs = st.tuples(
    costs, st.integers(1, 50), st.integers(0, 5_000), st.integers(1, 60), st.booleans()
)


def run_and_steps(given: Asked) -> tuple[IterationSpan, list[IterationLoad]]:
    """A run from 10 s on, and the load of each iteration that was asked for."""
    cost, rows, cached, count, chunk = given
    more_pairs = rows * rows if chunk else rows
    load = IterationLoad(rows, rows * cached + rows, cached)
    run = IterationSpan(
        cost, load, start_s=10.0, count=count, more_pairs=more_pairs, more_kv=rows
    )
    loads = [
        IterationLoad(rows, load.pairs + step * more_pairs, cached + step * rows)
        for step in range(count)
    ]
    return run, loads


@given(given=runs)
def test_each_boundary_is_the_sum_of_what_came_before(
    given: Asked,
) -> None:
    cost = given[0]
    run, loads = run_and_steps(given)
    now_s, compute_s, memory_s, held_s = 10.0, 0.0, 0.0, 0.0
    for done, load in enumerate(loads[: run.count]):
        assert run.boundary_s(done) == pytest.approx(now_s, abs=1e-9)
        held_s += load.kv_tokens * cost.seconds(load)
        now_s += cost.seconds(load)
        compute_s += cost.compute_s(load)
        memory_s += cost.memory_s(load)
    assert run.end_s == pytest.approx(now_s, abs=1e-9)
    assert run.compute_total_s == pytest.approx(compute_s)
    assert run.memory_total_s == pytest.approx(memory_s)
    held = run.weighted_total(loads[0].kv_tokens, given[1])
    assert held == pytest.approx(held_s, rel=1e-9, abs=1e-12)


@given(given=runs)
def test_a_run_ends_early_only_where_computing_and_reading_change_places(
    given: Asked,
) -> None:
    cost = given[0]
    run, loads = run_and_steps(given)
    if run.count < len(loads):
        ahead = [
            cost.compute_s(load) - cost.memory_s(load)
            for load in (loads[0], loads[run.count])
        ]
        assert ahead[0] * ahead[1] <= 1e-15


@given(given=runs, share=st.floats(-0.1, 1.0))
def test_it_is_cut_at_the_first_boundary_that_is_not_before(
    given: Asked, share: float
) -> None:
    run, _ = run_and_steps(given)
    ends = [run.boundary_s(done) for done in range(1, run.count + 1)]
    now_s = 10.0 + share * (run.end_s - 10.0)
    run.cut(now_s)
    assert run.end_s == max(now_s, next(end for end in ends if end >= now_s - 1e-11))
    assert run.boundary_s(run.count) == pytest.approx(run.end_s, abs=1e-11)


@given(given=runs, by=st.sampled_from([-1, 1]))
def test_a_boundary_is_where_it_would_be_without_rounding(
    given: Asked, by: int
) -> None:
    run, _ = run_and_steps(given)
    last = max(1, run.count - 1)
    now_s = run.boundary_s(last) * (1 + by * 1e-15)
    run.cut(now_s)
    assert run.count == last and run.end_s >= now_s


def test_blocks_are_needed_when_the_walk_over_all_requests_says_so() -> None:
    draw = Random(1)
    decoders, walked = DecodeBatch(16, TbtHistogram()), list[int]()
    for number in range(40):
        sequence = Sequence(
            Request(arrival_s=0, prompt_len=1, output_len=10**6, id=number)
        )
        sequence.known, sequence.number = draw.randint(2, 200), number
        sequence.cached = sequence.known - 1
        walked.append(sequence.known)
        decoders.join(sequence, 0.0)
    for ticks in range(60):
        need = sum(-(-(known + ticks) // 16) - -(-known // 16) for known in walked)
        assert decoders.blocks_for(ticks) == need
        if ticks:
            most = decoders.ticks_within(need, most=100)
            assert decoders.blocks_for(most - 1) <= need < decoders.blocks_for(most)
