"""The verdict's table: each row with one thing changed, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.afd import deployment, one_sided
from llmserve_lab.afd.one_sided import OneSided
from llmserve_lab.afd.page import comparison, verdict
from tests.each import numbers, rows

H100, TIGHT, FULL = "h100-sxm", 0.05, 1 / 0.779
READ, MUL, EXPERT = 2.8686e12, 1.1886e15, 3 * 7168 * 2048


def a_split(
    shared: one_sided.Shared = "rides along", busiest: float = FULL
) -> OneSided:
    return OneSided(
        gpu=H100, n_attn=48, n_ffn=48, copies="expert", busiest=busiest, shared=shared
    )


def test_a_split_that_differs_in_nothing_is_the_split() -> None:
    made, same = a_split().layer_s(51), comparison.best(H100, TIGHT).layer_s(51)
    for name, value in same.items():
        assert made[name] == pytest.approx(value, rel=2e-3), name
    assert made["shared"] == 0


def test_copies_are_those_of_the_busiest_and_the_ninth_falls_evenly() -> None:
    """As many bytes more as copies: 8 on the mean, times the excess, and one."""
    wires = {
        copies: float(part["out"] + part["back"])
        for copies, part in (
            (8 * FULL, a_split().layer_s(51)),
            (8 * FULL + 1, a_split("ninth copy").layer_s(51)),
            (8 * 1.2, a_split(busiest=1.2).layer_s(51)),
        )
    }
    each = [wire / copies for copies, wire in wires.items()]
    assert each == pytest.approx([each[0]] * 3, rel=1e-3)


def test_a_shared_expert_with_attention_leaves_six_and_is_hidden_by_the_loop() -> None:
    there, here = a_split("attention").layer_s(51), a_split().layer_s(51)
    products = {
        held: np.hypot(held * EXPERT + 19e6, 2 * EXPERT * rows_ * READ / MUL) / READ
        for held, rows_ in ((7, 51 * (8 * FULL + 1)), (6, 51 * 8 * FULL))
    }
    saved = float(here["ffn"] - there["ffn"])
    assert saved == pytest.approx(products[7] - products[6], rel=0.03)
    alone = np.hypot(EXPERT / READ, 2 * EXPERT * 51 / MUL)
    assert float(there["shared"]) == pytest.approx(alone, rel=2e-3)
    assert there["attn"] == here["attn"]
    loop = float(there["attn"] + there["ffn"] + there["wire"]) / 3
    period = float(a_split("attention").period_s(51))
    assert period == pytest.approx(max(loop, float(there["attn"]) + alone), rel=2e-3)


def test_the_excess_falls_with_the_root_of_the_number_of_experts() -> None:
    """The mean of n loads drawn alone scatters by one over the root of n."""
    rng = np.random.default_rng(1)
    loads = rng.gamma(4.0, size=(200_000, 6))
    spread = {n: float(loads[:, :n].mean(axis=1).std()) for n in (3, 6)}
    excess = {n: one_sided.busiest_of(n, H100, among=3) - 1 for n in (3, 6)}
    assert excess[3] == pytest.approx(FULL - 1, abs=1e-3)
    assert excess[6] / excess[3] == pytest.approx(spread[6] / spread[3], rel=0.01)
    assert verdict.evener() == 1 + excess[6]


def test_the_head_in_bf16_takes_as_much_time_from_all_else() -> None:
    """A byte more for 129,280 × 7,168 weights; three batches in flight, two halves."""
    more = 129_280 * 7168 / READ
    assert verdict.head_s() == pytest.approx(more, rel=1e-3)
    splits = []
    for split in deployment.splits(H100, 96, copies="expert"):
        m, batches = split.n_batches, np.arange(1, 215)
        batches = batches[m * batches <= deployment.attn_fits(H100)]
        turn = split.tpot_s(batches) + m * more
        fits = np.flatnonzero(turn <= TIGHT)
        if len(fits):
            at = fits[-1]
            splits.append(split.n_attn * m * batches[at] / turn[at] / 96)
    found = verdict.with_head()
    assert found.split == pytest.approx(max(splits), rel=0.002)
    assert found.group < verdict.as_is().group and found.lead < verdict.as_is().lead


def test_each_row_of_the_verdict_is_the_quotient_of_its_rates() -> None:
    shown = rows(verdict.verdict_table())
    for row, case in zip(shown, verdict.cases(), strict=True):
        heads = ("split", "group", "the split's lead")
        split, group, lead = (numbers(row[at].replace("−", "-"))[0] for at in heads)
        assert lead == pytest.approx(100 * (split / group - 1), abs=0.6)
        assert split == pytest.approx(case.split, abs=0.5)
    leads = [case.lead for case in verdict.cases()]
    plain, even, moved, ninth, node, node_even, twice, both, _ = leads
    assert max(leads) < 0
    assert ninth < plain < even < moved and node < node_even and twice < both
    alike = {case.group for case in verdict.cases()[:4]}
    assert len(alike) == 1  # what the split alone changes leaves the group
