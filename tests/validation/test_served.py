"""What the book says of served mixtures: constants, left-out errors, bands."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from llmserve_lab.formula.band import Band
from llmserve_lab.validation import bands
from llmserve_lab.validation.blind import blind_errors, blind_rows
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.experts import SCORED
from llmserve_lab.validation.extra_fit import model_weights
from llmserve_lab.validation.kernel_fit import EACH, KERNELS
from llmserve_lab.validation.kernel_form import KernelPredictor
from llmserve_lab.validation.mixtures import covered
from llmserve_lab.validation.prediction import errors
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.served import (
    PART,
    SERVED,
    STATUS,
    served_constants,
    served_errors,
    shape_names,
    without_its_model,
)
from llmserve_lab.validation.setting import Setting

KIMI = "moonshotai/Kimi-K2.5"


@cache
def sample() -> KernelPredictor:
    """Every fortieth run but GLM-5's, whose attention takes long to count."""
    quick = [row for row in blind_rows() if "GLM-5" not in row.model]
    return KernelPredictor(quick[::40])


def test_two_names_of_one_shape_are_left_out_together() -> None:
    names = dict(
        zip((row.model for row in blind_rows()), _names(blind_rows()), strict=True)
    )
    changed = {name: known for name, known in names.items() if name != known}
    assert changed == {"moonshotai/Kimi-K2.6": KIMI}


def _names(rows: tuple[MeasuredRow, ...]) -> list[str]:
    """Of all runs, without counting them."""
    one = {row.model: row for row in rows}
    few = KernelPredictor([row for row in one.values() if "GLM-5" not in row.model])
    named = dict(zip((row.model for row in few.rows), shape_names(few), strict=True))
    return [str(named.get(row.model, row.model)) for row in rows]


def test_a_left_out_model_moves_nothing_of_its_own_prediction() -> None:
    """Its times may be any: constants of the others come out the same."""
    predictor = sample()
    label = shape_names(predictor)
    name = label[0]
    slow = [
        replace(row, tpot_s=3 * row.tpot_s) if own == name else row
        for row, own in zip(predictor.rows, label, strict=True)
    ]
    other = KernelPredictor(slow, predictor.exposures)
    made, again = (without_its_model(each).tpot for each in (predictor, other))
    own = label == name
    assert again[own] == pytest.approx(made[own], rel=1e-6)
    assert not np.allclose(again[~own], made[~own], rtol=1e-6)


def test_what_was_priced_once_is_what_a_subset_would_price() -> None:
    predictor = sample()
    chosen = np.arange(len(predictor.rows)) % 3 == 0
    KERNELS.made(predictor, served_constants())
    kept = KERNELS.made(predictor.subset(chosen), served_constants())
    fresh = KernelPredictor(
        [row for row, it in zip(predictor.rows, chosen, strict=True) if it]
    )
    assert kept.tpot == pytest.approx(KERNELS.made(fresh, served_constants()).tpot)


def test_the_constants_are_where_the_loss_is_least() -> None:
    predictor = sample()
    fitted = SERVED.fit(predictor)
    least = SERVED.loss(predictor, fitted)
    for name in ("kernel_s", "products"):
        for factor in (0.95, 1.05):
            moved = replace(fitted, **{name: factor * getattr(fitted, name)})
            assert SERVED.loss(predictor, moved) > least
    assert fitted.kernel_s == pytest.approx(served_constants().kernel_s, rel=0.2)
    assert len({*np.round(model_weights(predictor), 9)}) > 5  # beside 1 for all


def test_the_recorded_errors_are_those_of_the_recorded_constants() -> None:
    """On the sample's rows, each by the set that its model was left out of."""
    known, predictor = record()[PART], sample()
    places = [
        place for place, row in enumerate(blind_rows()) if "GLM-5" not in row.model
    ][::40]
    label = shape_names(predictor)
    sets = {
        name: type(served_constants())(**known["constants"][name]) for name in {*label}
    }
    times = SERVED.left_out(predictor, label, sets)
    for kind in SCORED:
        now = errors(times, predictor.measured, kind)
        found = np.array(served_errors(kind))[places]
        assert now == pytest.approx(found, abs=2e-4)
    assert known["status"] == STATUS and len(served_errors("tpot")) == 1220


def test_the_scores_are_counted_again_from_the_errors() -> None:
    known, label = record()[PART]["model left out"], np.array(_names(blind_rows()))
    for kind in SCORED:
        error = np.array(served_errors(kind))
        for name in (EACH, *{*label}):
            own = error[(label == name) | (name == EACH)]
            assert known[name][kind]["n"] == len(own)
            assert known[name][kind]["mean"] == pytest.approx(
                np.abs(own).mean(), rel=1e-3
            )
            assert known[name][kind]["bias"] == pytest.approx(own.mean(), abs=1e-4)


def test_left_out_errors_are_smaller_than_those_of_dense_constants() -> None:
    """Of all runs by a third, of every model, and nearly without a direction."""
    label = np.array(_names(blind_rows()))
    for kind in SCORED:
        ours, dense = np.array(served_errors(kind)), np.array(blind_errors(kind))
        assert np.abs(ours).mean() < np.abs(dense).mean() / 1.4
        assert abs(ours.mean()) < 0.05 < -dense.mean()
        for name in {*label}:
            own = label == name
            assert np.abs(ours[own]).mean() < np.abs(dense[own]).mean()


def test_a_band_is_as_wide_as_the_stretched_errors_near_it() -> None:
    """Counted again: the sixty nearest runs, nine tenths of them, and the stretch."""
    places = bands.Places.of(blind_rows())
    for row in blind_rows()[::300]:
        here = Setting.of(row)
        near = bands.nearest(places, here)
        for kind in SCORED:
            off = np.abs(np.log1p(np.array(served_errors(kind))[near]))
            wide = float(np.percentile(off, 90)) * bands.stretch(kind, dense=False)
            found = bands.band(kind, here)
            assert isinstance(found, Band)
            assert found.high == pytest.approx(np.expm1(wide))
            assert found.low == pytest.approx(np.expm1(-wide))


def test_how_a_band_came_about_is_said_and_not_called_blind() -> None:
    found = bands.band("tpot", Setting.of(blind_rows()[0]))
    assert isinstance(found, Band) and "blind" not in found.how
    assert "fitted without its model" in found.how and "in view" in found.how


@pytest.mark.long
def test_bands_tried_on_a_sample_hold_what_they_are_made_to_hold() -> None:
    """Trials of a few runs, by the same code that writes the record."""
    quick = [row for row in blind_rows() if "GLM-5" not in row.model]
    found = covered(KernelPredictor(quick[::7]))
    assert {*found["held"]} == {"model", "system", "engine"}
    for kinds in found["held"].values():
        for names in kinds.values():
            held = sum(n * share for n, share in names.values())
            assert held >= 0.9 * sum(n for n, _ in names.values()) - 1e-9
    for kind, wide in found["stretch"].items():
        assert wide == pytest.approx(bands.stretch(kind, dense=False), abs=1.0)
