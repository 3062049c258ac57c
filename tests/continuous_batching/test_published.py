"""Published comparisons of schedulers say what the page says of them."""

from __future__ import annotations

from llmserve_lab.catalog.evidence.schedulers import MIXING
from llmserve_lab.continuous_batching import published


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
    assert len(published.mixing_table().rows) == 3
