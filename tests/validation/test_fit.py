"""The fit finds what was planted, from anywhere, and the record is what it finds."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from llmserve_lab.validation import Predictor, ServingConstants, achieved, stored
from llmserve_lab.validation.constants import DATASHEET, record
from llmserve_lab.validation.fit import (
    FREE,
    START,
    WITH_EXPONENT,
    damped,
    fit,
    loss,
)
from llmserve_lab.validation.rows import SHA256
from llmserve_lab.validation.terms import RUNGS, ladder, rungs, without
from tests.validation.sample import sample


def planted(machine: ServingConstants) -> Predictor:
    """The sample, measured on a machine that the model describes exactly."""
    times = sample().predict(machine)
    rows = [
        replace(row, ttft_s=float(ttft), tpot_s=float(tpot))
        for row, ttft, tpot in zip(sample().rows, times.ttft, times.tpot, strict=True)
    ]
    return Predictor(rows, sample().exposures)


@pytest.mark.parametrize("free", [FREE, WITH_EXPONENT])
def test_planted_constants_are_found(free: tuple[str, ...]) -> None:
    machine = ServingConstants(
        memory=0.8,
        compute=0.55,
        exponent=0.7 if "exponent" in free else START.exponent,
        layer_s=9e-5,
        link=0.35,
        request_s=5e-5,
        client_s=0.05,
    )
    found = fit(planted(machine), free=free)
    for name in free:
        assert getattr(found, name) == pytest.approx(getattr(machine, name), rel=1e-3)


def test_the_record_holds_what_the_fit_finds_on_the_sample() -> None:
    found = fit(sample())
    for name in FREE:
        assert getattr(found, name) == pytest.approx(
            getattr(stored("sample"), name), rel=2e-3
        )
    assert record()["rows_sha256"] == SHA256["dense_rows.csv"]


def test_no_other_start_finds_anything_better() -> None:
    rng, best = np.random.default_rng(0), loss(sample(), stored("sample"))
    for _ in range(20):
        spread = {name: float(rng.lognormal(0, 0.7)) for name in FREE}
        start = replace(
            START, **{name: getattr(START, name) * spread[name] for name in FREE}
        )
        assert loss(sample(), fit(sample(), start=start)) > best * (1 - 1e-4)


@pytest.mark.parametrize("name", FREE)
def test_the_loss_is_flat_at_the_optimum(name: str) -> None:
    best, at = fit(sample()), loss(sample(), fit(sample()))
    for times in (0.97, 1.03):
        moved = replace(best, **{name: getattr(best, name) * times})
        assert loss(sample(), moved) >= at * (1 - 1e-9)
        assert loss(sample(), moved) < 1.2 * at


def test_damping_is_square_near_zero_and_linear_far_off() -> None:
    near, far = np.array([1e-3]), np.array([10.0, 20.0])
    assert damped(near, 0.05) == pytest.approx(near, rel=1e-3)
    squares = damped(far, 0.05) ** 2
    assert squares[1] / squares[0] == pytest.approx(2, rel=0.01)
    np.testing.assert_array_equal(damped(-far, 0.05), -damped(far, 0.05))


def test_the_ladder_leads_from_the_datasheet_to_the_fitted_set() -> None:
    steps = list(rungs(achieved()))
    assert steps[0][1] == DATASHEET and steps[-1][1] == achieved()
    scored = ladder(sample(), achieved())
    tpot = [each.mean for _, each, _ in scored]
    assert tpot[0] > 3 * tpot[-1]
    assert all(after <= before + 1e-9 for before, after in pairwise(tpot))


def test_each_rung_can_be_taken_out() -> None:
    for rung in RUNGS:
        assert (without(achieved(), rung) == achieved()) == (rung == "datasheet")
    with pytest.raises(LookupError, match="rung must be one of"):
        without(achieved(), "magic")


def test_fewer_times_than_constants_cannot_be_fitted() -> None:
    two = Predictor(sample().rows[:2], sample().exposures[:2])
    with pytest.raises(ValueError, match=r"half as many rows .* 6, or more, got 2"):
        fit(two)


def test_constants_refuse_by_name() -> None:
    with pytest.raises(ValueError, match="memory must be positive, got 0"):
        replace(START, memory=0.0)
    with pytest.raises(ValueError, match="layer_s must be finite"):
        replace(START, layer_s=float("nan"))
    with pytest.raises(ValueError, match="overlap must be in"):
        replace(START, overlap=2.0)
    with pytest.raises(LookupError, match="name must be one of all, sample"):
        stored("nonsense")


def test_each_constant_says_whether_it_was_fitted() -> None:
    assert "fitted" in achieved().cited("memory").source
    assert "set, not fitted" in achieved().cited("exponent").source
    assert achieved().cited("layer_s").unit == "s"
