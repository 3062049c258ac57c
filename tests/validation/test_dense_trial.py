"""The blind trial of dense models: its runs and its score."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from llmserve_lab.catalog import ModelShape, accelerator
from llmserve_lab.catalog.data import dense_models
from llmserve_lab.validation import dense_trial
from llmserve_lab.validation.constants import DATASHEET, achieved
from llmserve_lab.validation.dense_trial import (
    ALL,
    COLUMNS,
    GOAL,
    SHAPES,
    TRIED,
    WITH_BAND,
    WITHOUT,
    DenseTrialRow,
    bands_of,
    error_of,
    held_of,
    main,
    one_factor,
    trial_record,
    trial_rows,
    trial_runs,
    write,
)
from llmserve_lab.validation.prediction import Predictor
from llmserve_lab.validation.protocol import protocol_of
from llmserve_lab.validation.rows import DATA, SHA256, vendored
from llmserve_lab.validation.unit_work import bytes_per_weight, weight_bytes

# Sums of the columns against mistyped digits; the times are those of the sources.
SUMS = {"tp": 920, "isl": 1_112_596, "osl": 403_968, "clients": 9450}
EVERY = 40  # a sample of the runs


def _lines() -> list[dict[str, str]]:
    return list(csv.DictReader(vendored(dense_trial.ROWS).splitlines()))


def test_the_runs_are_what_the_rule_takes() -> None:
    """Each setting once, in order; every model that has a record is in them."""
    lines = _lines()
    assert tuple(lines[0]) == COLUMNS
    settings = [tuple(line[name] for name in COLUMNS[:-1]) for line in lines]
    assert len(set(settings)) == len(lines) == len(trial_runs())
    assert settings == sorted(settings)
    assert {row.model for row in trial_runs()} == {*SHAPES}
    for name, total in SUMS.items():
        assert sum(int(line[name]) for line in lines) == total, name


@pytest.mark.parametrize(
    "shape",
    [each for each in vars(dense_models).values() if isinstance(each, ModelShape)],
    ids=lambda shape: shape.name,
)
def test_parameters_are_those_of_the_card(shape: ModelShape) -> None:
    assert shape.params_total == pytest.approx(
        shape.published["params_total"].value, rel=0.02
    )


def _row(**changed: object) -> DenseTrialRow:
    parts: dict[str, object] = {
        "model": "Qwen/Qwen2.5-1.5B", "system": "a100-80-sxm", "engine": "vllm",
        "precision": "fp8", "tp": 1, "prompt_len": 1, "output_len": 2048, "clients": 1,
        "ttft_s": 1.0, "tpot_s": 1.0, "public": True, "slots": 256,
    } | changed  # fmt: skip
    return DenseTrialRow(**parts)  # type: ignore[arg-type]


def test_a_head_that_is_the_embedding_is_read_once_in_sixteen_bits() -> None:
    """All weights of a tied model are read; of another all but the embedding."""
    for name, tables in (("Qwen/Qwen2.5-1.5B", 1), ("Qwen/Qwen2.5-7B", 2)):
        row = _row(model=name)
        shape = row.shape
        table = shape.vocab * shape.d_model
        inner = shape.params_total - tables * table
        read = inner * bytes_per_weight("fp8") + 2 * table
        assert shape.tied == (tables == 1) and weight_bytes(row) == read


def test_prompts_go_first_and_the_cache_must_hold_all() -> None:
    """32 requests of 4,096 tokens with a head of keys for each of queries: too much."""
    for engine in ("vllm", "sglang"):
        policy = protocol_of(_row(engine=engine)).policy
        assert not policy.mixed  # type: ignore[attr-defined]
    large = {
        "model": "meta-llama/Llama-2-7b",
        "system": "h100-sxm",
        "precision": "bf16",
    }
    lengths = {"prompt_len": 2048, "output_len": 2048}
    assert _row(**large, **lengths, clients=16).fits
    full = _row(**large, **lengths, clients=32)
    blocks = protocol_of(full).kv_blocks(full)
    room = 0.9 * float(accelerator("h100-sxm").usable_bytes) - 2 * 6.7e9
    assert not full.fits and 16 * blocks * 524_288 < room < 32 * 4096 * 524_288
    lines = [
        {**_lines()[-1], "clients": "16384", "requests": "16384"},
        {**_lines()[-1], "engine": "other"},
    ]
    reasons = dict(trial_rows(lines).left_out)
    assert reasons.pop("the cache cannot hold all requests") == 1
    assert len(reasons) == 1 and "engine must be one of" in next(iter(reasons))


def test_the_recorded_score_is_that_of_the_recorded_errors() -> None:
    """Means and biases counted again, by the vendored table's own lines."""
    known, lines = trial_record(), _lines()
    assert known["status"] == [TRIED.kind, TRIED.date]
    assert known["rows_sha256"] == SHA256[dense_trial.ROWS]
    has_band = np.array([each is not None for each in known["held"]])
    label = {name: np.array([line[name] for line in lines]) for name in COLUMNS}
    groups = {
        ALL: np.full(len(lines), True), WITH_BAND: has_band, WITHOUT: ~has_band,
        "qwen3": label["source"] == "qwen3", "fp8": label["precision"] == "fp8",
        "clients 64": label["clients"] == "64",
    }  # fmt: skip
    for machine, scores in known["scores"].items():
        error = np.array(known["errors"][machine])
        for name, own in groups.items():
            assert scores[name]["n"] == own.sum()
            assert scores[name]["mean"] == pytest.approx(
                np.abs(error[own]).mean(), rel=1e-3
            )
            assert scores[name]["bias"] == pytest.approx(error[own].mean(), abs=1e-4)


