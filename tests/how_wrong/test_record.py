"""What the record holds is what the fit gives: sampled here, whole in `tests/deep`."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from llmserve_lab.how_wrong.record import (
    FOLDS,
    PLACES,
    SWITCHES,
    bias,
    chosen,
    median_error,
    record,
    row_errors,
    switched,
)
from llmserve_lab.how_wrong.script import CACHE, LENGTHS, LINES, WAITING, retold
from llmserve_lab.validation import (
    DATASHEET,
    Predictor,
    ServingConstants,
    achieved,
    dense_rows,
    errors,
    score,
)
from llmserve_lab.validation.__main__ import SAMPLE
from llmserve_lab.validation.constants import record as validated
from llmserve_lab.validation.prediction import KINDS
from llmserve_lab.validation.rows import SHA256
from llmserve_lab.validation.scores import left_out
from tests.validation.sample import sample


def test_the_record_is_of_these_rows() -> None:
    assert record()["rows_sha256"] == SHA256["dense_rows.csv"]
    for left in record()["errors"].values():
        assert all(len(left[kind]) == len(dense_rows()) for kind in KINDS)


@pytest.mark.long
@pytest.mark.parametrize("by", FOLDS)
def test_rows_are_predicted_by_the_constants_of_their_fold(by: str) -> None:
    """Constants as recorded, applied to the sample again, give the recorded errors."""
    label = sample().label(by)
    for name, values in record()["folds"][by].items():
        mine = label == name
        if not mine.any():
            continue
        own = sample().subset(mine)
        found = own.predict(ServingConstants(**values))
        for kind in KINDS:
            want = row_errors(kind, by)[::SAMPLE][mine]
            assert errors(found, own.measured, kind) == pytest.approx(want, abs=2e-3)


@pytest.mark.parametrize(
    ("left", "reached"), [("nothing", achieved()), ("datasheet", DATASHEET)]
)
def test_errors_without_a_fold(left: str, reached: ServingConstants) -> None:
    found = sample().predict(reached)
    for kind in KINDS:
        stored = np.array(row_errors(kind, left)[::SAMPLE])
        made = errors(found, sample().measured, kind)
        assert made == pytest.approx(stored, abs=PLACES)


@pytest.mark.parametrize("by", ["model", "engine"])
def test_the_scores_of_both_records_agree(by: str) -> None:
    for kind in KINDS:
        stored = validated()["scores"][by][kind]
        _, error = chosen(kind, by)
        assert len(error) == stored["n"]
        assert np.abs(error).mean() == pytest.approx(stored["mean"], abs=2e-4)
        assert median_error(kind, by) == pytest.approx(stored["median"], abs=3e-4)
        assert bias(kind, by) == pytest.approx(stored["bias"], abs=2e-4)


def test_a_fold_is_fitted_without_its_own_rows() -> None:
    """Rows that are spoilt change no prediction of themselves, only of the others."""
    mine = sample().label("model") == "qwen3-32b"
    rows = [
        replace(row, tpot_s=1.2 * row.tpot_s) if own else row
        for row, own in zip(sample().rows, mine, strict=True)
    ]
    spoilt = left_out(Predictor(rows, sample().exposures), "model").tpot
    before = left_out(sample(), "model").tpot
    assert spoilt[mine] == pytest.approx(before[mine], rel=1e-6)
    assert not np.allclose(spoilt[~mine], before[~mine], rtol=0.01)


def test_switches_run_from_the_datasheet_to_the_fit() -> None:
    assert switched(achieved(), (1,) * 5) == achieved()
    assert switched(achieved(), (0,) * 5) == DATASHEET
    names = {name for names in SWITCHES.values() for name in names}
    assert names == set(DATASHEET.__dataclass_fields__)


def test_switches_score_on_the_sample_as_on_all_rows() -> None:
    for on in product((0, 1), repeat=len(SWITCHES)):
        times = sample().predict(switched(achieved(), on))
        found = [score(sample(), times, kind).mean for kind in ("tpot", "ttft")]
        stored = record()["switches"]["".join(map(str, on))][:2]
        assert found == pytest.approx(stored, rel=0.35, abs=0.02), on


def test_the_ladder_is_a_path_through_the_switches() -> None:
    rungs = {name: (tpot, ttft) for name, tpot, ttft, *_ in validated()["ladder"]}
    for name, on in (
        ("datasheet", "00000"),
        ("shares of compute and memory", "10000"),
        ("share of the link", "11000"),
        ("launches of a prompt", "11100"),
        ("time per request", "11110"),
        ("client", "11111"),
    ):
        assert record()["switches"][on][:2] == pytest.approx(rungs[name], rel=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("line", LINES)
def test_a_line_forgotten_changes_what_it_is_about(line: str) -> None:
    own = sample().subset(sample().public)
    told = retold(own, line)
    assert [row.ttft_s for row in told.rows] == [row.ttft_s for row in own.rows]
    before, after = (each.predict(achieved()) for each in (own, told))
    mean = [score(own, each, "ttft").mean for each in (before, after)]
    assert not np.array_equal(before.ttft, after.ttft)
    if line in (LENGTHS, CACHE):
        assert mean[1] > mean[0]
    if line == WAITING:
        assert (after.ttft <= before.ttft * (1 + 1e-9)).all()


def test_refusals_name_the_rule() -> None:
    with pytest.raises(LookupError, match="line must be one of"):
        retold(sample(), "weather")
    with pytest.raises(LookupError, match="left_out must be one of model"):
        row_errors("tpot", "weather")
    with pytest.raises(LookupError, match="kind must be one of tpot"):
        row_errors("itl", "model")  # type: ignore[arg-type]
