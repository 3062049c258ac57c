"""The fifth blind trial of mixtures of experts: its runs and its score."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from llmserve_lab.validation import fifth_trial
from llmserve_lab.validation.blind import blind_rows
from llmserve_lab.validation.experts import GOAL, SCORED, predict
from llmserve_lab.validation.fifth_trial import (
    COLUMNS,
    FIFTH_TRIED,
    KNOWN,
    NEW_SHAPES,
    UNSEEN,
    fifth_record,
    fifth_runs,
    main,
    scores,
    tried,
    write,
)
from llmserve_lab.validation.fourth_rows import fourth_runs
from llmserve_lab.validation.prediction import errors
from llmserve_lab.validation.rows import DATA, SHA256, vendored
from llmserve_lab.validation.second_trial import EACH
from llmserve_lab.validation.served_form import ServedConstants, ServedPredictor

QWEN2 = "Qwen/Qwen2-57B-A14B"
# Sums of the columns against mistyped digits; the times are those of the sources.
SUMS = {"tp": 20, "isl": 2389, "osl": 12_624, "clients": 62, "requests": 274}


def _lines() -> list[dict[str, str]]:
    return list(csv.DictReader(vendored("fifth_rows.csv").splitlines()))


def test_the_runs_are_what_the_rule_takes() -> None:
    """Each setting once; of the new models no run in an earlier trial, nor a shape."""
    lines = _lines()
    assert tuple(lines[0]) == COLUMNS
    settings = [tuple(line[name] for name in COLUMNS[:13]) for line in lines]
    assert len(set(settings)) == len(lines) == len(fifth_runs())
    assert settings == sorted(settings)
    assert {row.model for row in fifth_runs()} >= {*NEW_SHAPES}
    earlier = {row.shape.key for row in (*blind_rows(), *fourth_runs())}
    assert not earlier & {shape.key for shape in NEW_SHAPES.values()}
    for name, total in SUMS.items():
        assert sum(float(line[name]) for line in lines) == total, name


def test_a_speed_is_the_inverse_of_the_time_that_is_stored() -> None:
    """Tokens/s as two pages print them: of the answer, or with the prompt's token."""
    stored = {
        (line["model"].split("/")[1], line["precision"]): float(line["tpot_ms"])
        for line in _lines()
        if line["statistic"] == "speed"
    }
    assert len(stored) == 5
    for (name, precision), tpot_ms in stored.items():
        tokens = 2048 if name in QWEN2 else 2049
        speed = tokens / (2.048 * tpot_ms)
        assert speed == pytest.approx(round(speed, 2), abs=2e-3), (name, precision)
    assert 1e3 / stored["Qwen2-57B-A14B", "bf16"] == pytest.approx(31.44, abs=0.005)


def test_the_recorded_score_is_that_of_the_recorded_errors() -> None:
    """Means and biases counted again, by the vendored table's own lines."""
    known = fifth_record()["fifth trial"]
    assert known["status"] == [FIFTH_TRIED.kind, FIFTH_TRIED.date]
    assert known["rows_sha256"] == SHA256["fifth_rows.csv"]
    new = [UNSEEN if line["model"] in NEW_SHAPES else KNOWN for line in _lines()]
    for error, found in (
        (known["mended errors"], known["mended"]),
        (known["errors"]["tpot"], known["dense"]),
    ):
        for label in (EACH, UNSEEN, KNOWN):
            own = np.array(error)[[label in (EACH, each) for each in new]]
            assert found[label]["tpot"]["n"] == len(own)
            assert found[label]["tpot"]["mean"] == pytest.approx(
                np.abs(own).mean(), rel=1e-3
            )
            assert found[label]["tpot"]["bias"] == pytest.approx(own.mean(), abs=1e-4)


def test_the_score_of_that_day_comes_out_again() -> None:
    predictor, known = ServedPredictor(fifth_runs()), fifth_record()["fifth trial"]
    times = tried(predictor)
    now = errors(times, predictor.measured, "tpot")
    assert now == pytest.approx(np.array(known["mended errors"]), abs=1e-4)
    for kind in SCORED:
        plain = errors(predict(predictor.rows), predictor.measured, kind)
        assert plain == pytest.approx(np.array(known["errors"][kind]), abs=1e-4)
    assert set(scores(predictor, times)) >= {EACH, UNSEEN, KNOWN, "vllm", "sglang"}


def test_the_goal_was_missed_by_one_run() -> None:
    """Of an old vLLM; on known models the form is nearer than dense constants."""
    known = fifth_record()["fifth trial"]
    new, old = (known["mended"][name]["tpot"] for name in (UNSEEN, KNOWN))
    assert new["low"] < GOAL < new["mean"] < new["high"]
    assert old["mean"] < known["dense"][KNOWN]["tpot"]["mean"]
    off = {
        row.model: error
        for row, error in zip(fifth_runs(), known["mended errors"], strict=True)
    }
    assert off.pop(QWEN2) < -0.7
    assert max(abs(off[name]) for name in off if name in NEW_SHAPES) < GOAL


def test_a_file_is_scored_as_a_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be predicted is counted by reason: an engine, drawn lengths."""
    first, *lines = vendored("fifth_rows.csv").splitlines()
    path = tmp_path / "few.csv"
    other = [lines[0].replace("vllm", "other"), lines[0].replace("equal", "uniform")]
    path.write_text("\n".join([first, *lines, *other]))
    main(path)
    printed = capsys.readouterr().out
    assert "left out: 1, engine must be one of" in printed
    assert "left out: 1, lengths drawn" in printed
    assert printed.count("all: 9 runs") == 2 and "goal: TPOT 16 %" in printed


def test_the_record_is_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "record.json"
    monkeypatch.setattr(fifth_trial, "RECORD", path)
    write(ServedConstants(**fifth_record()["constants"]))
    assert path.read_text("utf8") == (DATA / "fifth_record.json").read_text("utf8")
