"""The five sentences that a reader keeps, each held in every state that is shown.

The numbers are found again by other means than those that print them: loads that are
simulated, slots that are looked at, pipelines that run, splits that are tried.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from llmserve_lab.afd import coupled, deployment, exercise
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.page import comparison, figures, going_round, pictures, tables
from llmserve_lab.afd.page.controls import STOPS, WIRES
from llmserve_lab.afd.simulation.vectorized_simulator import simulate
from llmserve_lab.afd.theory.same_speed import same_speed

TIGHT = comparison.TIGHT_S
H100 = "h100-sxm"


def longest_three(r: float, tokens: float, rows: float = 256) -> float:
    """Cycles of a step, by the paper's six coefficients typed once more."""
    return max(0.00165 * tokens + 50, 0.083 * r * rows + 100, 0.022 * rows + 20)


@pytest.mark.parametrize(("prompt", "best"), [(100, 9.6), (500, 17.5)])
def test_attention_machines_pay_until_the_ffn_is_full(prompt: int, best: float) -> None:
    """Every ratio is tried, in steps of a hundredth."""
    ratios = np.arange(1, 64, 0.01)
    each = [r / (r + 1) / longest_three(r, 256 * (prompt + 500)) for r in ratios]
    assert ratios[int(np.argmax(each))] == pytest.approx(best, abs=0.05)


def test_the_figure_of_ratios_keeps_its_optimum_in_every_state() -> None:
    figure = figures.throughput()
    assert figure.goal is not None
    for *sizes, wire in itertools.product(*STOPS.values(), WIRES):
        state = dict(zip(STOPS, sizes, strict=True)) | {"wire": wire}
        known = figure.values(**state)
        for name in ("ratio_best", "ratio_pipeline"):
            assert 1 <= known[name] <= 64
        asked = tuple(sizes[:3]) == (256, 100, 500) and wire == "4 times slower"
        reached = known["ratio_pipeline"] >= 0.999 * known["ratio_best"]
        assert figure.goal.met(known) == (asked and reached)


def period(wire: float, n_batches: int) -> float:
    """Of two stages of one second each, in the reader's own pipeline."""
    first, last = (
        exercise.in_flight(1.0, 1.0, wire / 2, n_batches, steps) for steps in (60, 120)
    )
    return (last - first) / 60


@pytest.mark.parametrize("wire", [0.1, 0.5, 1.0])
def test_two_batches_hide_nothing_and_three_as_much_as_attention(wire: float) -> None:
    assert period(wire, 2) == pytest.approx(1 + wire / 2)
    assert period(wire, 3) == pytest.approx(1)
    assert period(1.3, 3) == pytest.approx(1.1)


def test_three_batches_fill_half_of_the_gaps_in_the_picture() -> None:
    two, three = (going_round.waits(m) for m in (2, 3))
    assert two == pytest.approx((0.252, 0.330), abs=0.005)
    assert three == pytest.approx((0.116, 0.168), abs=0.005)
    gone = 1 - sum(three) / sum(two)
    assert 0.4 < gone < 0.6


@pytest.mark.parametrize("n_batches", [2, 3])
def test_the_picture_shows_what_ran(n_batches: int) -> None:
    """No machine has two batches, no batch is in the FFN and on a machine at once."""
    rows = going_round.bars(n_batches)
    for lane in (0, 1, 2, 4):
        own = sorted((s, e) for at, _, s, e in rows if at == lane)
        assert all(a[1] <= b[0] + 1e-6 for a, b in itertools.pairwise(own))
    for batch in range(n_batches):
        inside = [(s, e) for at, b, s, e in rows if at == 4 and b == batch]
        others = [(s, e) for at, b, s, e in rows if at != 4 and b == batch]
        assert not [
            1 for s, e in inside for t, f in others if t < e - 1e-6 and s < f - 1e-6
        ]


def test_most_looks_at_a_slot_meet_a_long_request() -> None:
    """A slot is filled with many requests and looked at, step by step."""
    rng = np.random.default_rng(2)
    kinds = [pictures.KINDS[i] for i in rng.integers(0, 2, 20_000)]
    held = np.concatenate([prompt + np.arange(steps) for prompt, steps in kinds])
    long = max(prompt for prompt, _ in pictures.KINDS)
    assert (held >= long).mean() == pytest.approx(0.75, abs=0.01)
    assert held.mean() == pytest.approx(pictures.slot_tokens(), rel=0.01)
    (_, short), (_, longer) = pictures.KINDS
    assert longer == 3 * short


