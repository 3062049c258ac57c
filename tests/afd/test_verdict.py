"""The verdict's table: each row with one thing changed, counted by hand."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from llmserve_lab.afd import coupled, deployment, one_sided
from llmserve_lab.afd.one_sided import OneSided
from llmserve_lab.afd.page import comparison, variants, verdict
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
    plain = deployment.Split(gpu=H100, n_attn=48, n_ffn=48)
    made, same = a_split().layer_s(51), plain.layer_s(51)
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


@pytest.mark.parametrize(("n_attn", "own"), [(32, True), (40, True), (64, False)])
def test_an_attention_port_carries_its_own_copies_however_uneven(
    n_attn: int, own: bool
) -> None:
    """Below the balancedness as a ratio, its port is the busiest: eight copies."""
    ways = [
        float(part["out"] + part["back"])
        for part in (
            OneSided(
                gpu=H100, n_attn=n_attn, n_ffn=96 - n_attn, busiest=busiest
            ).layer_s(51)
            for busiest in (1.0, FULL)
        )
    ]
    assert (ways[0] == ways[1]) is own
    width = 7168 + 4 * 7168 / 128 + 2 * 7168  # bytes of a copy, there and back
    ratio = n_attn / (96 - n_attn)
    rows_ = [51 * max(ratio * busiest, 1) for busiest in (1.0, FULL)]
    for way, sent in zip(ways, rows_, strict=True):
        assert way == pytest.approx(sent * 8 * width / 44.487e9, rel=1e-3)


def test_the_excess_falls_with_the_root_of_the_number_of_experts() -> None:
    """The mean of n loads drawn alone scatters by one over the root of n."""
    rng = np.random.default_rng(1)
    loads = rng.gamma(4.0, size=(200_000, 6))
    spread = {n: float(loads[:, :n].mean(axis=1).std()) for n in (3, 6)}
    excess = {n: one_sided.busiest_of(n, H100, among=3) - 1 for n in (3, 6)}
    assert excess[3] == pytest.approx(FULL - 1, abs=1e-3)
    assert excess[6] / excess[3] == pytest.approx(spread[6] / spread[3], rel=0.01)
    assert one_sided.evened(H100, 48, among=96) == 1 + excess[6]
    for n_ffn, held in ((56, 5), (40, 7)):
        evened = one_sided.evened(H100, n_ffn, among=96)
        assert evened == pytest.approx(1 + excess[3] * (3 / held) ** 0.5)
    assert verdict.evener() == one_sided.evened(H100, 56, among=96)


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
    tables_ = (
        (verdict.verdict_table(), verdict.cases()),
        (verdict.others_table(), tuple(verdict.others().values())),
    )
    for table, cases in tables_:
        for row, case in zip(rows(table), cases, strict=True):
            heads = ("split", "group", "lead")
            split, group, lead = (numbers(row[at].replace("−", "-"))[0] for at in heads)
            assert lead == pytest.approx(100 * (split / group - 1), abs=0.6)
            assert split == pytest.approx(case.split, abs=0.5)
    leads = [case.lead for case in verdict.cases()]
    assert leads == pytest.approx(
        [-0.216, -0.240, -0.200, -0.154, -0.086, -0.094, -0.049, 0.012], abs=0.004
    )


def test_a_choice_more_makes_neither_side_slower() -> None:
    """One thing is added to each row of a way to send, for both."""
    for own in (verdict.cases()[:4], verdict.cases()[4:]):
        for side in ("split", "group"):
            rates = [getattr(case, side) for case in own]
            assert rates == sorted(rates) and rates[0] < rates[-1]
    for copies in ("expert", "node"):
        same = verdict.as_is(copies=copies)
        first = verdict.by_choices(verdict.Choices(), copies=copies)
        assert first.split == pytest.approx(same.split, rel=1e-9)
        assert first.group == same.group


def test_other_assumptions_are_in_the_order_that_their_words_say() -> None:
    both, free_both, own_host, ninth = (case.lead for case in verdict.others().values())
    plain = verdict.as_is().lead
    alike = {each.what: each.lead for each in variants.variants()}
    half, no_wire, chosen, head, no_host = (
        alike[what]
        for what in (
            "network half as fast",
            "no time on the wire",
            "the same, all chosen",
            "LM head in BF16",
            "no waiting for the host",
        )
    )
    assert ninth < no_host < head < plain < no_wire < chosen < own_host < 0
    assert plain < free_both < alike["network twice as fast"] < both < 0 < half


def test_a_bound_of_one_copy_a_node_falls_with_longer_transfers() -> None:
    """A tenth is enough; with eight copies half the rate puts the split ahead."""
    as_fast = verdict.by_choices(verdict.EVERY, copies="node")
    assert as_fast.lead == pytest.approx(0.012, abs=0.003)
    assert verdict.slower_node().lead == pytest.approx(-0.039, abs=0.003)
    (half,) = (e for e in variants.variants() if e.what == "network half as fast")
    slow: dict[str, Any] = {"copies": "expert", "off": (1.0, 2.0)}
    group = comparison.whole(H100, TIGHT, **slow).gpu_tokens_per_s
    split = comparison.best(H100, TIGHT, **slow).gpu_tokens_per_s(TIGHT)
    assert half.lead == pytest.approx(split / group - 1)
    assert half.lead == pytest.approx(0.023, abs=0.003)


def test_the_words_of_a_row_are_what_was_priced() -> None:
    """GPUs of either kind, batches, requests: they make the rate that is printed."""
    for row, case in zip(rows(verdict.verdict_table()), verdict.cases(), strict=True):
        rate, n_attn, n_ffn, m, batch = numbers(row["split"].replace("–", " "))
        assert n_attn + n_ffn == 96 and rate == pytest.approx(case.split, abs=0.5)
        assert TIGHT * 0.98 < n_attn * m * batch / 96 / rate <= TIGHT * 1.001
        rate, size, first, second = numbers(row["group"])
        assert size == 96 and rate == pytest.approx(case.group, abs=0.5)
        assert second - first in (0, 1)  # whole requests
        assert TIGHT * 0.98 < (first + second) / rate <= TIGHT * 1.001


def test_of_all_variants_with_eight_copies_only_the_slow_network_is_ahead() -> None:
    """Both sides alike: GPUs, contexts, overlap, choices, network, head, host."""
    (ahead,) = (e for e in variants.variants() if max(e.leads) > 0)
    assert ahead.what == "network half as fast" and ahead.longer is None
    assert len(variants.leads()) == 23
    found = [each for each in variants.leads() if each != ahead.lead]
    assert len(found) == 22 and max(found) < 0
    assert (max(found), min(found)) == pytest.approx((-0.065, -0.356), abs=0.004)
    # The page names the farthest.
    kinds = {each.kind for each in variants.variants()}
    assert kinds == {"combined", *variants.ALONE}
    assert len(variants.COMBINED) + len(variants.ALONE) == 8
    (farthest,) = (e for e in variants.variants() if e.longer == min(found))
    assert farthest.what == "H100 SXM, overlap charged"
    table = rows(variants.variants_table())
    shown = [numbers(v.replace("−", "-")) for row in table for v in row.values()]
    cells = [each[0] for each in shown if each and abs(each[0]) < 80]
    for lead in (max(found), min(found)):
        assert round(100 * lead) in cells
    shared_errors = comparison.if_off(H100, TIGHT)
    assert min(found) < shared_errors[0] and shared_errors[1] < max(found)
    for case in (verdict.with_head(), verdict.without_host(), *verdict.cases()[:4]):
        assert any(each == pytest.approx(case.lead, abs=1e-9) for each in found)


def test_without_its_host_a_side_has_so_much_longer() -> None:
    """A target of 50 ms is one of 54.6 with the host's time."""
    host = 4.637e-3
    longer = comparison.whole(H100, TIGHT + host)
    found = verdict.without_host()
    rate = longer.gpu_tokens_per_s * (TIGHT + host) / TIGHT
    assert found.group == pytest.approx(rate, rel=1e-3)
    split = comparison.best(H100, TIGHT + host).gpu_tokens_per_s(TIGHT + host)
    assert found.split == pytest.approx(split * (TIGHT + host) / TIGHT, rel=1e-3)


