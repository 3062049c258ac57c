"""Bands of mixtures, counted on a source that made none of them."""

from __future__ import annotations

import csv
from collections import Counter
from statistics import mean

import numpy as np
import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.validation.bands import INSIDE, band
from llmserve_lab.validation.blind import TRIALS, blind_rows
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.fourth_rows import UNSEEN_SHAPES, fourth_runs
from llmserve_lab.validation.fourth_trial import BESIDE
from llmserve_lab.validation.held_elsewhere import HeldElsewhere, held
from llmserve_lab.validation.prediction import Kind
from llmserve_lab.validation.rows import GENERATIONS, vendored
from llmserve_lab.validation.setting import Setting


def test_the_runs_are_those_on_gpus_that_the_bands_know() -> None:
    """By the vendored table's own lines; no band is made with a line of it."""
    lines = list(csv.DictReader(vendored("fourth_rows.csv").splitlines()))
    known = [line for line in lines if line["system"] in ("h100_sxm", "h200_sxm")]
    known += [line for line in lines if line["system"] == "b200_sxm"]
    runs = held("tpot").rows
    assert len(runs) == len(known) == 62
    assert Counter(row.model for row in runs) == Counter(x["model"] for x in known)
    times = sorted(float(line["tpot_ms"]) / 1e3 for line in known)
    assert sorted(row.tpot_s for row in runs) == pytest.approx(times)
    assert not {*runs} & {*blind_rows()} and "fourth trial" not in TRIALS


@pytest.mark.parametrize("kind", ["tpot", "e2e"])
def test_what_is_inside_is_counted_again_by_times(kind: Kind) -> None:
    """The measured time lies between the predicted one over either end's factor."""
    found = held(kind)
    n = 0
    for row, error in zip(found.rows, found.errors, strict=True):
        own = band(kind, Setting.of(row))
        assert isinstance(own, Band)
        answer = row.ttft_s + (row.output_len - 1) * row.tpot_s
        measured = row.tpot_s if kind == "tpot" else answer
        predicted = measured * (1 + error)
        n += predicted / (1 + own.high) <= measured <= predicted / (1 + own.low)
    assert found.share == n / len(found.rows)
    assert found.mean_error == pytest.approx(mean(map(abs, found.errors)))


@pytest.mark.parametrize("kind", ["tpot", "e2e"])
def test_they_hold_less_than_they_promise_there_and_nearly_that_at_home(
    kind: Kind,
) -> None:
    """At home: the errors that the bands are made of, each inside its own band."""
    found = held(kind)
    assert 0.75 < found.share < INSIDE - 0.05
    rows, errors = blind_rows()[::20], record()["served mixtures"]["errors"][kind][::20]
    inside = []
    for row, error in zip(rows, errors, strict=True):
        own = band(kind, Setting.of(row))
        assert isinstance(own, Band)
        inside.append(own.low <= error <= own.high)
    assert np.mean(inside) > INSIDE
    outside = found.errors[~found.inside]
    assert (outside < 0).mean() > 0.9  # a token came later than any band allows


def test_a_gpu_that_no_fit_has_met_has_no_band_and_says_why() -> None:
    others = [row for row in fourth_runs() if row.system in BESIDE]
    assert len(others) + len(held("tpot").rows) == len(fourth_runs())
    for row in others:
        assert row.system not in GENERATIONS
        own = Setting.of(row)
        assert own.generation == catalog.accelerator(row.system).name
        found = band("tpot", own)
        assert isinstance(found, Unmeasured)
        assert f"{own.generation}: measured were Blackwell and Hopper" in found.reason


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


def test_what_the_text_says_of_the_misses() -> None:
    """A lone client's token is always too short; long prompts are missed more."""
    found = held("tpot")
    lone = [
        row.tpot_s * -error
        for row, error in zip(found.rows, found.errors, strict=True)
        if row.clients == 1
    ]
    assert min(lone) > 1e-3 and found.lone_s == np.median(lone)
    errors = dict[str, dict[bool, list[float]]]()
    for row, error in zip(found.rows, found.errors, strict=True):
        attention = row.shape.attention
        if not isinstance(attention, GroupedQueryAttention):
            continue
        if attention.n_heads == 12 * attention.n_kv_heads:
            lengths = errors.setdefault(row.model, {False: [], True: []})
            lengths[row.prompt_len >= 8000].append(error)
    assert len(errors) == 3
    for lengths in errors.values():
        assert mean(lengths[True]) < mean(lengths[False]) < 0
    assert len({*UNSEEN_SHAPES} & {*errors}) == 2


def test_a_share_and_a_mean_of_errors_written_down() -> None:
    rows = fourth_runs()[:4]
    error = np.array([0.1, -0.3, 0.2, -0.4])
    few = HeldElsewhere(rows, error, np.array([True, False, True, True]))
    assert few.share == 0.75 and few.mean_error == pytest.approx(0.25)