def rate_at(ratio: int) -> float:
    """Tokens per cycle and machine, simulated from several seeds."""
    load = paper_setup.served(n_requests=4000, start="stationary")
    runs = [simulate(paper_setup.made(ratio), load, seed=seed) for seed in range(4)]
    return float(np.mean([run.tokens_per_s for run in runs])) / 1e6


@pytest.mark.parametrize(("ratio", "lost"), [(8, 0.043), (32, 0.0)])
def test_stragglers_cost_at_the_top_and_nothing_beyond(ratio: int, lost: float) -> None:
    """Simulated, against a step of equal loads by the six coefficients."""
    attn, ffn = 0.00165 * 256 * 600 + 50, 0.083 * ratio * 256 + 100
    step = max(attn, ffn, (attn + ffn + 0.022 * 256 + 20) / 2)
    equal = ratio * 256 / (ratio + 1) / step
    assert 1 - rate_at(ratio) / equal == pytest.approx(lost, abs=0.006)


def rates(tpot_s: float, overlap: coupled.Overlap) -> tuple[float, float]:
    """The best split, tried one by one, and the better of two groups."""
    found = []
    for split in deployment.splits(H100, 96, copies="node", overlap=overlap):
        for batch in range(1, 200):
            step_s = float(split.tpot_s(batch))
            fits = split.n_batches * batch <= deployment.attn_fits(H100)
            if step_s <= tpot_s and fits:
                each = split.n_attn * split.n_batches * batch / step_s / 96
                found.append((each, split.name))
    assert max(found)[1] == comparison.best(H100, tpot_s, overlap=overlap).name
    return max(found)[0], comparison.whole(
        H100, tpot_s, overlap=overlap
    ).gpu_tokens_per_s


@pytest.mark.parametrize(("overlap", "behind"), [("free", 0.10), ("charged", 0.33)])
def test_the_split_is_behind_one_group(overlap: coupled.Overlap, behind: float) -> None:
    split, group = rates(TIGHT, overlap)
    assert 1 - split / group == pytest.approx(behind, abs=0.006)
    assert comparison.best(H100, TIGHT).name == "56A–40F"


def test_no_split_leads_in_any_setting_that_is_shown() -> None:
    every = comparison.every_lead()
    assert len(every) == 72
    assert max(every.values()) == pytest.approx(-0.033, abs=0.003)


@pytest.mark.parametrize("spread", [0.25, 0.5, 1.0])
def test_nor_does_one_where_contexts_differ(spread: float) -> None:
    for overlap in comparison.OVERLAPS:
        assert comparison.lead(H100, TIGHT, overlap=overlap, spread=spread) < -0.02


def test_the_measured_groups_lie_between_the_two_readings() -> None:
    free, charged = (comparison.halves_band(each) for each in comparison.OVERLAPS)
    assert free.n == charged.n == 4
    assert -0.2 < charged.low <= charged.high < 0 < free.low <= free.high < 0.1
    assert comparison.band_words("free") == "4 to 9% too high"
    assert comparison.band_words("charged") == "9 to 19% too low"


def test_gpu_time_of_a_token_adds_up_to_the_rates() -> None:
    account = tables.account(H100, TIGHT)
    sums = [sum(spent[i] for spent in account.values()) for i in range(3)]
    found = comparison.beside(H100, TIGHT, overlap="free")
    assert [1e6 / each for each in sums] == pytest.approx([*found.values()], rel=1e-9)
    waited = account["waiting for the network"]
    assert waited[0] > sums[0] - sums[2] and waited[1] == pytest.approx(0, abs=1e-6)
    assert all(min(spent) > -1e-6 for spent in account.values())


@pytest.mark.parametrize(
    ("n_batches", "equal", "gain"),
    [
        (2, True, 0.05),
        (2, False, 0.0),
        (3, True, -0.025),
        (3, False, -0.067),
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
