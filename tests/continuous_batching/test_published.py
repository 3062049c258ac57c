"""Published comparisons of schedulers say what the page says of them."""

from __future__ import annotations

import pytest

from llmserve_lab.catalog.evidence.schedulers import MIXING, READ_IN_CHUNKS
from llmserve_lab.continuous_batching import lanes, published, tuning
from llmserve_lab.continuous_batching.occupancy import logged
from llmserve_lab.continuous_batching.on_one_gpu import timed_chunks
from llmserve_lab.continuous_batching.schedules import ChunksApart
from llmserve_lab.running_example import cost
from llmserve_lab.validation import dense_rows


def test_a_refilled_batch_makes_twice_the_tokens_of_a_static_one() -> None:
    assert published.refilled() == 2.0


def test_chunks_and_mixing_are_each_needed() -> None:
    mixing, chunks, both = MIXING
    for of in ("chat", "papers"):
        ttft, tbt = (
            [float(getattr(each, of)[place]) for each in (mixing, chunks, both)]
            for place in (0, 1)
        )
        assert ttft[0] < ttft[2] < ttft[1]  # chunks alone delay the first token
        assert tbt[2] <= tbt[1] < tbt[0]  # mixing alone freezes the others
        assert tbt[2] < tbt[0] / 4


def test_the_engine_has_the_schedulers_in_the_measured_order() -> None:
    for load in published.LOADS:
        mixing, chunks, both = (
            published.simulated(load, name) for name in published.SCHEDULERS
        )
        assert mixing[0] < both[0] < chunks[0]
        assert both[1] < chunks[1] < mixing[1]
        assert 1.05 < chunks[1] / both[1] < 1.4
    assert len(published.mixing_table().rows) == 4
    off = published.mixing_off()
    assert len(off) == 8 and sum(each > 1.25 for each in off) == 4  # as the page says
    assert sum(1.2 < each < 1.3 for each in off) == 0  # no doubtful case
    short = published.gaps_short()
    assert len(short) == 2 and max(short) < max(off)
    assert all(each > 1 / (1 - tuning.share_below()) for each in short)  # no margin


def test_what_papers_gain_without_chunks_and_lose_without_mixing() -> None:
    """The prose reads two rows of the table: each idea left out, not each put in."""
    times = {
        (how, name): found("papers", name)[0] / found("papers", "both")[0]
        for how, found in published.HOW.items()
        for name in ("mixing only", "chunks only")
    }
    assert times["measured", "mixing only"] == pytest.approx(1, abs=0.05)
    assert times["engine", "mixing only"] < 0.5
    assert 1.2 < times["measured", "chunks only"] < times["engine", "chunks only"]


def test_an_iteration_with_a_chunk_is_met_within_the_margin() -> None:
    """But for its prefix: the longer it is, the more the engine falls short."""
    off = [said / seen - 1 for seen, said in published.chunk_times().values()]
    assert off == sorted(off, reverse=True)
    assert all(abs(each) < tuning.share_below() for each in off)
    for chunk in (1024, 2048):
        found = published.chunk_times(chunk).values()
        assert all(-0.2 < said / seen - 1 < 0 for seen, said in found)


def test_the_times_of_chunks_are_those_of_a_prompt_over_their_number() -> None:
    for (prompt, chunk), read in READ_IN_CHUNKS.items():
        seen, said = published.chunk_times(chunk)[prompt]
        assert seen * -(-prompt // chunk) == pytest.approx(float(read))
        each = published.yi_34b()
        pairs_s = prompt**2 / 2 * each.pair_s
        assert said * -(-prompt // chunk) > prompt * each.row_s + pairs_s


def test_the_measured_model_and_gpu_were_not_fitted() -> None:
    rows = dense_rows()
    assert not any("yi" in row.model or "a100" in row.system for row in rows)
    assert published.yi_34b().weight_bytes == pytest.approx(2 * 34.4e9, rel=0.01)


def test_a_prefix_was_twice_as_dear_on_that_server_and_not_on_our_gpu() -> None:
    shortest, *_, longest = published.chunk_times().values()
    measured_s, said_s = (b - a for a, b in zip(shortest, longest, strict=True))
    assert 2 < measured_s / said_s < 2.5
    ours = {e.prefix: e for e in timed_chunks() if (e.decodes, e.chunk) == (31, 512)}
    start, *_, end = (ours[at] for at in sorted(ours))
    grown = (end.measured_s - start.measured_s) / (end.engine_s - start.engine_s)
    assert 1 < grown < 1.2


def test_chunks_apart_never_ride_with_decodes() -> None:
    asked = published.LOADS["chat"].requests()[:20]
    run = logged(asked, ChunksApart(256, 8), cost())
    assert run.log is not None
    both = [step for step in run.log if step.prefill_rows and step.decode_rows]
    assert not both
    assert sorted(run.output_len) == sorted(each.output_len for each in asked)


def test_the_freeze_of_the_datasheet_is_shorter() -> None:
    assert 2 < published.ideal_freeze_s() < lanes.longest_gap_s(lanes.whole())
