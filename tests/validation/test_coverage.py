"""Bands cover what was left out of them, and are no wider than that asks for."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.validation import Predictor, coverage
from llmserve_lab.validation.bands import INSIDE, half_width, stretch
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.coverage import Trial
from llmserve_lab.validation.prediction import KINDS
from tests.validation.sample import sample


def drawn(seed: int, lean: float) -> Trial:
    """Rows of one law, their neighbours of the same, leaning to the other side."""
    rng = np.random.default_rng(seed)
    own, near = rng.normal(lean, 0.1, 400), rng.normal(-lean, 0.1, (400, 60))
    return Trial(np.expm1(own), np.expm1(near))


def test_errors_of_one_law_are_covered_as_the_band_says() -> None:
    alike = drawn(0, 0.0)
    assert coverage.share({"a": alike}, 1.0) == pytest.approx(INSIDE, abs=0.03)
    assert alike.plain().mean() == pytest.approx(0.88, abs=0.03)


def test_a_lean_to_the_other_side_breaks_the_plain_band_first() -> None:
    leaning = drawn(1, 0.08)
    assert leaning.plain().mean() < 0.6
    assert coverage.share({"a": leaning}, 1.0) > 0.8


def test_a_row_counted_by_hand() -> None:
    near = np.expm1(np.linspace(-0.3, 0.3, 61))
    width = half_width(near)  # nine tenths of sizes that grow evenly to 0.3
    assert width == pytest.approx(0.27, abs=0.005)
    trial = Trial(np.expm1(np.array([2 * width, -0.5 * width])), np.array([near, near]))
    assert trial.needed() == pytest.approx([2.0, 0.5])
    assert coverage.share({"a": trial}, 1.9) == 0.5


def tried(kind: str, by: str) -> float:
    """Share of the rows inside, as recorded, whatever name of a label is left out."""
    names = record()["coverage"]["tried"][by][kind].values()
    return float(
        sum(n * inside for n, _, _, inside in names) / sum(n for n, *_ in names)
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by", ["model", "system", "engine", "precision"])
def test_the_recorded_bands_cover_what_was_left_out(kind: str, by: str) -> None:
    if record()["coverage"]["tried"][by][kind]:
        assert tried(kind, by) >= INSIDE
    else:
        assert (by, kind) == ("model", "ttft")  # all public scripts are of one model


def test_a_tenth_less_would_not_cover() -> None:
    """The stretch is the smallest: found anew on the sample, it is of that size."""
    found = coverage.trials(sample())
    for kind in ("tpot", "e2e"):
        assert coverage.stretch_of(found, kind) == pytest.approx(stretch(kind), abs=0.7)
    with pytest.raises(ValueError, match="stretch must be at most"):
        far = {"a": Trial(np.array([9.0]), np.full((1, 60), 0.01))}
        coverage.stretch_of({by: {"tpot": far} for by in coverage.TRIED}, "tpot")


@pytest.mark.long
def test_a_power_is_chosen_while_the_name_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The trials that choose it are of rows without the name, one name at a time."""
    away = []

    def watched(predictor: Predictor) -> coverage.Trials:
        here = {by: set(predictor.label(by)) for by in coverage.STRETCHED_FOR}
        away.append([(by, n) for by, n in everything if n not in here[by]])
        trial = drawn(len(away), 0.02 * len(away))
        return {by: {kind: {"a": trial} for kind in KINDS} for by in coverage.TRIED}

    everything = [
        (by, str(name))
        for by in coverage.STRETCHED_FOR
        for name in np.unique(sample().label(by))
    ]
    outer = {
        by: {
            kind: {n: drawn(9, 0.08) for label, n in everything if label == by}
            for kind in KINDS
        }
        for by in coverage.TRIED
    }
    monkeypatch.setattr(coverage, "trials", watched)
    found = coverage.nested(sample(), outer)
    for place, (by, name) in enumerate(everything):
        assert (by, name) in away[place]
        chosen = {"a": drawn(place + 1, 0.02 * (place + 1))}
        power, held = found[by][name]["tpot"]
        assert coverage.share(chosen, power) >= INSIDE
        assert power == 1 or coverage.share(chosen, power - coverage.STEP) < INSIDE
        assert held == coverage.share({name: outer[by]["tpot"][name]}, power)
