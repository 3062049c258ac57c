"""The pictures show what the engine and the transformer did, and nothing else."""

from __future__ import annotations

from csv import DictReader
from io import StringIO
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching import lanes, tuning
from llmserve_lab.continuous_batching.machine import (
    GRAPH_ROWS,
    LONG,
    TARGET_S,
    hidden,
    served,
)
from llmserve_lab.continuous_batching.occupancy import (
    Stay,
    frames,
    held_blocks,
    stays,
)
from llmserve_lab.continuous_batching.page import (
    blocks,
    figures,
    questions,
    slots,
    stills,
    strips,
    triangle,
)
from llmserve_lab.continuous_batching.workloads import (
    BOOK_ARRIVES_S,
    four,
)
from llmserve_lab.engine import Continuous, IterationLoad, Pool, Report, simulate
from llmserve_lab.page.step.figure import Frame
from llmserve_lab.running_example import cost, setting
from llmserve_lab.transformer import causal_mask


@pytest.mark.parametrize("name", slots.POLICIES)
def test_a_slot_is_held_by_one_request_at_a_time(name: str) -> None:
    run = slots.served(slots.POLICIES[name])
    found = stays(run)
    for slot in range(slots.SLOTS):
        own = sorted((s for s in found if s.slot == slot), key=lambda s: s.first)
        assert all(a.left <= b.first for a, b in pairwise(own))
    for stay in found:
        (answer,) = (r.output_len for r in four() if r.id == stay.id)
        assert stay.done - stay.first == answer  # a token from every iteration
        assert stay.arrived <= stay.first < stay.done <= stay.left


@pytest.mark.parametrize("name", slots.POLICIES)
def test_the_counters_of_the_slots_are_those_of_the_logs(name: str) -> None:
    log, run = slots.slots_by_iteration().logs[name], slots.served(slots.POLICIES[name])
    idle, ttft, complete = log.frames[-1].counters
    assert complete == 4
    assert run.log is not None
    padded = sum(step.padding_rows for step in run.log if not step.prefill_rows)
    assert padded == idle and (idle > 0) is name.startswith("static")
    assert ttft not in ("waiting", "not here yet")
    held_s = sum(row["x2"] - row["x"] for row in log.tables["runs"])
    own_s = sum(_held_s(run, stay) for stay in stays(run))
    assert held_s == pytest.approx(own_s, abs=0.01)
    assert log.frames[0].counters == (0, "not here yet", 0)
    starts = [frame.at for frame in log.frames if frame.at is not None]
    assert starts == sorted(starts) and len(starts) == len(log.frames)


def _held_s(run: Report, stay: Stay) -> float:
    """How long a request holds its slot, until the batch ends if it is static."""
    found = frames(run)
    return found[stay.left - 1].end_s - found[stay.first].start_s


@pytest.mark.parametrize("name", slots.POLICIES)
def test_who_waits_is_drawn_from_arrival_to_admission(name: str) -> None:
    run = slots.served(slots.POLICIES[name])
    drawn = slots.slots_by_iteration().logs[name].tables["waits"]
    waits = {row["ink"]: row["x2"] - row["x"] for row in drawn}
    for request in four()[2:]:
        (queue_s,) = run.queue_s[run.id == request.id]
        assert waits["ABCD"[request.id]] == pytest.approx(queue_s, abs=0.002)


@pytest.mark.parametrize("chunk", triangle.CHUNKS.values())
def test_the_triangle_is_filled_exactly(chunk: int) -> None:
    seen = np.zeros((triangle.TOKENS, triangle.TOKENS), dtype=bool)
    row = 0
    for mask in triangle.masks(chunk):
        seen[row : row + len(mask), : mask.shape[1]] = mask
        row += len(mask)
    assert np.array_equal(seen, causal_mask(triangle.TOKENS, triangle.TOKENS))
    name = next(k for k, v in triangle.CHUNKS.items() if v == chunk)
    last = triangle.chunks_fill_the_triangle().logs[name].frames[-1]
    assert last.counters[1] == seen.sum()


def _count(shown: float | str) -> int:
    """A counter that is printed with its commas."""
    return int(str(shown).replace(",", ""))