def _comes_out_again(rows: tuple[DenseTrialRow, ...], nth: int) -> None:
    predictor, known = Predictor(rows), trial_record()
    ends = bands_of(rows)
    for name, reached in (("book", achieved()), ("datasheet", DATASHEET)):
        error = error_of(predictor, reached)
        assert error == pytest.approx(np.array(known["errors"][name][::nth]), abs=1e-4)
        if name == "book":
            assert held_of(error, ends) == known["held"][::nth]
    sheet = np.array(known["errors"]["datasheet"])
    one = (1 + sheet) * known["factor"] - 1
    assert one == pytest.approx(np.array(known["errors"]["one factor"]), abs=1e-3)


def test_the_score_of_that_day_comes_out_again_on_a_sample() -> None:
    rows = [row for row in trial_runs()[::EVERY] if isinstance(row, DenseTrialRow)]
    _comes_out_again(tuple(rows), EVERY)


@pytest.mark.long
def test_the_score_of_that_day_comes_out_again() -> None:
    rows = [row for row in trial_runs() if isinstance(row, DenseTrialRow)]
    _comes_out_again(tuple(rows), 1)
    assert one_factor() == pytest.approx(trial_record()["factor"], rel=1e-3)


def test_the_goal_was_missed_and_the_bands_did_not_hold() -> None:
    known = trial_record()
    assert known["scores"]["book"][WITH_BAND]["low"] > GOAL
    inside = [each for each in known["held"] if each is not None]
    assert np.mean(inside) < 0.2 and len(inside) > 100


@pytest.mark.long
def test_a_file_is_scored_as_a_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *lines = vendored(dense_trial.ROWS).splitlines()
    path = tmp_path / "few.csv"
    few = lines[::100]
    path.write_text("\n".join([first, *few, few[0].replace("vllm", "other", 1)]))
    main(path)
    printed = capsys.readouterr().out
    assert "left out: 1, engine must be one of" in printed
    assert f"all: {len(few)} runs" in printed and "goal: 16 %" in printed


@pytest.mark.long
def test_the_record_is_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "record.json"
    monkeypatch.setattr(dense_trial, "RECORD", path)
    write()
    stored = (DATA / "dense_trial_record.json").read_text("utf8")
    assert path.read_text("utf8") == stored
