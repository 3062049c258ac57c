"""What the twin's error leaves undecided, and the budget of a step, counted again."""

from dataclasses import replace

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.deployments import DEEPSEEK_DECODE, SGLANG_DECODE
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import ablations, caveats, decisions
from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.evaluation.bands import DecodeSetting, alike, band
from llmserve_lab.deepseek.evaluation.group_size import (
    served,
)
from llmserve_lab.deepseek.evaluation.predictions import point
from llmserve_lab.deepseek.evaluation.published_runs import run_as
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.page import answers, budget, evidence, group
from llmserve_lab.formula.band import Band
from tests.deepseek.twins import twin

SHORT = {"context": 4000.0, "tpot_s": 0.02}
OPENING = DecodeSetting(accelerator="h100-sxm", ep=72, batch=256, context=2000.0)


def across() -> Band:
    found = band("decode_step", OPENING)
    assert isinstance(found, Band)
    return found


def test_twenty_milliseconds_are_missed_by_less_than_the_twin_errs() -> None:
    high = across().high
    for ep in group.GROUPS.values():
        assert decisions.most_within(ep, **SHORT) == 0
    for ep in (72, 144):
        over = decisions.alone_s(ep, SHORT["context"]) / SHORT["tpot_s"] - 1
        assert 0 < over < high
        kept = decisions.most_within(ep, **SHORT, error=high)
        assert kept > 0
        steps = [
            min(
                float(made.step_s(batch=n, context=SHORT["context"]))
                for made in decisions.twins(ep)
            )
            for n in (kept, kept + 1)
        ]
        assert steps[0] <= SHORT["tpot_s"] * (1 + high) < steps[1]


def test_where_overlap_is_undecided_its_gain_is_smaller_than_its_error() -> None:
    found = decisions.overlap()
    outside = (found.least - 1, found.most + 1)
    assert all(abs(decisions.gain(n)) > found.error for n in outside)
    for n in range(found.least, found.most + 1):
        assert abs(decisions.gain(n)) <= found.error
    assert 64 < found.least < 81 < found.most < 128


def test_the_largest_of_normal_numbers_is_that_of_draws() -> None:
    draws = np.random.default_rng(1).standard_normal((20_000, 32)).max(axis=1)
    assert decisions.largest_of(32) == pytest.approx(draws.mean(), rel=0.01)
    assert decisions.largest_of(1) == pytest.approx(0.0, abs=1e-9)
    assert decisions.largest_of(2) == pytest.approx(np.pi**-0.5, rel=1e-6)


def test_a_gpu_with_fewer_experts_averages_less() -> None:
    balances = [decisions.balance_of(ep) for ep in (16, 32, 72, 256)]
    assert balances == sorted(balances, reverse=True)
    assert balances[1] == pytest.approx(book_assumptions().balancedness)
    made = [
        decisions.rate_at(ep, 4000.0, 0.05, balancedness=at)
        for ep, at in zip((32, 72, 256), balances[1:], strict=True)
    ]
    assert made == sorted(made, reverse=True)


def test_the_budget_adds_up_as_printed() -> None:
    rows = {name: numbers for name, *numbers in budget.parts()}
    *_, whole = rows.pop("the step")
    counts = [float(numbers[-1]) for numbers in rows.values()]
    assert sum(counts) == pytest.approx(float(whole), abs=0.015)
    assert float(whole) == pytest.approx(worked.step_ms(worked.MANY, "none"), abs=5e-3)
    for name, rule in budget.RULES.items():
        moving, working, all_ = map(float, rows[name][-3:])
        made = {1: np.hypot(moving, working), 2: max(moving, working)}
        assert all_ == pytest.approx(made.get(rule, moving + working), abs=0.011)


def test_the_weights_of_the_budget_are_those_that_are_held() -> None:
    """All but the embedding table, of which a step reads one row a token."""
    weights = [float(row[1]) for row in budget.parts() if row[1] != budget.NONE]
    one = twin(worked.PLACE)
    table = float(one.shape["table_params"])
    assert sum(weights) * 1e9 == pytest.approx(one.resident_bytes() - table, rel=1e-3)


def test_bytes_of_the_budget_give_its_times() -> None:
    rate = float(budget.known()["read_rate"]) / 1e9
    for name, _, *numbers in budget.parts():
        if name in ("attention, elementwise", "experts, elementwise"):
            assert float(numbers[2]) == pytest.approx(
                1e3 * float(numbers[0]) / rate, abs=0.01
            )


def test_half_of_the_decodes_across_nodes_were_faster() -> None:
    quick, many = evidence.faster()
    errors = [run.error for run in evidence.runs() if run.kind == evidence.ACROSS]
    assert len(errors) == many == 8 and quick == 4
    found = across()
    assert found.n == 8 and found.high == pytest.approx(1 / (1 + min(errors)) - 1)
    assert found.low == pytest.approx(1 / (1 + max(errors)) - 1)