def test_no_strip_is_longer_than_its_budget() -> None:
    figure = strips.mixed_iterations()
    budget, whole, apart = figure.logs.values()
    assert max(_count(frame.counters[1]) for frame in budget.frames) == strips.BUDGET
    most = max(_count(frame.counters[1]) for frame in whole.frames)
    assert most == 3 + strips.D_PROMPT
    for log in (budget, whole, apart):
        for lane, other in zip(strips.BESIDE, (budget, whole, apart), strict=True):
            beside = [r["x2"] for r in log.tables["beside"] if r["y"] == lane]
            assert beside == [r["x2"] for r in other.tables["rows"] if r["y"] == "A"]
        for number, frame in enumerate(log.frames):
            drawn = [row for row in log.tables["rows"] if row["since"] == number]
            assert sum(_count(row["text"]) for row in drawn) == _count(
                frame.counters[1]
            )
            for row in drawn:  # as long as the iteration lasts
                took_ms = row["x2"] - row["x"]
                assert took_ms == pytest.approx(frame.counters[0], abs=0.11)
        read = sum(_count(row["text"]) for row in log.tables["rows"] if row["y"] == "D")
        assert read == strips.D_PROMPT + strips.AFTER  # and two tokens written


def test_chunks_win_where_it_shows() -> None:
    """Each gap is a third or less of what the whole prompt takes; D waits longer."""
    budget, whole, apart = strips.POLICIES.values()
    assert 3 * strips.longest_s(budget) < strips.longest_s(whole)
    assert strips.longest_s(apart) > strips.longest_s(whole)  # an iteration more
    assert (
        strips.read_s(budget) > 1.2 * strips.read_s(whole) > 1.2 * strips.read_s(apart)
    )


def test_the_longest_gap_of_the_strips_is_that_of_the_run() -> None:
    for name, log in strips.mixed_iterations().logs.items():
        longest_ms = 1e3 * strips.longest_s(strips.POLICIES[name])
        assert log.frames[-1].counters[2] == pytest.approx(longest_ms, abs=0.15)
        read_ms = 1e3 * strips.read_s(strips.POLICIES[name])
        assert log.frames[-1].counters[3] == pytest.approx(read_ms, abs=0.3)


def test_the_blocks_drawn_are_those_that_the_engine_uses() -> None:
    run = blocks.watched()
    drawn = blocks._numbered(run)
    for frame, now in zip(run, drawn, strict=True):
        assert sum(held_blocks(frame).values()) == frame.used_blocks
        assert sum(letter is not None for letter in now) == frame.used_blocks
    for before, after in pairwise(drawn):  # what is kept stays where it is
        for one, other in zip(before, after, strict=True):
            assert one == other or one is None or one not in after or other is None


def test_the_story_of_the_blocks_happens() -> None:
    run = blocks.watched()
    preempted = [f.ids("preempted") for f in run if f.ids("preempted")]
    assert preempted == [(blocks.B,)]
    admitted = [number for frame in run for number in frame.ids("admitted")]
    assert admitted == [blocks.A, blocks.B, blocks.B, blocks.C]
    back = next(f for f in run[1:] if blocks.B in f.ids("admitted"))
    (again,) = (part.rows for part in back.running if part.id == blocks.B)
    assert again > 40  # its prompt, and what it had written
    (text,) = (f.sentence for f in _story_of_blocks() if "head-of-line" in f.sentence)
    assert "3 blocks are free, and C needs only 3" in text and "needs 5" in text


def _story_of_blocks() -> tuple[Frame, ...]:
    (log,) = blocks.blocks_run_out().logs.values()
    return log.frames


def test_the_lanes_draw_every_iteration_of_every_run() -> None:
    text = figures.lanes().spec["data"]["values"]
    rows = [{k: float(v) for k, v in row.items()} for row in DictReader(StringIO(text))]
    runs = [*(lanes.under(rows) for rows in lanes.BUDGETS), lanes.whole()]
    for place, run in enumerate(runs):
        drawn = [row for row in rows if row["c"] == place]
        found = lanes.beats(run)
        assert len(drawn) == len(found)
        assert sum(row["p"] for row in drawn) == sum(beat.rows > 0 for beat in found)
        assert [row["b"] for row in drawn] == [round(b.end_s, 3) for b in found]
        # each begins where the one before it has ended, as the figure takes it
        assert all(a.end_s == b.start_s for a, b in pairwise(found))
        assert found[0].start_s == -BOOK_ARRIVES_S
        assert sum(beat.rows for beat in lanes.pieces(run)) == LONG


