"""The paper's example by hand: two batches in flight, and rivals at the same speed."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.afd.theory.same_speed import same_speed, wide_group


def test_a_wide_group_of_the_paper_s_machines_is_ahead_of_the_split() -> None:
    """Each way to fill the turn, written out; one machine alone shares nothing."""
    turn = same_speed(2).turn
    waits, halves = (turn - 50 - 100 / 9 - 20) / 1.095, (turn - 100 - 200 / 9) / 1.073
    assert wide_group(turn, 9) == pytest.approx(max(waits, halves) / turn)
    assert wide_group(turn, 9) > 1.05 * same_speed(2).split
    sizes = [wide_group(turn, n) for n in (1, 2, 9, 100, 10**6)]
    assert sizes == sorted(sizes)  # ever less of the reading
    assert sizes[0] < same_speed(2).unsplit  # which waits for no wire
    cheap = same_speed(2, price=0.5, ffn_slower=4)
    rival = wide_group(cheap.turn, 10, price=0.5, ffn_slower=4)
    assert cheap.unsplit < rival < cheap.split < 1.06 * rival
    with pytest.raises(ValueError, match="turn must leave time for a request, got 60"):
        wide_group(60.0, 9)


@pytest.mark.parametrize("prompt", [100, 300, 500])
@pytest.mark.parametrize("slower", [1, 4, 16])
def test_with_two_batches_the_larger_of_two_ratios_is_best(
    prompt: int, slower: int
) -> None:
    """The page's rule beside the largest of the rates themselves, ratio by ratio."""
    attn = 0.00165 * 256 * (prompt + 500) + 50
    wire, row = slower * (0.022 * 256 + 20), 0.083 * 256
    ratios = np.arange(1.0, 40.0, 0.01)
    ffn = row * ratios + 100
    period = np.maximum(np.maximum(attn, ffn), (attn + wire + ffn) / 2)
    best = ratios[(ratios / (ratios + 1) / period).argmax()]
    by_loop = (attn - wire - 100) / row
    while_it_pays = ((attn + wire + 100) / row) ** 0.5
    assert best == pytest.approx(max(by_loop, while_it_pays), abs=0.02)


@pytest.mark.parametrize(
    ("n_batches", "equal", "gain"),
    [
        (2, True, 0.069),
        (2, False, 0.009),
        (3, True, -0.037),
        (3, False, -0.077),
    ],
)
def test_the_paper_s_example_at_the_same_speed(
    n_batches: int, equal: bool, gain: float
) -> None:
    """A machine without a split, given as long, with as many requests as fit."""
    found = same_speed(n_batches, equal=equal)
    assert found.gain == pytest.approx(gain, abs=0.003)
    alone = 0.00165 * 600 * found.requests + 50 + 0.083 * found.requests + 100
    assert alone == pytest.approx(found.turn)
