"""Published comparisons of schedulers say what the page says of them."""

from __future__ import annotations

from llmserve_lab.catalog.evidence.schedulers import MIXING
from llmserve_lab.continuous_batching import lanes, published, tuning
from llmserve_lab.continuous_batching.occupancy import logged
from llmserve_lab.continuous_batching.schedules import ChunksApart
from llmserve_lab.running_example import cost


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


def test_chunks_apart_never_ride_with_decodes() -> None:
    asked = published.LOADS["chat"].requests()[:20]
    run = logged(asked, ChunksApart(256, 8), cost())
    assert run.log is not None
    both = [step for step in run.log if step.prefill_rows and step.decode_rows]
    assert not both
    assert sorted(run.output_len) == sorted(each.output_len for each in asked)


def test_the_freeze_of_the_datasheet_is_shorter() -> None:
    assert 2 < published.ideal_freeze_s() < lanes.longest_gap_s(lanes.whole())