def test_the_price_is_the_sum_over_the_chunks() -> None:
    known: dict[str, Any] = {**setting(), **served(), "prompt_len": LONG, "chunk": 512}
    loads = [IterationLoad.of(chunk=512, context=at) for at in range(0, LONG, 512)]
    computed = sum(cost().compute_s(load) for load in loads)
    read = sum(cost().memory_s(load) for load in loads)
    assert f.PROMPT_COMPUTE_S.at(known) == pytest.approx(computed, rel=1e-9)
    both = f.PROMPT_WEIGHTS_S.at(known) + f.PROMPT_KV_S.at(known)
    assert both == pytest.approx(read, rel=1e-9)
    # the page counts a request's share of the launches for six, the sum here for one
    each_s = 5 * cost().request_s * len(loads)
    seconds = sum(cost().seconds(load) for load in loads) + each_s
    assert f.SERVED_PROMPT_S.at(known) == pytest.approx(seconds, rel=1e-9)


def test_the_chunk_from_a_target_is_the_engines() -> None:
    known = figures.chunk_from_target().values()
    calm = IterationLoad(5, 5 * 1001, 5 * 1000, 5)
    rows = cost().chunk_within(TARGET_S, load=calm, context=LONG)
    assert int(known["chunk_fits"]) == rows


def test_the_budgets_are_drawn_as_they_were_served() -> None:
    """Along the axis gaps grow; the prompt's wait falls, but for one step."""
    counted = [tuning.trade(rows) for rows in tuning.BUDGETS]
    added = [tuning.trade(rows, cost()) for rows in tuning.BUDGETS]
    bare = [tuning.trade(rows, hidden()) for rows in tuning.BUDGETS]
    assert all(a.gap_s < b.gap_s for a, b in pairwise(counted))
    for found in (added, bare):
        assert all(a.ttft_s > b.ttft_s for a, b in pairwise(found))
    for best, each, worst in zip(bare, counted, added, strict=True):
        assert best.gap_s < each.gap_s <= worst.gap_s
        assert best.ttft_s < each.ttft_s <= worst.ttft_s
        assert (each == worst) is (each.budget > GRAPH_ROWS)
    tried = tuning.budget()
    shown = stills.budgets(
        counted, added, bare, target_s=TARGET_S, default=8192, tried=tried
    )
    assert tuning.trade(896).gap_s < TARGET_S < tuning.trade(1024).gap_s
    assert f"recorded up to {tried} rows" in shown.sentence


def test_shrinking_and_fixed_chunks_keep_the_same_target() -> None:
    shrinks, fixed = lanes.within(TARGET_S), lanes.fixed(TARGET_S)
    for run in (shrinks, fixed):
        assert 0.99 * TARGET_S < lanes.longest_gap_s(run) <= TARGET_S * (1 + 1e-9)
    few, many = (len(lanes.pieces(run)) for run in (shrinks, fixed))
    assert 1.5 * few < many
    assert lanes.ttft_s(shrinks) < lanes.ttft_s(fixed)
    assert lanes.pieces(fixed)[0].rows == questions.fits(LONG)


def test_a_run_without_a_log_is_refused() -> None:
    silent = simulate(four(), Pool(cost(), Continuous(2)))
    for read in (lanes.beats, frames, stays):
        with pytest.raises(ValueError, match="report must come from a run with log="):
            read(silent)


def test_the_title_of_the_budgets_says_what_the_line_does() -> None:
    """The gap grows with the budget everywhere, the first token comes sooner but once.

    The exception is the step from the last budget that is recorded to the next.
    """
    counted = [tuning.trade(rows) for rows in tuning.BUDGETS]
    later = [a.budget for a, b in pairwise(counted) if a.ttft_s < b.ttft_s]
    assert later == [GRAPH_ROWS]
    both = [a.budget for a, b in pairwise(counted) if a.gap_s > b.gap_s]
    assert both == []
