"""The paper's example by hand: two batches in flight, and rivals at the same speed."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.afd import coupled
from llmserve_lab.afd.theory.same_speed import copies_away, same_speed, wide_group
from llmserve_lab.moe.grouped_router import chosen


def turn_of_halves(attn: float, ffn: float, way: float, layers: int = 40) -> float:
    """Two halves on a machine that does whatever comes next: mean time of a layer."""
    free, back = 0.0, [0.0, 0.0]
    for _ in range(layers):
        arrived = []
        for half in (0, 1):
            free = max(free, back[half]) + attn
            arrived.append(free + way)
        for half in (0, 1):
            free = max(free, arrived[half]) + ffn
            back[half] = free + way
    return max(back) / layers


@pytest.mark.parametrize("n", [2, 9, 64])
@pytest.mark.parametrize("turn", [250.0, 607.0, 2000.0])
def test_a_wide_group_fills_its_turn_in_two_halves(n: int, turn: float) -> None:
    """The requests that it is said to serve, played half by half with their copies."""
    found = wide_group(turn, n)
    half = found.requests / 2
    attn, ffn = 50 + 0.99 * half, 100 / n + 0.083 * half
    way = 10 + 0.011 * found.copies * half
    assert turn_of_halves(attn, ffn, way, 4000) == pytest.approx(turn, rel=1e-3)


@pytest.mark.parametrize("n", [1, 2, 9, 10])
def test_a_row_is_sent_to_each_other_machine_that_holds_one_of_its_experts(
    n: int,
) -> None:
    """Draw eight of 256 experts, deal them out, count machines but its own."""
    rng = np.random.default_rng(0)
    rows = 4000
    drawn = np.argsort(rng.random((rows, 256)), axis=1)[:, :8] % n
    met = [len(set(row) - {i % n}) for i, row in enumerate(drawn.tolist())]
    assert copies_away(n) == pytest.approx(np.mean(met), abs=0.06)


def test_a_wide_group_all_but_draws_with_the_split_at_the_same_speed() -> None:
    """It beats a machine alone and loses to the split by less than either gains."""
    both = same_speed(2)
    rival = wide_group(both.turn, 9)
    assert both.unsplit < rival.rate < both.split < 1.01 * rival.rate
    assert rival.way < rival.ffn  # hidden
    one_copy = (both.turn - 50 - 100 / 9 - 20) / 1.095 / both.turn
    assert one_copy > both.split  # counted so, the group would seem to be ahead
    alone = wide_group(both.turn, 1)
    assert alone.copies == alone.way == 0 and alone.rate < both.unsplit
    cheap = same_speed(2, price=0.5, ffn_slower=4)
    dear = wide_group(cheap.turn, 10, price=0.5, ffn_slower=4)
    assert cheap.unsplit < dear.rate < cheap.split < 1.12 * dear.rate
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


@pytest.mark.parametrize("nodes", [1, 6, 8, 12, 256])
def test_a_row_asks_as_many_nodes_as_hold_its_experts(nodes: int) -> None:
    """Shares differ by one expert at most; other rows ask as many on average."""
    holders = [expert * nodes // 256 for expert in range(256)]
    sizes = [holders.count(node) for node in range(nodes)]
    assert max(sizes) - min(sizes) <= 1
    rows = chosen(400, seed=1)
    found = sum(len({holders[expert] for expert in row}) for row in rows) / len(rows)
    assert coupled.nodes_asked(nodes) == pytest.approx(found, rel=0.03)
    assert coupled.nodes_asked(nodes) <= min(nodes, 8)
