"""The pictures show what the engine and the transformer did, and nothing else."""

from __future__ import annotations

from csv import DictReader
from io import StringIO
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from llmserve_lab.continuous_batching import arrival_rates, lanes, tuning
from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.machine import DECODES, LONG, TARGET_S, served
from llmserve_lab.continuous_batching.occupancy import (
    frames,
    held_blocks,
    logged,
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
from llmserve_lab.continuous_batching.workloads import BOOK_ARRIVES_S, four
from llmserve_lab.engine import Continuous, IterationLoad, Pool, Request, simulate
from llmserve_lab.page.step.figure import Frame
from llmserve_lab.running_example import cost, datasheet, setting
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


def test_the_counters_of_the_slots_are_those_of_the_logs() -> None:
    (log,) = slots.slots_by_iteration().logs.values()
    idle, *ttfts, sent = log.frames[-1].counters
    assert sent == "4, 4"
    for (name, policy), ttft in zip(slots.POLICIES.items(), ttfts, strict=True):
        run = slots.served(policy)
        assert run.log is not None
        padded = sum(step.padding_rows for step in run.log if not step.prefill_rows)
        assert padded == (idle if name.startswith("static") else 0)
        assert ttft not in ("waiting", "not here yet")
        drawn = [row for row in log.tables["runs"] if row["y"] in slots.PLACES[name]]
        wasted = sum(row["x2"] - row["x"] for row in drawn if row["ink"] == "idle")
        written = sum(row["x2"] - row["x"] for row in drawn if row["ink"] != "idle")
        assert wasted == padded
        assert written == sum(request.output_len for request in four())
    assert log.frames[0].counters == (0, "not here yet", "not here yet", "0, 0")


def test_who_waits_is_drawn_from_arrival_to_admission() -> None:
    (log,) = slots.slots_by_iteration().logs.values()
    for name, policy in slots.POLICIES.items():
        late = [s for s in stays(slots.served(policy)) if s.first - s.arrived > 10]
        drawn = [row for row in log.tables["waits"] if row["y"] in slots.PLACES[name]]
        found = sorted((row["x"], row["x2"]) for row in drawn)
        assert found == sorted((s.arrived, s.first) for s in late)


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
    budget, whole = figure.logs.values()
    assert max(_count(frame.counters[1]) for frame in budget.frames) == strips.BUDGET
    most = max(_count(frame.counters[1]) for frame in whole.frames)
    assert most == 3 + strips.D_PROMPT
    for log, other in ((budget, whole), (whole, budget)):
        beside = [row["x2"] for row in log.tables["other"]]  # A under the other policy
        own = [row["x2"] for row in other.tables["rows"] if row["y"] == "A"]
        assert beside == own
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
    budget, whole = strips.POLICIES.values()
    assert 3 * strips.longest_s(budget) < strips.longest_s(whole)
    assert strips.read_s(budget) > 1.2 * strips.read_s(whole)


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
    for chunk in lanes.CHUNKS:
        drawn = [row for row in rows if row["c"] == chunk]
        found = lanes.beats(lanes.in_chunks(chunk))
        assert len(drawn) == len(found)
        assert sum(row["p"] for row in drawn) == sum(beat.rows > 0 for beat in found)
        assert [row["b"] for row in drawn] == [round(b.end_s, 3) for b in found]
        # each begins where the one before it has ended, as the figure takes it
        assert all(a.end_s == b.start_s for a, b in pairwise(found))
        assert found[0].start_s == -BOOK_ARRIVES_S
    pieces = lanes.pieces(lanes.in_chunks(8192))
    assert sum(beat.rows for beat in pieces) == LONG


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
    rows = cost().chunk_within(TARGET_S, load=calm, context=65_536)
    assert int(known["chunk_fits"]) == rows
    rows = datasheet().chunk_within(TARGET_S, load=calm, context=65_536)
    assert int(known["ideal_chunk_fits"]) == rows


def test_the_budgets_are_drawn_as_they_were_served() -> None:
    """Along the axis gaps grow and the prompt's wait falls; replaying is no slower."""
    found = [tuning.trade(rows) for rows in tuning.BUDGETS]
    assert all(a.gap_s < b.gap_s for a, b in pairwise(found))
    assert all(a.ttft_s > b.ttft_s for a, b in pairwise(found))
    bare = [tuning.trade(rows, launches=False) for rows in tuning.BUDGETS]
    for best, each in zip(bare, found, strict=True):
        assert best.gap_s < each.gap_s and best.ttft_s < each.ttft_s
    tried = tuning.budget()
    shown = stills.budgets(found, bare, target_s=TARGET_S, default=8192, tried=tried)
    most = questions.fits(LONG) + DECODES
    assert tuning.trade(int(most) - 32).gap_s < TARGET_S < tuning.trade(1024).gap_s
    assert f"longest gap {1e3 * found[-1].gap_s:.0f} ms" in shown.sentence
    assert f"Budget {tried}: {1e3 * tuning.trade(tried).gap_s:.1f} ms" in shown.sentence


def test_the_scheduler_lands_on_the_closed_form() -> None:
    fixed = tuning.budget() - DECODES
    chosen = stills.chosen(lanes.within(TARGET_S), TARGET_S, fixed)
    rows = [beat.rows for beat in lanes.pieces(lanes.within(TARGET_S))]
    assert f"takes {len(rows)} iterations" in chosen.sentence
    assert fixed < min(rows[:-1])  # as the sentence says
    assert lanes.longest_gap_s(lanes.within(TARGET_S)) <= TARGET_S * (1 + 1e-9)


def test_one_request_shows_its_own_times() -> None:
    asked = [Request(id=0, arrival_s=0.0, prompt_len=1000, output_len=24)]
    asked.append(Request(id=1, arrival_s=0.06, prompt_len=3000, output_len=2))
    run = logged(asked, Continuous(), cost())
    shown = stills.one_request(run, 0)
    assert "23 gaps" in shown.sentence
    gap_s = float(run.worst_gap_s[run.id == 0][0])
    assert f"{1e3 * gap_s:.3g} ms" in shown.sentence


@pytest.mark.parametrize("batch", [1, 2, 8, 32])
def test_the_more_share_a_static_batch_the_more_of_it_idles(batch: int) -> None:
    """The longest of n exponential answers lasts 1 + 1/2 + … + 1/n means."""
    longest = sum(1 / place for place in range(1, batch + 1))
    assert arrival_rates.idle_of_geometric(batch) == pytest.approx(
        1 - 1 / longest, abs=0.03
    )


def test_clients_that_wait_hide_the_queue_that_a_crowd_makes() -> None:
    closed, sparse, crowded = arrival_rates.loops().values()
    assert closed.queue_s.max() == 0  # never more requests than slots
    assert crowded.ttft_s.mean() > 4 * sparse.ttft_s.mean() > 8 * closed.ttft_s.mean()
    assert len(arrival_rates.loops_table().rows) == 3


def test_a_run_without_a_log_is_refused() -> None:
    silent = simulate(four(), Pool(cost(), Continuous(2)))
    for read in (lanes.beats, frames, stays):
        with pytest.raises(ValueError, match="report must come from a run with log="):
            read(silent)
