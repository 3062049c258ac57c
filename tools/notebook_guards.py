"""What must hold for every stored notebook: each rule lists the faults it finds.

Strict nbval proves that stored outputs are what the code prints today. It passes a cell
that was never run, and it does not read the prose: these rules close both gaps.
"""

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

from alternative_text import without_alternative
from named_links import NUMBER, glued, typed_references, wrong_numbers
from prose_numbers import typed_numbers
from run_notebooks import SETUP_ID

Notebook = dict[str, Any]
Cell = dict[str, Any]
Guard = Callable[[str, Notebook], Iterator[str]]

MAX_LINES = 30
LESSON = "lesson"  # a cell in which writing a function is what is learned
SKIPS = {"nbval-skip", "nbval-ignore-output", "raises-exception", "skip-execution"}
SKIP_COMMENTS = ("NBVAL_SKIP", "NBVAL_IGNORE_OUTPUT", "NBVAL_RAISES_EXCEPTION")
SHARED = {
    "llmserve_lab.catalog",
    "llmserve_lab.claims",
    "llmserve_lab.formula",
    "llmserve_lab.notation",
    "llmserve_lab.page",
    "sympy",
    "numpy",
}
# The library as a reader would use it: what a package offers, nothing below.
TOP = {
    "llmserve_lab",
    "llmserve_lab.collectives",
    "llmserve_lab.engine",
    "llmserve_lab.paged_cache",
    "llmserve_lab.running_example",
    "llmserve_lab.transformer",
    "llmserve_lab.validation",
    "llmserve_lab.workloads",
}
# Pages that are not named for their package.
PACKAGES = {
    "attention_ffn": "afd",
    "deepseek_twin": "deepseek",
    "intro": "front",
    "mixture_of_experts": "moe",
    "sources": "claims",
    "speculative_decoding": "speculative",
    "varlen_batching": "varlen",
}


def source(cell: Cell) -> str:
    """A cell's text, however the file splits it."""
    text = cell["source"]
    return text if isinstance(text, str) else "".join(text)


def numbered(notebook: Notebook, kind: str) -> Iterator[tuple[int, Cell]]:
    """Cells of one kind with their place in the notebook, from 1."""
    for number, cell in enumerate(notebook["cells"], start=1):
        if cell["cell_type"] == kind:
            yield number, cell


def run_in_order(name: str, notebook: Notebook) -> Iterator[str]:
    """Every code cell was executed, and the counts are 1 to n from top to bottom."""
    for want, (number, cell) in enumerate(numbered(notebook, "code"), start=1):
        got = cell.get("execution_count")
        if got != want:
            yield f"cell {number}: execution count must be {want}, got {got}"


def prints_are_stored(name: str, notebook: Notebook) -> Iterator[str]:
    """A cell that ends in an expression has an output."""
    for number, cell in numbered(notebook, "code"):
        body = ast.parse(source(cell)).body
        if body and isinstance(body[-1], ast.Expr) and not cell["outputs"]:
            yield f"cell {number}: ends in an expression and stores no output"


def clean_outputs(name: str, notebook: Notebook) -> Iterator[str]:
    """No error is stored, and nothing that went to stderr."""
    for number, cell in numbered(notebook, "code"):
        for output in cell["outputs"]:
            if output["output_type"] == "error" or output.get("name") == "stderr":
                yield f"cell {number}: stores an error or text from stderr"


def no_rounding_noise(name: str, notebook: Notebook) -> Iterator[str]:
    """No printed difference is so small that another processor rounds it otherwise."""
    noise = re.compile(r"\b(?!1e)\d(?:\.\d+)?e-1[3-9]\b")
    for number, cell in numbered(notebook, "code"):
        for output in cell["outputs"]:
            plain = output.get("data", {}).get("text/plain", "")
            for digits in noise.findall("".join(output.get("text", plain))):
                yield f"cell {number}: prints {digits}; say within what it is equal"


def nothing_skipped(name: str, notebook: Notebook) -> Iterator[str]:
    """No cell is kept from the comparison with a fresh run."""
    for number, cell in numbered(notebook, "code"):
        tags = SKIPS & set(cell["metadata"].get("tags", []))
        marks = [mark for mark in SKIP_COMMENTS if mark in source(cell)]
        for mark in (*sorted(tags), *marks):
            yield f"cell {number}: {mark} keeps it from being checked"


def nothing_defined(name: str, notebook: Notebook) -> Iterator[str]:
    """Functions and classes live in the package; a lesson may write a function."""
    defining = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    for number, cell in numbered(notebook, "code"):
        lesson = LESSON in cell["metadata"].get("tags", [])
        for node in ast.walk(ast.parse(source(cell))):
            if lesson and not isinstance(node, ast.ClassDef):
                continue
            if isinstance(node, defining):
                label = getattr(node, "name", "a lambda")
                yield f"cell {number}: defines {label}; it belongs in the package"


