"""The second blind trial of mixtures of experts: its runs, and its score."""

from __future__ import annotations

import csv
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from llmserve_lab.catalog.data.trial_models import INDEXED
from llmserve_lab.validation import MeasuredRow, achieved, errors
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.expert_form import DENSE
from llmserve_lab.validation.experts import GOAL, SCORED, predict, stored_runs
from llmserve_lab.validation.latent_form import LatentPredictor
from llmserve_lab.validation.latent_rows import (
    LATENT_SHAPES,
    TRIED,
    latent_rows,
    latent_runs,
)
from llmserve_lab.validation.rows import SHA256, vendored
from llmserve_lab.validation.second_trial import (
    COLUMNS,
    EACH,
    extra,
    main,
    mended,
    scores,
)

NTH = 6


def _lines() -> list[dict[str, str]]:
    return list(csv.DictReader(vendored("latent_rows.csv").splitlines()))


def _quick(row: MeasuredRow) -> bool:
    """Whether the engine need not count its decodes one by one."""
    passes = 0.8 * row.prompt_len < INDEXED < row.prompt_len + row.output_len
    return "GLM" not in row.model or not passes


@cache
def sample() -> tuple[np.ndarray, LatentPredictor]:
    """Places of every sixth run, and the runs counted by the engine."""
    places = [
        place
        for place in range(0, len(latent_runs()), NTH)
        if _quick(latent_runs()[place])
    ]
    chosen = [latent_runs()[place] for place in places]
    return np.array(places), LatentPredictor(chosen)


def test_the_runs_are_what_the_rule_takes() -> None:
    """Each setting once, of three models; and sums, so that no digit is mistyped."""
    lines = _lines()
    assert tuple(lines[0]) == COLUMNS
    settings = [tuple(line[name] for name in COLUMNS[:9]) for line in lines]
    assert len(set(settings)) == len(lines) == len(latent_runs()) == 217
    assert settings == sorted(settings)
    counts = Counter(row.model.rpartition("/")[2] for row in latent_runs())
    assert counts == {"DeepSeek-R1-0528": 118, "Kimi-K2.5": 56, "GLM-5": 43}
    assert {line["statistic"] for line in lines} == {"mean", "median", "unknown"}
    glm = [line["date"] for line in lines if "GLM" in line["model"]]
    assert max(glm) <= "2026-04-06"  # before any of them was run with drafts
    seen = {row.shape.key for row in stored_runs()}
    assert not seen & {shape.key for shape in LATENT_SHAPES.values()}
    for name, total in SUMS.items():
        found = sum(float(line[name]) for line in lines)
        assert found == pytest.approx(total, abs=1e-6), name


SUMS = {
    "tp": 1544, "ep": 609, "isl": 774144, "osl": 652288, "clients": 6336,
    "ttft_ms": 238568.5418, "tpot_ms": 4557.62368,
}  # fmt: skip


def test_the_recorded_score_is_that_of_the_recorded_errors() -> None:
    """Means and biases counted again, by the vendored table's own lines."""
    known = record()["second trial"]
    assert known["status"] == [TRIED.kind, TRIED.date]
    assert known["rows_sha256"] == SHA256["latent_rows.csv"]
    models = np.array([line["model"] for line in _lines()])
    for name, found in (("mended errors", "mended"), ("errors", "dense")):
        error = known[name] if found == "mended" else known[name]["tpot"]
        for model in (EACH, *LATENT_SHAPES):
            own = np.array(error)[(models == model) | (model == EACH)]
            score = known[found][model]["tpot"]
            assert score["n"] == len(own)
            assert score["mean"] == pytest.approx(np.abs(own).mean(), rel=1e-3)
            assert score["bias"] == pytest.approx(own.mean(), abs=1e-4)
            assert score["low"] < score["mean"] < score["high"]
    for by in ("engine", "system", "precision"):
        names = {getattr(row, by) for row in latent_runs()}
        parts = [known["mended"][name]["tpot"] for name in names]
        total = sum(part["n"] * part["mean"] for part in parts)
        everything = known["mended"][EACH]["tpot"]["mean"]
        assert total / 217 == pytest.approx(everything, rel=1e-3)


@pytest.mark.long
def test_the_score_of_that_day_comes_out_again() -> None:
    places, predictor = sample()
    known = record()["second trial"]
    now = errors(mended(predictor), predictor.measured, "tpot")
    assert now == pytest.approx(np.array(known["mended errors"])[places], abs=1e-4)
    dense = predict(predictor.rows)
    for kind in SCORED:
        plain = errors(dense, predictor.measured, kind)
        assert plain == pytest.approx(np.array(known["errors"][kind])[places], abs=1e-4)
    assert extra().products == record()["experts"]["constants"]["all"]["products"]
    assert set(scores(predictor, mended(predictor))) >= {EACH, *LATENT_SHAPES, "vllm"}


def test_times_dealt_out_anew_are_predicted_worse() -> None:
    """Not each, but all together: what was predicted is of this run and no other."""
    _, predictor = sample()
    made, truth = mended(predictor).tpot, predictor.measured.tpot
    rng, own = np.random.default_rng(0), np.abs(made / truth - 1).mean()
    dealt = [np.abs(made / rng.permutation(truth) - 1).mean() for _ in range(200)]
    assert min(dealt) > 1.5 * own


def test_the_goal_was_missed_and_the_form_is_nearer_than_without_constants() -> None:
    known = record()["second trial"]
    form, dense = (known[sort][EACH]["tpot"] for sort in ("mended", "dense"))
    assert GOAL < form["mean"] < dense["mean"]
    _, predictor = sample()
    facts = predictor.predict(achieved(), DENSE)
    assert (facts.tpot < mended(predictor).tpot).all()


def test_a_file_is_scored_as_a_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = vendored("latent_rows.csv").splitlines()
    path = tmp_path / "few.csv"
    few = [lines[0], *lines[1:40:13], lines[1].replace("sglang", "other")]
    path.write_text("\n".join(few))
    main(path)
    printed = capsys.readouterr().out
    assert "left out: 1, engine must be one of" in printed
    assert printed.count("all: 3 runs") == 2 and "goal: TPOT 16 %" in printed
    path.write_text("model,tp\n")
    with pytest.raises(ValueError, match="must have the columns system, engine"):
        main(path)
    assert not latent_rows([]).rows
