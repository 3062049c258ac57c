"""The blind test of mixtures of experts, as the page tells it."""

from __future__ import annotations

import csv

import numpy as np

from llmserve_lab.how_wrong.page import expert_tables, other_tables, pictures
from llmserve_lab.how_wrong.wording import per_cent
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.experts import GOAL, SHAPES
from llmserve_lab.validation.rows import vendored


def test_the_blind_column_is_counted_again_from_the_errors() -> None:
    """By the vendored table's own lines, and not by the rows made of it."""
    lines = list(csv.DictReader(vendored("expert_rows.csv").splitlines()))
    names = np.array([line["model"] for line in lines])
    error = np.array(record()["experts"]["errors"]["tpot"])
    *models, everything = expert_tables.experts().rows
    for name, row in zip(SHAPES, models, strict=True):
        own = error[names == name]
        assert row[:2] == (SHAPES[name].name, str(len(own)))
        assert str(row[2]).startswith(per_cent(float(np.abs(own).mean())))
    assert everything[1] == str(len(lines))
    assert str(everything[2]).startswith(per_cent(float(np.abs(error).mean())))


def test_what_the_text_says_of_the_mended_predictor() -> None:
    """The goal is missed; two models gain, gpt-oss loses; engines lean apart."""
    blind, mended = (
        {name: expert_tables.score(sort, "tpot", name)["mean"] for name in SHAPES}
        for sort in ("blind", "model left out")
    )
    assert expert_tables.score("model left out", "tpot")["mean"] > GOAL
    worse = [name for name in SHAPES if mended[name] > blind[name]]
    assert worse == ["openai/gpt-oss-120b"]
    hopper, blackwell = (
        expert_tables.bias_of(worse[0], gpu, "trtllm", "fp4")
        for gpu in ("h200-sxm", "b200-sxm")
    )
    assert hopper < -0.1 and blackwell > 0.4
    vllm = ("h200-sxm", "vllm", "fp8")
    assert expert_tables.bias_of("Qwen/Qwen3-235B-A22B", *vllm) < -0.3
    assert expert_tables.extra("sample").products > 1.5 * expert_tables.extra().products


def test_no_part_of_the_page_says_that_mixtures_were_not_tested() -> None:
    shown = repr(other_tables.elsewhere()), pictures.trust().sentence
    error = per_cent(expert_tables.score("blind", "tpot")["mean"])
    for said in shown:
        assert error in said
    assert "Never tested: another vendor" in shown[1]
    rows = {(row[0], row[1]): row for row in other_tables.elsewhere().rows}
    assert ("the same, mended", "cross-validated") in rows
    assert not any("mended" in str(name) for name, kind in rows if kind == "blind")
