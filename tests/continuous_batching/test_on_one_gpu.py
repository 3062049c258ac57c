"""Chunks timed on one H100: what the page says of them, from the runs themselves."""

import pytest

from llmserve_lab.catalog.evidence.one_h100 import passes
from llmserve_lab.continuous_batching import on_one_gpu as timed
from llmserve_lab.continuous_batching import tuning
from llmserve_lab.continuous_batching.machine import LONG, TARGET_S, replayed
from llmserve_lab.running_example import share


def test_every_pass_with_a_chunk_is_compared_once() -> None:
    runs = {
        (run.decodes, run.chunk, run.prefix)
        for run in passes()
        if run.chunk and run.precision == "bf16"
    }
    found = {(e.decodes, e.chunk, e.prefix) for e in timed.timed_chunks()}
    assert found == runs
    assert len(timed.timed_chunks()) == len(runs)


def test_the_engines_time_is_the_sum_of_its_parts() -> None:
    """Counted by hand for a chunk that hides half of the reading of the weights."""
    each, cost = timed.at_the_end(), replayed()
    rows = each.chunk + each.decodes
    pairs = each.chunk * each.prefix + each.chunk * (each.chunk + 1) / 2
    pairs += each.decodes * each.context
    cached = each.prefix + each.decodes * each.context
    computing, reading = rows * cost.row_s, cost.weights_s
    assert computing > reading
    parts = computing + cost.overlap * reading + pairs * cost.pair_s
    parts += cached * cost.kv_token_s + cost.overhead_s
    parts += (each.decodes + 1) * cost.request_s
    assert each.engine_s == pytest.approx(parts)


def test_after_a_long_prefix_only_a_small_chunk_leaves_the_margin() -> None:
    """256 rows are 64 tiles of queries for 132 multiprocessors: half of them idle."""
    off = {(e.chunk, e.prefix): e.error for e in timed.shown()}
    assert all(each < 0 for each in off.values())
    outside = [key for key, each in off.items() if each < -tuning.share_below()]
    assert outside == [(256, 97_792)]
    long = {e.chunk: e.error for e in timed.timed_chunks() if e.prefix > LONG / 2}
    grown = [long[chunk] for chunk in sorted(long) if chunk >= 512]
    assert grown == sorted(grown, reverse=True)
    assert grown[-1] > -tuning.share_below()


def test_the_target_is_kept_by_the_measured_iteration() -> None:
    each = timed.at_the_end()
    assert each.measured_s < TARGET_S
    gap_s = tuning.trade(512, replayed()).gap_s / (1 + each.error)
    assert gap_s < TARGET_S
    assert timed.in_one_piece().measured_s > timed.in_one_piece().engine_s


def test_attention_is_slower_than_the_engine_takes_it() -> None:
    assert 0.5 < timed.attention_share() < 0.7205


@pytest.mark.parametrize("rows", [256, 384, 512])
def test_the_gap_that_rows_correct_is_the_target_on_the_line_of_the_timed(
    rows: int,
) -> None:
    small = next(e for e in timed.shown() if e.chunk == 256).measured_s
    large = timed.at_the_end().measured_s
    on_line = small + (large - small) * (rows - 256) / 256
    assert timed.correctable_s(rows) * on_line / large == pytest.approx(TARGET_S)


@pytest.mark.parametrize("rows", [255, 513])
def test_rows_beside_those_that_were_timed_are_refused(rows: int) -> None:
    with pytest.raises(ValueError, match=f"rows must be from 256 to 512, got {rows}"):
        timed.correctable_s(rows)


def part_of_attention(each: timed.TimedChunk) -> float:
    """Of what the engine lacks, the part that attention at its timed speed takes."""
    pairs = each.chunk * each.prefix + each.chunk * (each.chunk + 1) / 2
    reached = float(share().compute) / timed.attention_share()
    more_s = pairs * replayed().pair_s * (reached - 1)
    return more_s / (each.measured_s - each.engine_s)


def test_attention_is_about_half_of_what_the_engine_lacks() -> None:
    largest = max(timed.shown(), key=lambda each: each.chunk)
    for each in (largest, timed.in_one_piece()):
        assert part_of_attention(each) == pytest.approx(0.5, abs=0.08)


def test_at_the_budget_attention_is_all_that_the_engine_lacks() -> None:
    assert part_of_attention(timed.at_the_end()) == pytest.approx(1.0, abs=0.1)