def test_layers_without_experts_are_waited_for_once_if_ffn_gpus_do_them() -> None:
    """Two of three batches less; the last one's rows travel there and back."""
    own = a_split()
    moved = OneSided(
        gpu=H100, n_attn=48, n_ffn=48, copies="expert", busiest=FULL, outer="FFN"
    )
    part = own.layer_s(51)
    saved = 2 * float(part["rest"]) - float(part["starts"])
    assert float(own.tpot_s(51) - moved.tpot_s(51)) == pytest.approx(saved)
    assert 60e-6 < float(part["starts"]) < 65e-6  # two of 31 µs
    with pytest.raises(ValueError, match="outer must be one of"):
        OneSided(
            gpu=H100,
            n_attn=48,
            n_ffn=48,
            busiest=FULL,
            outer="CPU",  # type: ignore[arg-type]
        )


def test_the_tuned_split_is_the_best_of_all_that_it_may_do() -> None:
    """Searched once more, from each split's times."""
    offs: tuple[tuple[Any, coupled.Off], ...] = (
        ("expert", (1.0, 1.0)), ("node", (1.0, 1.0)), ("node", (1.0, 0.5)),
    )  # fmt: skip
    for copies, off in offs:
        rates = []
        for n_ffn, m in product(range(8, 96, 8), (2, 3, 4)):
            held = -(-256 // n_ffn)
            busiest = 1 + (FULL - 1) * (3 / held) ** 0.5
            for shared in ("rides along", "attention"):
                made = OneSided(
                    gpu=H100, n_attn=96 - n_ffn, n_ffn=n_ffn, n_batches=m, off=off,
                    copies=copies, busiest=busiest, shared=shared, outer="FFN",
                )  # fmt: skip
                if made.fits:
                    rates.append(made.gpu_tokens_per_s(TIGHT))
        found = verdict.by_choices(verdict.EVERY, copies=copies, off=off)
        assert found.split == pytest.approx(max(rates), rel=2e-3)
        whole = comparison.whole(H100, TIGHT, copies=copies, off=off)
        assert found.group >= whole.gpu_tokens_per_s


def test_without_a_wire_the_group_takes_one_batch() -> None:
    whole = comparison.whole(H100, TIGHT, off=verdict.FREE)
    assert whole.overlap == "none"
    split = comparison.best(H100, TIGHT, off=verdict.FREE)
    assert split.n_batches == 2 and float(split.layer_s(9)["wire"]) < 1e-9
