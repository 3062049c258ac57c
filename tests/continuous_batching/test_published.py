"""The engine beside two published comparisons: how far it is off is what is printed."""

from __future__ import annotations

import pytest

from llmserve_lab.catalog.evidence.schedulers import (
    A100_40,
    BATCHING,
    MIXING,
    OPT_13B,
)
from llmserve_lab.continuous_batching import published
from llmserve_lab.engine import IterationCost


def test_the_ratios_are_near_and_their_errors_are_printed() -> None:
    errors = [engine / measured - 1 for _, measured, engine in published.ratios()]
    assert max(map(abs, errors)) == abs(published.worst_error()) < 0.26
    assert [row[-1] for row in published.batching_table().rows] == [
        f"{error:+.0%}".replace("-", "−") for error in errors
    ]
    static, reserved, paged = (float(each.times) for each in BATCHING)
    assert [m for _, m, _ in published.ratios()] == [reserved / static, paged / static]


def test_the_requests_are_those_of_the_benchmark() -> None:
    asked = published.asked()
    answers = [request.output_len for request in asked]
    assert len(asked) == 1000 and max(answers) <= 1536
    assert sum(answers) / 1000 == pytest.approx(128, rel=0.1)
    cost = IterationCost.of(OPT_13B, A100_40)
    slots = published.slots_reserved(cost)
    usable = 0.9 * float(A100_40.usable_bytes)
    tokens = (usable - 2 * OPT_13B.params_total) / OPT_13B.kv_bytes_per_token()
    assert slots == int(tokens // 2048) > 1
    assert OPT_13B.params_total == pytest.approx(12.85e9, rel=0.01)


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
