"""The blind test of mixtures of experts, as the page tells it."""

from __future__ import annotations

import csv

import numpy as np

from llmserve_lab.how_wrong.page import expert_tables, other_tables, pictures
from llmserve_lab.how_wrong.wording import per_cent
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.experts import GOAL, SHAPES
from llmserve_lab.validation.latent_rows import LATENT_SHAPES
from llmserve_lab.validation.rows import vendored

SORTS = ("mended", "dense")


def test_the_blind_column_is_counted_again_from_the_errors() -> None:
    """By the vendored table's own lines, and not by the rows made of it."""
    lines = list(csv.DictReader(vendored("expert_rows.csv").splitlines()))
    names = np.array([line["model"] for line in lines])
    error = np.array(record()["experts"]["errors"]["tpot"])
    *models, everything = expert_tables.experts().rows[: len(SHAPES) + 1]
    for name, row in zip(SHAPES, models, strict=True):
        own = error[names == name]
        assert row[:2] == (SHAPES[name].name, str(len(own)))
        assert str(row[2]).startswith(per_cent(float(np.abs(own).mean())))
    assert everything[1] == str(len(lines))
    assert str(everything[2]).startswith(per_cent(float(np.abs(error).mean())))


def test_the_second_trial_is_counted_again_from_the_errors() -> None:
    """Both predictors by the vendored lines; none of the models is in the first."""
    lines = list(csv.DictReader(vendored("latent_rows.csv").splitlines()))
    names = np.array([line["model"] for line in lines])
    known = record()["second trial"]
    both = [np.array(known[at]) for at in ("mended errors",)]
    both.append(np.array(known["errors"]["tpot"]))
    first = expert_tables.experts().rows[: len(SHAPES)]
    *models, everything = expert_tables.experts().rows[len(SHAPES) + 1 :]
    assert not {row[0] for row in first} & {row[0] for row in models}
    for name, row in zip((*LATENT_SHAPES, "all"), (*models, everything), strict=True):
        own = (names == name) | (name == "all")
        assert row[1] == str(own.sum())
        for error, place in zip(both, (4, 2), strict=True):
            assert str(row[place]).startswith(per_cent(np.abs(error[own]).mean()))


def test_what_the_text_says_of_the_mended_predictor() -> None:
    """The goal is missed twice; all three gain; engines lean apart; GLM-5 is short."""
    blind, mended = (
        {name: expert_tables.score(sort, "tpot", name)["mean"] for name in SHAPES}
        for sort in ("blind", "model left out")
    )
    assert expert_tables.score("blind", "tpot")["mean"] > GOAL
    second = expert_tables.tried("mended", "tpot")
    assert second["mean"] > expert_tables.score("model left out", "tpot")["mean"]
    assert GOAL < second["mean"] < expert_tables.tried("dense", "tpot")["mean"]
    assert all(mended[name] < blind[name] for name in SHAPES)
    hopper, blackwell = (
        expert_tables.bias_of("openai/gpt-oss-120b", gpu, "trtllm", "fp4")
        for gpu in ("h200-sxm", "b200-sxm")
    )
    assert hopper < -0.1 and blackwell > 0.3
    for name in LATENT_SHAPES:
        gained = [expert_tables.tried(s, "tpot", name)["mean"] for s in SORTS]
        assert gained[0] < gained[1]
    assert expert_tables.extra("sample").products > 1.5 * expert_tables.extra().products
    biases = {
        name: expert_tables.tried("mended", "tpot", name)["bias"]
        for name in LATENT_SHAPES
    }
    assert all(bias < -0.1 for bias in biases.values())
    assert min(biases, key=biases.__getitem__) == "zai-org/GLM-5"
    short = np.array(record()["second trial"]["mended errors"]) < 0
    assert 0.7 < short.mean() < 1


def test_no_part_of_the_page_says_that_mixtures_were_not_tested() -> None:
    shown = repr(other_tables.elsewhere()), pictures.trust().sentence
    error = per_cent(expert_tables.score("blind", "tpot")["mean"])
    for said in shown:
        assert error in said
    assert "Never tested: another vendor" in shown[1]
    rows = {(row[0], row[1]): row for row in other_tables.elsewhere().rows}
    assert ("the same, mended", "cross-validated") in rows
    assert ("three others, mended", "blind") in rows
