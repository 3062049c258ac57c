"""What the twin's error leaves undecided, and the budget of a step, counted again."""

import numpy as np
import pytest

from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import decisions
from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.evaluation.bands import DecodeSetting, band, nearest
from llmserve_lab.deepseek.evaluation.group_size import served
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.page import budget, evidence, group
from llmserve_lab.formula.band import Band
from tests.deepseek.twins import twin

SHORT = {"context": 4000.0, "tpot_s": 0.02}


def test_twenty_milliseconds_are_missed_by_less_than_the_twin_errs() -> None:
    high = decisions.across().high
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
        decisions.rate_at(ep, 4000.0, 0.05, at)
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
        if name in ("around attention", "around experts"):
            assert float(numbers[2]) == pytest.approx(
                1e3 * float(numbers[0]) / rate, abs=0.01
            )


def test_most_decodes_across_nodes_were_faster() -> None:
    quick, many = evidence.faster()
    errors = [run.error for run in evidence.runs() if run.kind == evidence.ACROSS]
    assert len(errors) == many == 6 and quick == 4
    band = decisions.across()
    assert band.n == 5 and band.high == pytest.approx(1 / (1 + min(errors)) - 1)


def test_twice_the_speed_costs_rate_however_wrong_the_steps_are() -> None:
    """With the error that both rates share at either end of the opening's band."""
    half = group.twice_s()
    at = DecodeSetting(accelerator="h100-sxm", ep=72, batch=256, context=2000.0)
    step = band("decode_step", at)
    assert isinstance(step, Band)
    kept = [decisions.kept_at(half, error) for error in (step.low, 0.0, step.high)]
    assert kept == sorted(kept) and kept[-1] < 0.8
    fast = served("h100-sxm", 72, context=2000.0, tpot_s=half)
    assert fast is not None
    made = group.fixed_batch(72)[0] * 256
    assert kept[1] == pytest.approx(fast.tokens_per_s / made)


def test_no_run_behind_the_range_of_sixteen_gpus_was_across_nodes() -> None:
    batch = float(group.best_of("h100-sxm", 16, 50).batch)
    at = DecodeSetting(accelerator="h100-sxm", ep=16, batch=batch, context=4000.0)
    assert {setup(run.accelerator, run.ep).n_nodes for run, _ in nearest(at)} == {1.0}
