"""A solution's cell comes to the answer of its question; a worked line to what is said.

Stored outputs follow the code: a solution that is worked with another length prints
well. Here every cell that computes inside a solution must print the answer that the
question of its exercise accepts; a worked line elsewhere is said in the prose beside
it, is the answer of the question before it, or is worked out here once more.
"""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from llmserve_lab import running_example
from tests.page.cells import PREFIXES
from tests.page.records import CHAPTERS, notebook_of

BEGINS_OR_ENDS = re.compile(r"```\{(exercise|solution)-(start|end)\}")
QUESTION = re.compile(r'class="question-data">(.*?)</script>', re.DOTALL)
SAID = re.compile(
    r"(?<![\w.,])([-−+]?\d[\d,]*(?:\.\d+)?)"
    r"(?:\s?(%)|\s([nµmkMGT])?(?:s|B|FLOP|byte)(?![\w-]))?"
)
IN_WORDS = re.compile(r"\[([^\[\]]*)\]\(#[\w-]+\)")  # a number that can be asked
SETTING = {name: float(x) for name, x in running_example.setting().items()}
READ = 2 * SETTING["params_read"]  # bytes of the weights in BF16, FLOPs of a row
OTHERS: dict[tuple[str, str], float] = {  # of worked lines that no sentence repeats
    ("attention_ffn", "counted_share"): (1 - 1 / 501) * (1 - 256 * 2 / (4000 * 0.8)),
    ("flash_attention", "shared_bytes"): (128 + 2 * 2 * 256) * 96 * 2,
    ("flash_attention", "work_blocks"): 4 * 33,
    ("roofline", "crossover_context"): READ / 32 / SETTING["kv_bytes_per_token"],
    ("roofline", "ridge_context"): (
        READ
        / (SETTING["peak_flops"] / SETTING["hbm_bw"])
        / SETTING["kv_bytes_per_token"]
    ),
}
# Solutions that take one more step than their cell prints: what it prints, together.
STEPS = {"disaggregation.sizing": lambda read, write, *_: -(-read // 1) - (-write // 1)}
UNITS = {"GFLOP": 1e9, "µs": 1e-6, "ms": 1e-3}


class Cell(NamedTuple):
    """What a cell says in numbers, and the questions that it stands behind."""

    at: str
    printed: str
    worked: str
    questions: list[dict[str, Any]]
    solves: bool
    around: str


def outputs(cell: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Printed text, HTML and plain text of each output of a cell."""
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        if not any(kind.startswith("application/papermill") for kind in data):
            html, plain = (
                "".join(data.get(kind, "")) for kind in ("text/html", "text/plain")
            )
            yield "".join(output.get("text", "")), html, plain


def asked(cell: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Questions of a cell that take a number."""
    for _, html, _ in outputs(cell):
        for found in QUESTION.finditer(html):
            question = json.loads(found[1])
            if question["kind"] == "check":
                name = re.search(r'data-name="([\w.-]+)"', html)
                yield question | {"name": name[1] if name else ""}


def nearest(cells: list[dict[str, Any]], at: int) -> str:
    """Prose before and behind a cell, with formulas between passed over."""
    found = []
    for way in (range(at - 1, max(at - 3, -1), -1), range(at + 1, at + 2)):
        near = (i for i in way if cells[i]["cell_type"] == "markdown")
        found += ["".join(cells[i]["source"]) for i in near][:1]
    return IN_WORDS.sub(r"\1", "\n".join(found))


def read(path: Path) -> Iterator[Cell]:
    """Every cell of a chapter that prints text or shows a worked line."""
    cells, inside = notebook_of(path)["cells"], ""
    questions: list[dict[str, Any]] = []
    for at, cell in enumerate(cells):
        if cell["cell_type"] == "markdown":
            for kind, end in BEGINS_OR_ENDS.findall("".join(cell["source"])):
                inside = kind if end == "start" else ""
                if (kind, end) == ("exercise", "start"):
                    questions = []
            continue
        here = [*asked(cell)]
        if here and not inside:
            questions = []
        questions = [*questions, *here]
        printed = "".join(text for text, _, _ in outputs(cell))
        worked = "\n".join(
            p for _, h, p in outputs(cell) if '<div class="worked">' in h
        )
        if printed or worked:
            name = f"{path.stem} {cell['id']}"
            near = nearest(cells, at)
            yield Cell(name, printed, worked, questions, inside == "solution", near)


def numbers(text: str) -> Iterator[tuple[float, float]]:
    """Numbers of a text in units without a prefix, and half of the last digit."""
    for digits, percent, prefix in SAID.findall(text):
        plain = digits.replace(",", "").replace("−", "-")
        behind = len(plain.partition(".")[2])
        scale = 0.01 if percent else PREFIXES.get(prefix, 1.0)
        yield float(plain) * scale, 0.5001 * 10.0**-behind * scale


def has(text: str, want: float, *, whole: bool = False) -> bool:
    """Whether a text has a number, rounded, or as the next whole one."""
    ends = {want, *((math.floor(want), math.ceil(want)) if whole and want > 1 else ())}
    return any(
        abs(value - end) <= off + 1e-12 * abs(end)
        for value, off in numbers(text)
        for end in ends
    )


def right(question: dict[str, Any]) -> float:
    """The answer of a question in a unit without a prefix."""
    return float(question["answer"]) * UNITS.get(question["unit"], 1.0)


def solves(cell: Cell) -> bool:
    """Whether what a cell shows is the answer of a question that it stands behind."""
    text = f"{cell.printed}\n{cell.worked.partition('=')[2]}"
    for question in cell.questions:
        step = STEPS.get(question["name"])
        if step and step(*(value for value, _ in numbers(text))) == right(question):
            return True
        if has(text, right(question)):
            return True
    return False


def said(cell: Cell) -> bool:
    """Whether a worked result stands in the prose beside it."""
    results = [*numbers(cell.worked.partition("=")[2])]
    return any(has(cell.around, value, whole=True) for value, _ in results)


def told(cell: Cell) -> bool:
    """Whether a worked result is another that is computed here."""
    name, _, result = cell.worked.partition(" = ")
    want = OTHERS.get((cell.at.partition(" ")[0], name))
    return want is not None and has(result, want)


CELLS = {cell.at: cell for path in CHAPTERS for cell in read(path)}
SOLVING = [at for at, cell in CELLS.items() if cell.solves and cell.questions]
WORKED = [at for at, cell in CELLS.items() if cell.worked]


@pytest.mark.parametrize("at", SOLVING)
def test_a_solution_comes_to_the_answer(at: str) -> None:
    cell = CELLS[at]
    wants = [right(question) for question in cell.questions]
    assert solves(cell) or told(cell), (cell.printed, cell.worked, wants)


@pytest.mark.parametrize("at", WORKED)
def test_a_worked_line_is_what_is_said_beside_it(at: str) -> None:
    cell = CELLS[at]
    assert solves(cell) or said(cell) or told(cell), (cell.worked, cell.around)


def test_no_exception_is_idle() -> None:
    names = {
        (at.partition(" ")[0], cell.worked.partition(" = ")[0])
        for at, cell in CELLS.items()
        if cell.worked and told(cell)
    }
    assert names == {*OTHERS}
    assert len(SOLVING) > 35, SOLVING
    assert len(WORKED) > 15, WORKED


def test_a_result_is_read_with_its_unit() -> None:
    assert has("5.01 ms", 0.005013)
    assert not has("5.01 s", 0.005013)
    assert has("139.0 + 21.0 = 160 GFLOP", 159.98e9)
    assert has("That is 57 iterations.", 56.3, whole=True)
    assert not has("That is 57 iterations. It took 66.", 0.214, whole=True)
    assert has("So 57% of the bytes", 0.571)
