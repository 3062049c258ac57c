"""Guards that hold for every stored notebook, and the proof that each guard bites."""

import copy
import json
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from alternative_text import without_alternative
from notebook_guards import GUARDS, Cell, Guard, Notebook
from prose_numbers import typed_numbers
from run_notebooks import serialised

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = [*sorted((ROOT / "chapters").glob("*.ipynb")), ROOT / "intro.ipynb"]

SOUND: Notebook = {
    "cells": [
        {
            "cell_type": "markdown",
            "metadata": {},
            "source": "See [ridge](#eq-ridge), [15.2](#num-r) and §3.1 for the H100.",
        },
        {
            "cell_type": "code",
            "execution_count": 1,
            "metadata": {"mystnb": {"image": {"alt": "One bar."}}},
            "outputs": [
                {
                    "output_type": "execute_result",
                    "data": {"text/plain": "2", "image/png": "…"},
                },
                {
                    "output_type": "display_data",
                    "data": {"application/papermill.record/text/plain": "'15.2'"},
                    "metadata": {"scrapbook": {"name": "r"}},
                },
            ],
            "source": "import numpy as np\n\nnp.add(1, 1)",
        },
    ]
}


def faults(notebook: Notebook) -> dict[str, list[str]]:
    found = {guard.__name__: list(guard("a.ipynb", notebook)) for guard in GUARDS}
    return {name: messages for name, messages in found.items() if messages}


def write(text: str) -> Callable[[Cell], object]:
    return lambda cell: cell.update(source=text)


def store(**output: object) -> Callable[[Cell], object]:
    return lambda cell: cell["outputs"].append(output)


PLANTED: list[tuple[str, int, Callable[[Cell], object]]] = [
    ("run_in_order", 1, lambda cell: cell.update(execution_count=None)),
    ("run_in_order", 1, lambda cell: cell.update(execution_count=2)),
    ("prints_are_stored", 1, lambda cell: cell["outputs"].clear()),
    ("clean_outputs", 1, store(output_type="stream", name="stderr", text="careful")),
    ("clean_outputs", 1, store(output_type="error", ename="E", evalue="")),
    (
        "no_rounding_noise",
        1,
        store(output_type="stream", name="stdout", text="largest difference 5e-17"),
    ),
    ("nothing_skipped", 1, lambda cell: cell["metadata"].update(tags=["nbval-skip"])),
    ("nothing_skipped", 1, write("# NBVAL_SKIP\n1")),
    ("nothing_defined", 1, write("def f(): ...")),
    ("nothing_defined", 1, write("f = lambda x: x")),
    ("one_idea", 1, write("a = 1\n" * 31)),
    ("one_idea", 1, write("a = 1;")),
    ("allowed_imports", 1, write("import os")),
    ("allowed_imports", 1, write("from llmserve_lab.roofline import ridge")),
    ("allowed_imports", 1, write("from llmserve_lab.engine.replica import Replica")),
    ("allowed_imports", 1, write("import llmserve_lab.abacus")),
    ("figures_described", 1, lambda cell: cell["metadata"].clear()),
    (
        "figures_described",
        1,
        store(output_type="display_data", data={"text/html": "<img src='a.png'>"}),
    ),
    ("prose_prints_numbers", 0, write("The ridge is at 142 FLOP/byte.")),
    ("prose_prints_numbers", 0, write("It is [15.3](#num-r).")),
    ("prose_prints_numbers", 0, write("It is [15.2](#num-ridge).")),
    ("prose_prints_numbers", 0, write("It is {glue:text}`r`.")),
    ("glued_numbers_are_said", 0, write("It is not said.")),
    ("numbered_by_name", 0, write("See (1.7).")),
    ("numbered_by_name", 0, write("See chapter 5.")),
    ("numbered_by_name", 0, write("See equation 2.5.")),
    ("numbered_by_name", 0, write("See exercise 3.")),
    ("numbered_by_name", 1, write("ridge = 2  # Figure 2.1")),
    ("takeaways_are_sentences", 0, write("Hold on: `test_it_holds`.")),
    ("columns_are_named", 0, write("| | a |\n|---|---|\n| 1 | 2 |")),
    (
        "folds_are_rendered",
        0,
        write("<details>\n<summary>Why</summary>\n For [15.2](#num-r) see"),
    ),
    ("folds_are_rendered", 0, write("<details>\n<summary>`raw`</summary>\n\nText")),
    ("folds_are_rendered", 0, write("Text\n\n</details>\nand *more*")),
]


def test_there_are_chapters() -> None:
    assert CHAPTERS


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.__name__)
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_chapter(path: Path, guard: Guard) -> None:
    notebook = json.loads(path.read_text("utf8"))
    assert list(guard(path.name, notebook)) == []


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_chapter_lies_on_disk_as_make_run_leaves_it(path: Path) -> None:
    text = path.read_text("utf8")
    assert serialised(nbformat.v4.reads(text)) == text


def test_a_sound_notebook_has_no_fault() -> None:
    assert faults(SOUND) == {}


@pytest.mark.parametrize(("guard", "cell", "plant"), PLANTED)
def test_a_planted_fault_is_found_by_its_guard(
    guard: str, cell: int, plant: Callable[[Cell], object]
) -> None:
    notebook = copy.deepcopy(SOUND)
    plant(notebook["cells"][cell])
    assert guard in faults(notebook)


def test_every_guard_has_a_planted_fault() -> None:
    assert {name for name, *_ in PLANTED} == {guard.__name__ for guard in GUARDS}


@pytest.mark.parametrize(
    "text",
    ["15.2", "26,703 tokens", "$B = 256$", "82GB", "at 142.9 steps/s", "405B", "1.0"],
)
def test_a_result_in_prose_is_found(text: str) -> None:
    assert len(typed_numbers(f"It is {text} here.")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "two phases, 1 GPU, 100 %, 0.5",
        "H100, GB200 NVL72, Llama-2-7B, A100-80, FP8, BF16, Qwen2.5-72B",
        "the paper's equation 14, §3.12, §1–3, article 06, Table 12",
        "[142 FLOP/byte](#num-ridge) and {cite}`song2026afd`",
        "(Williams et al., 2009), September 2025, arXiv:2601.21351",
        "(eq-142)=\n",
        "12. the twelfth item",
        "[here](https://example.org/2025/142.html)",
    ],
)
def test_a_reference_in_prose_is_let_through(text: str) -> None:
    assert typed_numbers(text) == []


@pytest.mark.parametrize(
    ("html", "missing"),
    [
        ('<img src="a.png" alt="One bar.">', 0),
        ('<img src="a.png" alt=" ">', 1),
        ("<svg><path/></svg>", 1),
        ('<svg aria-label="One bar."><path/></svg>', 0),
        ('<div role="img" aria-label="One bar."><svg></svg></div><svg></svg>', 1),
        ('<div aria-hidden="true"><br><img src="a.png"></div>', 0),
        ("<div><canvas></canvas></div>", 1),
    ],
)
def test_pictures_without_alternative_are_counted(html: str, missing: int) -> None:
    assert len(without_alternative(html)) == missing