def one_idea(name: str, notebook: Notebook) -> Iterator[str]:
    """A cell has at most thirty lines, and hides no output behind a semicolon."""
    for number, cell in numbered(notebook, "code"):
        lines = source(cell).strip().splitlines()
        if len(lines) > MAX_LINES:
            yield f"cell {number}: has {len(lines)} lines, at most {MAX_LINES}"
        if lines and lines[-1].rstrip().endswith(";"):
            yield f"cell {number}: ends in a semicolon"


def allowed_imports(name: str, notebook: Notebook) -> Iterator[str]:
    """A chapter imports its own package, the shared ones, and what others offer."""
    stem = name.removesuffix(".ipynb")
    allowed = SHARED | {f"llmserve_lab.{PACKAGES.get(stem, stem)}"}
    for number, cell in numbered(notebook, "code"):
        if cell.get("id") == SETUP_ID:
            continue
        for module in imported(source(cell)):
            if module in TOP:
                continue
            if not any(f"{module}.".startswith(f"{ok}.") for ok in allowed):
                yield f"cell {number}: imports {module}, allowed: {sorted(allowed)}"


def imported(code: str) -> Iterator[str]:
    """Names of the modules that some code imports."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "llmserve_lab":
            yield from (f"llmserve_lab.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def figures_described(name: str, notebook: Notebook) -> Iterator[str]:
    """Every picture has alternative text."""
    for number, cell in numbered(notebook, "code"):
        alt = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if any(mime.startswith("image/") for mime in data) and not alt.strip():
                yield f"cell {number}: a figure without mystnb.image.alt"
            html = "".join(data.get("text/html", ""))
            for tag in without_alternative(html):
                yield f"cell {number}: {tag} without alternative text"


def prose_prints_numbers(name: str, notebook: Notebook) -> Iterator[str]:
    """Numbers reach the prose from `glue`, by `make run`, never by hand."""
    printed = glued(notebook)
    for number, cell in numbered(notebook, "markdown"):
        for word in typed_numbers(source(cell)):
            yield f"cell {number}: {word!r} is typed; glue the number that code printed"
        for fault in wrong_numbers(source(cell), printed):
            yield f"cell {number}: {fault}"


def glued_numbers_are_said(_name: str, notebook: Notebook) -> Iterator[str]:
    """A number that no sentence says is not computed for the page."""
    prose = "\n".join(source(cell) for _, cell in numbered(notebook, "markdown"))
    said = {name for _, name in NUMBER.findall(prose)}
    for name in glued(notebook).keys() - said:
        yield f"{name} is glued, and no sentence says it"


def numbered_by_name(name: str, notebook: Notebook) -> Iterator[str]:
    """Equations, chapters and exercises are referred to by name, never by number."""
    for number, cell in enumerate(notebook["cells"], start=1):
        for text in typed_references(source(cell)):
            yield f"cell {number}: {text!r} is typed; refer to it by its name"


def takeaways_are_sentences(_name: str, notebook: Notebook) -> Iterator[str]:
    """A takeaway says what to remember; the test that holds it is only linked."""
    for number, cell in numbered(notebook, "markdown"):
        for word in re.findall(
            r"\btest_\w+", re.sub(r"\]\([^)]*\)", "]", source(cell))
        ):
            yield f"cell {number}: {word} is the name of a test; write a sentence"


TAGS = re.compile(r"<summary>.*?</summary>|<[^>]+>", re.DOTALL)
MARKUP = re.compile(r"\]\(|`|\*\*|\{\w+\}")


def columns_are_named(_name: str, notebook: Notebook) -> Iterator[str]:
    """Each column of a table in prose has a heading: a screen reader says it."""
    for number, cell in numbered(notebook, "markdown"):
        for head in re.findall(r"(?m)^(\|.*\|)\n\|[ :|-]+\|$", source(cell)):
            if not all(each.strip() for each in head[1:-1].split("|")):
                yield f"cell {number}: a column of {head!r} has no heading"


def folds_are_rendered(_name: str, notebook: Notebook) -> Iterator[str]:
    """Markdown under a tag of a fold needs a blank line first, or it stays raw."""
    for number, cell in numbered(notebook, "markdown"):
        for block in re.split(r"\n[ \t]*\n", source(cell)):
            if not re.search(r"</?details|<summary", block):
                continue
            inner = " ".join(re.findall(r"<summary>(.*?)</summary>", block, re.DOTALL))
            raw = TAGS.sub("", block).strip() or MARKUP.search(inner)
            if raw:
                yield f"cell {number}: {str(raw)[:40]!r} stands raw in a fold's tags"


GUARDS: tuple[Guard, ...] = (
    run_in_order,
    prints_are_stored,
    clean_outputs,
    no_rounding_noise,
    nothing_skipped,
    nothing_defined,
    one_idea,
    allowed_imports,
    figures_described,
    prose_prints_numbers,
    glued_numbers_are_said,
    numbered_by_name,
    takeaways_are_sentences,
    columns_are_named,
    folds_are_rendered,
)