def test_twice_the_speed_costs_rate_however_wrong_the_steps_are() -> None:
    """With the error that both rates share, at either end of the band."""
    half, ends = answers.twice_s(), (across().low, across().high)
    kept = [decisions.kept_at(half, error) for error in (ends[0], 0.0, ends[1])]
    assert kept == sorted(kept) and kept[-1] < 0.85
    fast = served("h100-sxm", 72, context=2000.0, tpot_s=half)
    assert fast is not None
    made = answers.fixed_batch(72)[0] * 256
    assert kept[1] == pytest.approx(fast.tokens_per_s / made)
    # The ranges that the table prints are those of the same errors.
    assert isinstance(fast.band, Band)
    rates = fast.band.around(fast.tokens_per_s)
    printed = [
        rate / (made * (1 + error)) for rate, error in zip(rates, ends, strict=True)
    ]
    assert printed == pytest.approx([kept[0], kept[-1]], rel=1e-3)
    assert round(100 * kept[1]) == 52


@pytest.mark.parametrize("ep", [32, 72, 144])
def test_every_range_at_a_target_has_room_below(ep: int) -> None:
    """Three runs across nodes were slower than predicted: a rate may be lower."""
    for tpot_s in (answers.twice_s(), 0.05, 0.1):
        found = served("h100-sxm", ep, context=4000.0, tpot_s=tpot_s)
        assert found is not None and isinstance(found.band, Band)
        low, high = found.band.around(found.tokens_per_s)
        assert low < 0.85 * found.tokens_per_s and high > 1.15 * found.tokens_per_s


def test_without_redundant_experts_the_largest_group_reads_fewer() -> None:
    """One expert on each of 256 GPUs instead of two places of which some stay empty."""
    assert setup("h100-sxm", 256).local_experts(0) == 1
    assert setup("h100-sxm", 256).local_experts(32) == 2
    rates = [decisions.rate_at(256, 4000.0, 0.05, n_redundant=n) for n in (0, 32)]
    assert 1.03 < rates[0] / rates[1] < 1.1


def test_at_a_strict_target_the_larger_group_stays_ahead_if_loads_scatter() -> None:
    """At fifty milliseconds it falls behind, so that the twin cannot tell."""
    scattered = decisions.balance_of(72)
    ahead = {}
    for ms in (33, 50, 100):
        more = decisions.rate_at(72, 4000.0, ms / 1e3, balancedness=scattered)
        ahead[ms] = more / group.best_of("h100-sxm", 32, ms).tokens_per_s
    assert ahead[50] < 1 < ahead[100] < ahead[33]


def test_each_end_across_nodes_is_one_run_and_the_six_others_lie_within() -> None:
    runs = sorted(alike(OPENING), key=lambda pair: pair[1])
    errors = [error for _, error in runs]
    assert (errors[0], errors[-1]) == (across().low, across().high)
    assert (runs[0][0].accelerator, runs[0][0].ep) == ("h100-sxm", 16)
    assert runs[-1][0].ep == 144
    assert len(runs) == 8 and errors[1] > -0.2 and errors[-2] < 0.18
    told = caveats.untold(book_assumptions())[2]  # the batch of another table
    assert 0 < 1 / (1 + told.error) - 1 < 0.04


def test_the_one_run_with_a_user_s_rate_lies_on_the_strip_s_end() -> None:
    """It set that end, so that it cannot test it."""
    record, high = DEEPSEEK_DECODE, across().high
    one = run_as(record, book_assumptions())
    user = float(record.gpu_tokens_per_s) / caveats.untold(book_assumptions())[0].batch
    batch = one.batch_at(user / (1 + high), context=float(record.context))
    assert batch * user == pytest.approx(float(record.gpu_tokens_per_s), rel=2e-3)


def test_without_the_slowdown_overlap_would_gain_far_too_much() -> None:
    """So that the slowdown cannot be what makes the twin too slow across nodes."""
    ours = book_assumptions()
    free = replace(ours, overlap_slowdown=0.0)
    with_, without = (
        ablations.overlap_gain(SGLANG_DECODE, each, batch=256) - 1
        for each in (ours, free)
    )
    measured = next(ablations.overlap_ablations(ours)).measured[0] - 1
    assert abs(with_ - measured) < 0.03 < 0.15 < without - measured
    assert without == pytest.approx(decisions.uncharged_gain())


def test_with_fewer_requests_the_network_takes_less_of_a_step() -> None:
    shares = {}
    for requests in (32, 66, 256):
        blocks = worked.blocks_ms(requests)
        shares[requests] = blocks["all_to_all_s"] / sum(blocks.values())
    assert shares[32] < 0.4 < shares[66] < 0.5 < shares[256]


def test_at_the_left_end_of_the_curve_three_runs_made_less_than_predicted() -> None:
    """All with sixteen GPUs, none with thirty-two; two are H100s, a fifth slower."""
    small = [(run, error) for run, error in alike(OPENING) if run.ep <= 32]
    assert [run.ep for run, _ in small] == [16, 16, 16]
    h100 = [error for run, error in small if run.accelerator == "h100-sxm"]
    assert all(0.15 < -error < 0.25 for error in h100) and len(h100) == 2
    assert sorted(run.batch for run, _ in small)[0] == 2


def test_the_opening_s_run_is_predicted_with_both_libraries() -> None:
    run = point(SGLANG_DECODE, book_assumptions())
    as_run = 1e3 * worked.MANY / run.predicted
    real = 1e3 * worked.MANY / run.measured
    later = worked.step_ms(worked.MANY, "halves")
    assert real < later < as_run
    assert round(100 * run.error) == -9
