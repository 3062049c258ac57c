"""The paper's example by hand: two batches in flight, and rivals at the same speed."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.afd import coupled, deployment
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.page import comparison, inputs
from llmserve_lab.afd.theory import corrected_model
from llmserve_lab.afd.theory.same_speed import (
    copies_away,
    late_group,
    same_speed,
    wide_group,
)
from llmserve_lab.deepseek.page import evidence
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


def most(n_batches: int, turn: float) -> float:
    """Tokens per cycle and machine at a turn: every batch and every ratio is tried."""
    batches, ratios = np.meshgrid(np.arange(1, 400), np.arange(1, 24))
    attn, ffn = 50 + 0.99 * batches, 100 + 0.083 * ratios * batches
    loop = (attn + ffn + 20 + 0.022 * batches) / n_batches
    kept = np.maximum(np.maximum(attn, ffn), loop) <= turn / n_batches * (1 + 1e-9)
    made = batches * ratios / (ratios + 1) / (turn / n_batches)
    return float(np.where(kept, made, 0).max())


def test_at_the_same_speed_a_third_batch_costs_the_example_a_tenth() -> None:
    turn = 2 * 303.44
    two, three = most(2, turn), most(3, turn)
    assert two == pytest.approx(0.750, abs=0.001)
    assert three == pytest.approx(8 * 153 / 9 / (turn / 3), rel=1e-3)
    assert 1 - three / two == pytest.approx(0.10, abs=0.005)


def test_at_the_same_speed_a_third_batch_pays_on_the_gpus() -> None:
    every = deployment.splits("h100-sxm", 96, copies=comparison.COPIES)
    rates = {
        m: max(s.gpu_tokens_per_s(0.05) for s in every if s.n_batches == m)
        for m in (2, 3, 4)
    }
    assert rates[3] > 1.3 * rates[2] and rates[3] > rates[4] > rates[2]


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


def late_turn(requests: float, n: int, rng: np.random.Generator) -> float:
    """One draw of loads, played for many layers: each half waits for its last machine.

    Machines do what comes next; rows arrive a way after the last has sent them.
    """
    half = requests / 2
    mean, ffn = 50 + 0.00165 * 600 * half, 100 / n + 0.083 * half
    way = 10 + 0.011 * copies_away(n) * half
    attn = mean + 0.00165 * 504 * half**0.5 * rng.standard_normal((2, n))
    free, back = np.zeros(n), np.zeros((2, n))
    ends = []
    for _ in range(60):
        sent = []
        for each in (0, 1):
            free = np.maximum(free, back[each]) + attn[each]
            sent.append(free.max() + way)
        for each in (0, 1):
            free = np.maximum(free, sent[each]) + ffn
            back[each] = free.max() + way
        ends.append(free.max())
    return float((ends[-1] - ends[19]) / 40)


def test_a_late_group_is_level_with_the_late_split() -> None:
    """The requests that it is said to serve take the turn, on average over loads."""
    late = same_speed(2, equal=False)
    rate, rng = late_group(late.turn, 9).rate, np.random.default_rng(2)
    turns = [late_turn(rate * late.turn, 9, rng) for _ in range(300)]
    assert np.mean(turns) == pytest.approx(late.turn, rel=0.006)
    never = wide_group(late.turn, 9).rate
    half = (late.turn / 2 - 50 - 100 / 9) / (0.99 + 0.083)
    assert never == pytest.approx(2 * half / late.turn, rel=1e-3)
    assert rate < late.split < 1.01 * rate < never


@pytest.mark.parametrize(("ratio", "counts"), [(8, "pace"), (32, "FFN")])
def test_the_longest_of_pace_loop_and_ffn_at_the_median_is_the_period(
    ratio: int, counts: str
) -> None:
    """Loads drawn at random: the slowest mean of two, and the last of all loads."""
    rng = np.random.default_rng(3)
    loads = 303.4 + 13.3 * rng.standard_normal((40_000, 2, ratio))
    ffn, wire = 100 + 21.25 * ratio, 25.6
    times = {
        "pace": float(np.median(loads.mean(axis=1).max(axis=1))),
        "loop": float(np.median(loads.max(axis=(1, 2)) + wire + ffn)) / 2,
        "FFN": ffn,
    }
    assert max(times, key=times.__getitem__) == counts
    bundle, slot = paper_setup.made(1), paper_setup.law().slot()
    period = corrected_model.period_s(bundle, slot, ratio) * 1e6
    assert times[counts] == pytest.approx(period, rel=0.005)


@pytest.mark.parametrize("n_ffn", [16, 40, 48])
def test_fewer_ffn_gpus_read_more_experts(n_ffn: int) -> None:
    """Experts dealt out one by one to whole GPUs, and the shared one."""
    held = max(len(range(i, 256, n_ffn)) for i in range(n_ffn)) + 1
    expert = 3 * 7168 * 2048
    found = inputs.ffn_fixed_s("h100-sxm", n_ffn=n_ffn)
    read, starts = held * expert / 2.8686e12, 16 * 2.604e-6
    assert found == pytest.approx(read + starts, rel=1e-3)
    assert inputs.ffn_fixed_s("h100-sxm") == inputs.ffn_fixed_s("h100-sxm", n_ffn=56)


def test_the_largest_unseen_error_is_that_of_sixteen_h100s() -> None:
    """Across nodes two runs were blind; both were slower than predicted."""
    rates = [
        run.error
        for run in evidence.runs()
        if run.status == "blind" and run.kind == evidence.ACROSS
    ]
    assert len(rates) == 2 and min(rates) > 0.2
    assert comparison.unseen() == pytest.approx(max(rates))
