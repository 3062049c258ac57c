"""The third blind trial of mixtures of experts: its runs, its score, and the bands."""

from __future__ import annotations

import csv
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from llmserve_lab.formula.band import Band
from llmserve_lab.validation import MeasuredRow, achieved, errors
from llmserve_lab.validation.bands import band
from llmserve_lab.validation.blind import TRIALS, blind_errors, blind_rows
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.experts import GOAL, SCORED, predict, stored_runs
from llmserve_lab.validation.fourth_rows import fourth_runs
from llmserve_lab.validation.kernel_fit import fit_kernels, residuals, trial_of
from llmserve_lab.validation.kernel_form import KernelPredictor
from llmserve_lab.validation.latent_rows import latent_runs
from llmserve_lab.validation.rows import SHA256, vendored
from llmserve_lab.validation.second_trial import EACH
from llmserve_lab.validation.setting import Setting
from llmserve_lab.validation.third_rows import LAST_TRIED, NEW_SHAPES, third_runs
from llmserve_lab.validation.third_trial import (
    COLUMNS,
    KNOWN,
    NEW,
    extra,
    main,
    mended,
    scores,
)

NTH = 7


def _lines() -> list[dict[str, str]]:
    return list(csv.DictReader(vendored("third_rows.csv").splitlines()))


@cache
def sample() -> tuple[np.ndarray, KernelPredictor]:
    """Places of every seventh run, and the runs counted by the engine."""
    places = np.arange(0, len(third_runs()), NTH)
    return places, KernelPredictor([third_runs()[place] for place in places])


def _setting(row: MeasuredRow) -> tuple[object, ...]:
    lengths = row.prompt_len, row.output_len, row.clients
    return row.model, row.system, row.engine, row.precision, row.tp, *lengths


def test_the_runs_are_what_the_rule_takes() -> None:
    """Each setting once, none of an earlier trial; and sums against mistyped digits."""
    lines = _lines()
    assert tuple(lines[0]) == COLUMNS
    settings = [tuple(line[name] for name in COLUMNS[:10]) for line in lines]
    assert len(set(settings)) == len(lines) == len(third_runs()) == 240
    assert settings == sorted(settings)
    new = Counter(row.model for row in third_runs())
    assert [new[name] for name in NEW_SHAPES] == [60, 9, 9, 9]
    seen = (*stored_runs(), *latent_runs())
    assert not {row.shape.key for row in seen} & {
        shape.key for shape in NEW_SHAPES.values()
    }
    assert not {*map(_setting, seen)} & {*map(_setting, third_runs())}
    for name, total in SUMS.items():
        found = sum(float(line[name]) for line in lines)
        assert found == pytest.approx(total, abs=1e-6), name


SUMS = {
    "tp": 1242, "ep": 482, "isl": 985592, "osl": 491840, "clients": 12381,
    "ttft_ms": 130179.9945, "tpot_ms": 6630.51562,
}  # fmt: skip


def test_the_recorded_score_is_that_of_the_recorded_errors() -> None:
    """Means and biases counted again, by the vendored table's own lines."""
    known, lines = record()["third trial"], _lines()
    assert known["status"] == [LAST_TRIED.kind, LAST_TRIED.date]
    assert known["rows_sha256"] == SHA256["third_rows.csv"]
    labels = [
        {
            EACH,
            line["model"],
            NEW if line["model"] in NEW_SHAPES else KNOWN,
            {"cookbook": "cookbook", "inferencex": "InferenceX"}[line["source"]],
        }
        for line in lines
    ]
    for name, found in (("mended errors", "mended"), ("errors", "dense")):
        error = known[name] if found == "mended" else known[name]["tpot"]
        for label in set[str]().union(*labels):
            own = np.array(error)[[label in each for each in labels]]
            score = known[found][label]["tpot"]
            assert score["n"] == len(own)
            assert score["mean"] == pytest.approx(np.abs(own).mean(), rel=1e-3)
            assert score["bias"] == pytest.approx(own.mean(), abs=1e-4)


@pytest.mark.long
def test_the_score_of_that_day_comes_out_again() -> None:
    places, predictor = sample()
    known = record()["third trial"]
    now = errors(mended(predictor), predictor.measured, "tpot")
    assert now == pytest.approx(np.array(known["mended errors"])[places], abs=1e-4)
    dense = predict(predictor.rows)
    for kind in SCORED:
        plain = errors(dense, predictor.measured, kind)
        assert plain == pytest.approx(np.array(known["errors"][kind])[places], abs=1e-4)
    assert set(scores(predictor, mended(predictor))) >= {EACH, NEW, KNOWN, "vllm"}


def test_times_dealt_out_anew_are_predicted_worse() -> None:
    """Not each, but all together: what was predicted is of this run and no other."""
    _, predictor = sample()
    made, truth = mended(predictor).tpot, predictor.measured.tpot
    rng, own = np.random.default_rng(0), np.abs(made / truth - 1).mean()
    dealt = [np.abs(made / rng.permutation(truth) - 1).mean() for _ in range(200)]
    assert min(dealt) > 1.5 * own


def test_the_goal_was_missed_and_the_form_is_nearer_than_dense_constants() -> None:
    known = record()["third trial"]
    for name in (NEW, KNOWN, EACH):
        form, dense = (known[sort][name]["tpot"] for sort in ("mended", "dense"))
        assert GOAL < form["mean"] < dense["mean"]


@pytest.mark.long
def test_the_two_constants_are_where_the_loss_is_least() -> None:
    """On a few runs of each model: a step either way from the fit costs more."""
    seen = [*stored_runs()[::40], *latent_runs()[:40:8], *latent_runs()[120::9]]
    quick = [row for row in seen if "GLM" not in row.model]
    predictor = KernelPredictor(quick)
    fitted = fit_kernels(predictor)
    least = (residuals(predictor, fitted) ** 2).sum()
    for name in ("kernel_s", "products"):
        for factor in (0.95, 1.05):
            moved = {**vars(fitted), name: factor * getattr(fitted, name)}
            other = residuals(predictor, type(fitted)(**moved))
            assert (other**2).sum() > least
    assert {*trial_of(predictor)} == {"first", "second"}
    assert extra().kernel_s == pytest.approx(fitted.kernel_s, rel=0.2)
    assert extra().kernel_s < achieved().layer_s / 10


def test_bands_of_mixtures_rest_on_all_trials() -> None:
    held = record()["mixtures"]["held"]["model"]["tpot"]
    assert sum(n for n, _ in held.values()) == len(blind_rows()) + len(fourth_runs())
    assert sum(len(record()[name]["errors"]["tpot"]) for name in TRIALS) == 1220
    assert len(blind_errors("tpot")) == len(blind_rows()) == 763 + 217 + 240
    row = next(row for row in third_runs() if "Qwen3.5" in row.model and row.tp == 8)
    near = band("tpot", Setting.of(row))
    assert isinstance(near, Band) and "Qwen3.5" in near.regime


def test_a_file_is_scored_as_a_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = vendored("third_rows.csv").splitlines()
    path = tmp_path / "few.csv"
    other = lines[1].replace("sglang", "other")
    path.write_text("\n".join([lines[0], *lines[1:40:13], other]))
    main(path)
    printed = capsys.readouterr().out
    assert "left out: 1, engine must be one of" in printed
    assert printed.count("all: 3 runs") == 2 and "goal: TPOT 16 %" in printed
