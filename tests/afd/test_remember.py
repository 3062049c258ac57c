"""The five sentences that a reader keeps, each held in every state that is shown.

The numbers are found again by other means: simulated loads, slots, pipelines, splits.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from llmserve_lab.afd import coupled, deployment, exercise
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.page import comparison, figures, pictures, tables
from llmserve_lab.afd.page.controls import STOPS, WIRES
from llmserve_lab.afd.simulation.vectorized_simulator import simulate
from llmserve_lab.catalog.evidence.deployments import DEPLOYMENTS, Deployment
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.published_runs import decodes, run_as

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
    for split in deployment.splits(H100, 96, overlap=overlap):
        batches = np.arange(1, 200)
        fits = split.n_batches * batches <= deployment.attn_fits(H100)
        steps_s = split.tpot_s(batches)
        carried = split.n_attn * split.n_batches * batches / steps_s / 96
        kept = carried[fits & (steps_s <= tpot_s)]
        found += [(each, split.name) for each in kept]
    assert max(found)[1] == comparison.best(H100, tpot_s, overlap=overlap).name
    return max(found)[0], comparison.whole(
        H100, tpot_s, overlap=overlap
    ).gpu_tokens_per_s


@pytest.mark.parametrize(("overlap", "behind"), [("free", 0.216), ("charged", 0.179)])
def test_the_split_is_behind_one_group(overlap: coupled.Overlap, behind: float) -> None:
    split, group = rates(TIGHT, overlap)
    assert 1 - split / group == pytest.approx(behind, abs=0.006)
    assert comparison.best(H100, TIGHT).name == "40A–56F"


def test_no_split_leads_in_any_setting_that_is_shown() -> None:
    every = comparison.every_lead()
    assert len(every) == 72
    assert max(every.values()) == pytest.approx(-0.050, abs=0.003)


@pytest.mark.parametrize("spread", [0.25, 0.5, 1.0])
def test_nor_does_one_where_contexts_differ(spread: float) -> None:
    for overlap in comparison.OVERLAPS:
        assert comparison.lead(H100, TIGHT, overlap=overlap, spread=spread) < -0.02


def test_differing_contexts_cost_the_group_more_than_the_split() -> None:
    alike, differ = (
        comparison.beside(H100, TIGHT, spread=spread)
        for spread in (0.0, comparison.SPREAD)
    )
    lost = {name: 1 - differ[name] / alike[name] for name in comparison.WAYS}
    assert lost["two halves"] == pytest.approx(0.056, abs=0.003)
    assert lost["split"] == pytest.approx(0.043, abs=0.003)
    behind = 1 - differ["split"] / differ["two halves"]
    assert behind == pytest.approx(0.204, abs=0.004)


def test_the_table_of_measured_groups_states_each_error() -> None:
    for each in comparison.measured_groups():
        assert each.measured == float(each.record.gpu_tokens_per_s)
        off = each.predicted / each.measured - 1
        assert off == pytest.approx(each.error.at_speed, rel=1e-9)
        assert abs(off) < 0.05


def test_the_old_bundle_loses_where_prompts_are_longer() -> None:
    """Six coefficients typed once more, both batches going round or taking turns."""

    def rate(r: int) -> float:
        attn, ffn = 0.00165 * 256 * 1000 + 50, 0.083 * r * 256 + 100
        wire = 0.022 * 256 + 20
        return r / (r + 1) / max(attn, ffn, (attn + wire + ffn) / 2)

    assert max(range(1, 65), key=rate) == 16
    assert 1 - rate(8) / rate(16) == pytest.approx(0.056, abs=0.001)


def test_measured_groups_at_the_same_time_per_token() -> None:
    """Requests are searched one by one until a token takes longer than measured."""
    free, charged = (comparison.halves_band(each) for each in comparison.OVERLAPS)
    assert free.n == charged.n == 4
    assert -0.05 < free.low < 0 < free.high < 0.05
    assert -0.37 < charged.low <= charged.high < -0.1
    assert comparison.band_words("free") == "within 5%"
    assert comparison.band_words("charged") == "12 to 36% too low"
    for error, record in zip(comparison.errors("free"), measured(), strict=True):
        twin = run_as(record, replace(book_assumptions(), overlap="ideal halves"))
        batches = np.arange(1, 400)
        known = twin.arguments(batch=batches, context=float(record.context))
        speed = coupled.step_s(twin, known) / twin.assumptions.accepted
        most = batches[speed <= error.tpot_s].max()
        rate = most / error.tpot_s / float(record.gpu_tokens_per_s) - 1
        assert rate == pytest.approx(error.at_speed, abs=0.02)


def measured() -> list[Deployment]:
    """Published decode runs of DeepSeek-V3 in two halves on Hopper's H100 and H800."""
    return [
        each
        for each in DEPLOYMENTS
        if each.accelerator in ("h100-sxm", "h800-sxm") and decodes(each)
    ]


