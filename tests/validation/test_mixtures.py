"""Bands of served mixtures: made of four trials' runs, and what they hold."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from llmserve_lab import catalog
from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.validation import bands
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.experts import SCORED
from llmserve_lab.validation.fourth_rows import fourth_runs
from llmserve_lab.validation.fourth_trial import BESIDE
from llmserve_lab.validation.mixtures import LABELS, covered
from llmserve_lab.validation.served import seen_rows, served_errors
from llmserve_lab.validation.served_form import ServedPredictor
from llmserve_lab.validation.served_sources import PROVIDER
from llmserve_lab.validation.setting import Setting
from llmserve_lab.validation.third_rows import INFERENCEX
from tests.validation.served_sample import quick


def test_every_run_of_four_trials_is_tried_once_by_each_label() -> None:
    held = record()["mixtures"]["held"]
    assert {*held} == {*LABELS} == {"model", "system", "engine", "source"}
    for kinds in held.values():
        for names in kinds.values():
            assert sum(n for n, _ in names.values()) == len(seen_rows()) == 1324
    systems = Counter(row.system for row in seen_rows())
    found = held["system"]["tpot"]
    assert {name: n for name, (n, _) in found.items()} == systems
    assert held["source"]["tpot"][PROVIDER][0] == len(fourth_runs()) == 104


def test_a_stretch_is_the_smallest_tenth_with_which_all_labels_hold() -> None:
    """Nine in ten, whichever label is left out, but for the source of most runs."""
    for kind in SCORED:
        shares = []
        for kinds in record()["mixtures"]["held"].values():
            names = [kinds[kind][name] for name in kinds[kind] if name != INFERENCEX]
            held, runs = sum(n * share for n, share in names), sum(n for n, _ in names)
            shares.append(held / runs)
        assert 0.9 - 1e-4 <= min(shares) < 0.93
        most, held_of_most = record()["mixtures"]["held"]["source"][kind][INFERENCEX]
        assert most > 0.7 * len(seen_rows()) and held_of_most < 0.9
        assert bands.stretch(kind, dense=False) >= 1.0


def test_runs_lie_in_bands_that_their_own_errors_helped_to_make() -> None:
    """More of them than are held of what was left out."""
    for kind in SCORED:
        inside = []
        for row, error in [*zip(seen_rows(), served_errors(kind), strict=True)][::20]:
            own = bands.band(kind, Setting.of(row))
            assert isinstance(own, Band)
            inside.append(own.low <= error <= own.high)
        assert np.mean(inside) > bands.INSIDE


def test_gpus_of_the_fourth_trial_have_a_band_and_others_do_not() -> None:
    """And its regime names their own runs, where there are some like it."""
    rows = [row for row in fourth_runs() if row.system in BESIDE]
    regimes = []
    for row in rows:
        found = bands.band("tpot", Setting.of(row))
        assert isinstance(found, Band)
        regimes.append(row.system in found.regime)
    assert all(regimes) and len(rows) == 42
    like = {"prompt_len": 1000, "output_len": 1000, "tp": 1, "clients": 32}
    other = Setting.on("gpt-oss-120b", "a100-80-sxm", precision="bf16", **like)
    outside = bands.band("tpot", other)
    assert isinstance(outside, Unmeasured) and "A100" in outside.reason


def test_a_row_on_such_a_gpu_is_set_as_the_catalog_sets_it() -> None:
    row = next(row for row in fourth_runs() if row.system == "l40s")
    own = Setting.of_shape(
        row.shape,
        row.accelerator,
        tp=row.tp,
        clients=row.clients,
        prompt_len=row.prompt_len,
        output_len=row.output_len,
        precision=row.precision,
    )
    assert own == Setting.of(row)
    assert own.generation == catalog.accelerator("l40s").name


def test_a_band_is_as_wide_as_the_stretched_errors_near_it() -> None:
    """Counted again: the sixty nearest runs, nine tenths of them, and the stretch."""
    places = bands.Places.of(seen_rows())
    for row in seen_rows()[::300]:
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
    found = bands.band("tpot", Setting.of(seen_rows()[0]))
    assert isinstance(found, Band) and "blind" not in found.how
    assert "fitted without its model" in found.how and "in view" in found.how


@pytest.mark.long
def test_bands_tried_on_a_sample_hold_what_they_are_made_to_hold() -> None:
    """Trials of a few runs, by the same code that writes the record."""
    found = covered(ServedPredictor([seen_rows()[place] for place in quick()[::7]]))
    assert {*found["held"]} == {*LABELS}
    for kinds in found["held"].values():
        for names in kinds.values():
            asked = [each for name, each in names.items() if name != INFERENCEX]
            held = sum(n * share for n, share in asked)
            assert held >= 0.9 * sum(n for n, _ in asked) - 1e-9
    for kind, wide in found["stretch"].items():
        assert wide == pytest.approx(bands.stretch(kind, dense=False), abs=1.0)
