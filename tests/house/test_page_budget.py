"""A chapter explains before it states: the budget of words, equations, paragraphs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from page_budget import Budget, count, measured, outside, paragraphs

ROOT = Path(__file__).resolve().parents[2]
# chapters that were taught anew
TAUGHT = (
    "attention_ffn",
    "capacity",
    "continuous_batching",
    "deepseek_twin",
    "disaggregation",
    "end_to_end",
    "flash_attention",
    "how_wrong",
    "mixture_of_experts",
    "parallelism",
    "quantization",
    "roofline",
    "speculative_decoding",
    "symptoms",
    "tensor_parallel",
    "kv_memory",
    "varlen_batching",
)
FORMULA = {"data": {"text/html": ['<div class="formula" id="eq-intensity">…</div>']}}
WORKED = {"data": {"text/html": ['<div class="worked">…</div>']}}
LIVE = {"data": {"text/html": ['<figure class="live" id="eq-no">…</figure>']}}


def markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": text}


def code(*outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": "1", "outputs": list(outputs)}


@pytest.mark.parametrize("stem", TAUGHT)
def test_a_taught_chapter_keeps_its_budget(stem: str) -> None:
    path = ROOT / "chapters" / f"{stem}.ipynb"
    budget = measured(json.loads(path.read_text("utf8")))
    assert list(budget.faults()) == []
    assert budget.words > 2000 and budget.equations > 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("One, two (three) – four.", 4),
        ("It takes [4.05 s](#num-freeze), see [the page](x.ipynb).", 7),
        ("The chunk $c + B_{\\mathrm{dec}}$ rows {cite:p}`a-b`", 4),
        ("first–second `--max-num-seqs` 75% 2.3×", 4),
    ],
)
def test_words_are_counted_as_a_reader_would(text: str, words: int) -> None:
    assert count(text) == words


def test_paragraphs_are_neither_headings_nor_tables_nor_directives() -> None:
    text = (
        "# Title\n\nOne two\nthree.\n\n- four\n- five\n  six\n\n| a | b |\n\n"
        "```{admonition} Box\n:class: outcomes\nseven\n```\n<div>\n1. eight"
    )
    assert paragraphs(text) == [
        "One two three.", "- four", "- five   six", "seven", "1. eight",
    ]  # fmt: skip


def test_folds_and_exercises_do_not_count() -> None:
    text, depth = outside("a\n<details>\nb", 0)
    assert (text, depth) == ("a", 1)
    assert outside("c\n</details>\nd", depth) == ("d", 0)
    held = [
        markdown("Words that count."),
        code(FORMULA, WORKED, LIVE),
        markdown("```{exercise-start} x\n```\nnot these"),
        code(FORMULA),
        markdown("```{exercise-end}\n```\n\n<details>\n\nnor these"),
        code(FORMULA),
        markdown("</details>\n\nbut these do"),
    ]
    budget = measured({"cells": held})
    assert (budget.words, budget.equations) == (6, 1)


def test_what_exceeds_the_budget_is_told() -> None:
    words = " ".join(["word"] * 100)
    budget = Budget([words], equations=11, top=1400.0, height=20_001.0)
    assert len(list(budget.faults())) == 5
    assert list(Budget([" ".join(["word"] * 90)] * 2, equations=1).faults()) == []