@pytest.mark.parametrize("gpu", comparison.DEVICES)
@pytest.mark.parametrize("ms", [30, 50, 70])
def test_no_transfer_of_a_group_is_hidden_behind_nothing(gpu: str, ms: int) -> None:
    """Two halves alternate on a GPU and on its port; each waits for its own rows."""
    found = coupled.arranged(gpu, 96, ms / 1e3, halves=True)
    twin = coupled.group(gpu, 96, found.overlap)
    known = twin.arguments(batch=found.batch, context=4096.0)
    block = {name: float(each) for name, each in twin.blocks_of(known).items()}
    attn = block["mla_s"] + block["attn_elementwise_s"]
    ffn = block["experts_s"] + block["moe_elementwise_s"]
    there, back = (float(each) for each in coupled.transfers_s(twin, known))
    ready, gpu_s, port_s, ends = [0.0, 0.0], 0.0, 0.0, []
    for _ in range(40):
        for spent, travels in ((attn, there), (ffn, back)):
            for half in (0, 1):
                gpu_s = max(gpu_s, ready[half]) + spent
                port_s = max(gpu_s, port_s) + travels
                ready[half] = port_s
        ends.append(gpu_s)
    turn = (ends[-1] - ends[-21]) / 20 + 2 * block["other_s"] + block["host_s"]
    step = float(coupled.step_s(twin, known))
    assert turn * (1 - 1e-9) <= step <= 1.02 * turn
    if max(there, back) < min(attn, ffn):
        assert step == pytest.approx(turn)


def test_no_error_that_both_sides_share_turns_the_verdict() -> None:
    """Kernels and network off alike, between the ends too; one side's own can."""
    low, high = comparison.if_off(H100, TIGHT)
    assert (low, high) == pytest.approx((-0.283, -0.070), abs=0.003)
    far = comparison.unseen()
    for off in itertools.product((1 - far / 2, 1 + far / 2), repeat=2):
        assert comparison.lead(H100, TIGHT, off=off) < 0
    less = comparison.wire_to_lead(H100, TIGHT)
    group = comparison.whole(H100, TIGHT).gpu_tokens_per_s
    for part, ahead in ((less, True), (less - 1, False)):
        split = comparison.best(H100, TIGHT, off=(1.0, 1 - part / 100))
        assert (split.gpu_tokens_per_s(TIGHT) >= group) is ahead


def test_a_copy_for_each_node_brings_the_split_nearer() -> None:
    group = coupled.together(H100, 96, TIGHT, copies="node", overlap="free")
    split = deployment.best_split(H100, 96, TIGHT, copies="node", overlap="free")
    behind = 1 - split.gpu_tokens_per_s(TIGHT) / group.gpu_tokens_per_s
    assert behind == pytest.approx(0.086, abs=0.005)


@pytest.mark.parametrize("overlap", comparison.OVERLAPS)
def test_rows_are_sent_as_in_the_groups_that_were_measured(
    overlap: coupled.Overlap,
) -> None:
    """What is compared and what was scored differ in no rule of sending."""
    for record in measured():
        scored = run_as(record, replace(book_assumptions(), overlap="ideal halves"))
        sent = float(scored.traffic["dispatched_copies"])
        assert coupled.copies_of_row(scored, comparison.COPIES) == sent
    group = coupled.together(H100, 96, TIGHT, copies=comparison.COPIES, overlap=overlap)
    assert comparison.whole(H100, TIGHT, overlap=overlap) == group


def test_what_a_split_waits_for_is_told_apart() -> None:
    """The wire that is left, unequal times, and FFN GPUs idle beside other layers."""
    account = tables.account(H100, TIGHT)
    unequal, idle = tables.unequal(H100, TIGHT)
    assert account["waits: network"][2] == pytest.approx(8.2, abs=0.2)
    assert (unequal, idle) == pytest.approx((89.0, 32.9), abs=0.2)
    assert account["waits: other kind"][2] == pytest.approx(unequal + idle)
    waits = [account[f"waits: {what}"] for what in ("network", "other kind")]
    for at, share in ((1, 0.06), (2, 0.21)):
        whole = sum(spent[at] for spent in account.values())
        assert sum(each[at] for each in waits) / whole == pytest.approx(share, abs=5e-3)


def test_gpu_time_of_a_token_adds_up_to_the_rates() -> None:
    account = tables.account(H100, TIGHT)
    sums = [sum(spent[i] for spent in account.values()) for i in range(3)]
    found = comparison.beside(H100, TIGHT, overlap="free")
    assert [1e6 / each for each in sums] == pytest.approx([*found.values()], rel=1e-9)
    waited = account["waits: network"]
    assert waited[0] > sums[0] - sums[2] and waited[2] < waited[1] < waited[0]
    assert all(min(spent) > -1e-6 for spent in account.values())
