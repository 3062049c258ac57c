"""The fourth blind trial of mixtures of experts: its runs and its score."""

from __future__ import annotations

import csv
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from llmserve_lab.catalog.data.trial_models import (
    GLM_45_AIR,
    QWEN_CODER_30B,
    QWEN_CODER_480B,
)
from llmserve_lab.validation import fourth_trial, launch_fit
from llmserve_lab.validation.blind import blind_rows
from llmserve_lab.validation.experts import GOAL, SCORED, predict
from llmserve_lab.validation.fourth_rows import (
    FOURTH_TRIED,
    UNSEEN_SHAPES,
    LoopRow,
    fourth_runs,
)
from llmserve_lab.validation.fourth_trial import (
    BESIDE,
    COLUMNS,
    FITTED_GPU,
    KNOWN,
    OTHER_GPU,
    UNSEEN,
    fourth_record,
    main,
    mended,
    scores,
)
from llmserve_lab.validation.launch_form import LaunchPredictor
from llmserve_lab.validation.prediction import errors
from llmserve_lab.validation.rows import SHA256, vendored
from llmserve_lab.validation.second_trial import EACH

NTH = 5


def _lines() -> list[dict[str, str]]:
    return list(csv.DictReader(vendored("fourth_rows.csv").splitlines()))


@cache
def sample() -> tuple[np.ndarray, LaunchPredictor]:
    """Places of every fifth run, and the runs counted by the engine."""
    places = np.arange(0, len(fourth_runs()), NTH)
    return places, LaunchPredictor([fourth_runs()[place] for place in places])


def test_the_runs_are_what_the_rule_takes() -> None:
    """Each setting once, no model of an earlier trial; sums against mistyped digits."""
    lines = _lines()
    assert tuple(lines[0]) == COLUMNS
    settings = [tuple(line[name] for name in COLUMNS[:12]) for line in lines]
    assert len(set(settings)) == len(lines) == len(fourth_runs()) == 104
    assert settings == sorted(settings)
    new = Counter(row.model for row in fourth_runs())
    assert [new[name] for name in UNSEEN_SHAPES] == [19, 12, 2]
    earlier = {row.shape.key for row in blind_rows()}
    assert not earlier & {shape.key for shape in UNSEEN_SHAPES.values()}
    assert {row.model for row in fourth_runs()} - {*UNSEEN_SHAPES} <= {
        row.model for row in blind_rows()
    }
    for row in fourth_runs():
        assert isinstance(row, LoopRow) and row.requests >= row.clients
        assert row.tp == 1 or row.accelerator.scale_up.startswith("nvlink")
    for name, total in SUMS.items():
        found = sum(float(line[name]) for line in lines)
        assert found == pytest.approx(total, abs=1e-6), name


SUMS = {
    "tp": 333, "ep": 177, "isl": 527100, "osl": 528900, "clients": 8332,
    "requests": 22984, "slots": 22464, "ttft_ms": 1953458.62, "tpot_ms": 4018.55,
}  # fmt: skip


@pytest.mark.parametrize("shape", [GLM_45_AIR, QWEN_CODER_480B, QWEN_CODER_30B])
def test_parameters_add_up_to_what_the_card_prints(shape: object) -> None:
    assert hasattr(shape, "published")
    for name, tolerance in (("params_total", 0.01), ("params_active", 0.1)):
        published = float(shape.published[name])
        assert getattr(shape, name) == pytest.approx(published, rel=tolerance)


def test_the_recorded_score_is_that_of_the_recorded_errors() -> None:
    """Means and biases counted again, by the vendored table's own lines."""
    known, lines = fourth_record()["fourth trial"], _lines()
    assert known["status"] == [FOURTH_TRIED.kind, FOURTH_TRIED.date]
    assert known["rows_sha256"] == SHA256["fourth_rows.csv"]
    labels = []
    for line in lines:
        novel = UNSEEN if line["model"] in UNSEEN_SHAPES else KNOWN
        beside = line["system"].replace("_", "-") in BESIDE
        place = OTHER_GPU if beside else FITTED_GPU
        labels.append({EACH, line["model"], novel, f"{novel}, {place}", line["engine"]})
    for name, found in (("mended errors", "mended"), ("errors", "dense")):
        error = known[name] if found == "mended" else known[name]["tpot"]
        for label in set[str]().union(*labels):
            own = np.array(error)[[label in each for each in labels]]
            score = known[found][label]["tpot"]
            assert score["n"] == len(own)
            assert score["mean"] == pytest.approx(np.abs(own).mean(), rel=1e-3)
            assert score["bias"] == pytest.approx(own.mean(), abs=1e-4)


def test_the_score_of_that_day_comes_out_again() -> None:
    places, predictor = sample()
    known = fourth_record()["fourth trial"]
    now = errors(mended(predictor), predictor.measured, "tpot")
    assert now == pytest.approx(np.array(known["mended errors"])[places], abs=1e-4)
    for kind in SCORED:
        plain = errors(predict(predictor.rows), predictor.measured, kind)
        assert plain == pytest.approx(np.array(known["errors"][kind])[places], abs=1e-4)
    assert set(scores(predictor, mended(predictor))) >= {EACH, UNSEEN, KNOWN, "vllm"}


def test_times_dealt_out_anew_are_predicted_worse() -> None:
    _, predictor = sample()
    made, truth = mended(predictor).tpot, predictor.measured.tpot
    rng, own = np.random.default_rng(0), np.abs(made / truth - 1).mean()
    dealt = [np.abs(made / rng.permutation(truth) - 1).mean() for _ in range(200)]
    assert min(dealt) > 1.5 * own


def test_the_goal_was_missed_and_the_form_is_nearer_than_dense_constants() -> None:
    """On new models, and on the GPUs of the fit; on others dense constants are."""
    known = fourth_record()["fourth trial"]
    for name in (UNSEEN, KNOWN, EACH, *UNSEEN_SHAPES):
        form, dense = (known[sort][name]["tpot"] for sort in ("mended", "dense"))
        assert form["mean"] < dense["mean"]
    score = known["mended"][UNSEEN]["tpot"]
    assert GOAL < score["low"] < score["mean"] < score["high"]
    assert score["bias"] < -GOAL


def test_a_file_is_scored_as_a_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = vendored("fourth_rows.csv").splitlines()
    path = tmp_path / "few.csv"
    other = lines[1].replace("vllm", "other")
    path.write_text("\n".join([lines[0], *lines[1:40:13], other]))
    main(path)
    printed = capsys.readouterr().out
    assert "left out: 1, engine must be one of" in printed
    assert printed.count("all: 3 runs") == 2 and "goal: TPOT 16 %" in printed


def test_the_record_is_written_first_with_the_fit_and_then_with_the_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches = fourth_record()["launches"]
    monkeypatch.setattr(fourth_trial, "RECORD", tmp_path / "record.json")
    monkeypatch.setattr(launch_fit, "recorded", lambda: launches)
    few = fourth_runs()[::26]
    monkeypatch.setattr(fourth_trial, "fourth_runs", lambda: few)
    fourth_record.cache_clear()
    try:
        fourth_trial.write()
        fourth_record.cache_clear()
        again = fourth_record()
    finally:
        fourth_record.cache_clear()
    assert again["launches"] == launches
    assert again["fourth trial"]["mended"][EACH]["tpot"]["n"] == len(few)
