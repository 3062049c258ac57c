"""The shape of the code: which way imports point, and how long things may get."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

import pytest

from tests.house.statements import statements

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "llmserve_lab"
MODULES = sorted(PACKAGE.rglob("*.py"))
ROOMS = ("tests", "tools", "benchmarks")
PYTHON = MODULES + [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]

# Arrows run from a higher floor to a lower one.
FLOORS = {
    "checks": 0, "extras": 0, "boundary": 1, "formula": 1, "notation": 2,
    "glossary": 2, "page": 3, "parameter_sweep": 3,
    "catalog": 4, "paged_cache": 4, "engine": 5, "collectives": 5, "transformer": 5,
    "workloads": 6,
    "validation": 7, "running_example": 8,
}  # fmt: skip
CHAPTER = 9
# Attention-FFN disaggregation runs the twin of DeepSeek-V3 in two parts. What the
# sources say, how wrong the book is, what serving costs, what symptoms mean and
# what a class is asked: all ask other chapters.
ABOVE = {
    "afd": 10, "capacity": 10, "symptoms": 10, "labs": 10,
    "claims": 11, "how_wrong": 11, "front": 12,
}  # fmt: skip
# What an iteration and a collective cost: formulas that all rooms above stand on.
GROUND = ("roofline.formulas", "collectives.formulas")


def room(module: str) -> str:
    """First part of a dotted name inside the package: its room."""
    return module.split(".")[0]


def floor(module: str) -> int:
    """Height of a module's room."""
    name = room(module)
    return ABOVE.get(name, FLOORS.get(name, CHAPTER))


def allowed(importer: str, imported: str) -> bool:
    """Whether the house lets `importer` see `imported` (dotted, inside the package)."""
    if room(importer) == room(imported):
        return True
    if any(f"{imported}.".startswith(f"{ground}.") for ground in GROUND):
        return floor(importer) > FLOORS["catalog"]
    return floor(importer) > floor(imported)


def imports(path: Path) -> Iterator[str]:
    """Dotted names inside the package that a file imports."""
    here = (*path.relative_to(PACKAGE).parent.parts,)
    for node in statements(path):
        if isinstance(node, ast.Import):
            yield from _inside(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = here[: len(here) - node.level + 1]
            stem = (*base, *(node.module or "").split("."))
            yield from (
                ".".join(filter(None, (*stem, alias.name))) for alias in node.names
            )
        elif isinstance(node, ast.ImportFrom):
            yield from _inside(f"{node.module}.{alias.name}" for alias in node.names)


def _inside(names: Iterator[str]) -> Iterator[str]:
    prefix = "llmserve_lab."
    return (name.removeprefix(prefix) for name in names if name.startswith(prefix))


def wrong_arrows(path: Path) -> list[str]:
    """Imports of one file that point the wrong way."""
    importer = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    return [name for name in imports(path) if not allowed(importer, name)]


def function_lengths(paths: list[Path]) -> list[int]:
    """Lines of every function, its decorators left out."""
    return [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for path in paths
        for node in statements(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def test_arrows_run_one_way() -> None:
    inside = [path for path in MODULES if path.parent != PACKAGE]  # the front page may
    wrong = {str(path.relative_to(PACKAGE)): wrong_arrows(path) for path in inside}
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.parametrize(
    ("importer", "imported", "verdict"),
    [
        ("roofline.figures", "page.live", True),
        ("roofline.figures", "roofline.iteration_count", True),
        ("catalog.models", "formula.quantity", True),
        ("engine.loop", "catalog.models", True),
        ("moe.formulas", "roofline.formulas.intensity", True),
        ("moe.formulas", "roofline.iteration_count", False),
        ("engine.loop", "roofline.formulas", True),
        ("engine.loop", "roofline.iteration_count", False),
        ("workloads.azure", "engine.request", True),
        ("engine.loop", "collectives.ranks", False),
        ("notation.model", "catalog.models", False),
        ("formula.formula", "notation.model", False),
        ("formula.formula", "page.table", False),
        ("catalog.models", "engine.loop", False),
        ("claims.roofline", "roofline.iteration_count", True),
        ("roofline.iteration_count", "claims.roofline", False),
        ("afd.deployment", "deepseek.model", True),
        ("deepseek.model", "afd.deployment", False),
        ("symptoms.served", "kv_memory.machine", True),
        ("kv_memory.machine", "symptoms.served", False),
    ],
)
def test_the_house_rules(importer: str, imported: str, verdict: bool) -> None:
    assert allowed(importer, imported) is verdict


def test_statements_are_found_wherever_they_stand(tmp_path: Path) -> None:
    held = "if a:\n  b\nelse:\n  c\ntry:\n  d\nexcept e:\n  f\nelse:\n  g\n"
    held += "finally:\n  h\nmatch i:\n  case 1:\n    with j:\n"
    held += "      for k in l:\n        m = n\n"
    inside = "".join(f"    {line}\n" for line in held.splitlines())
    path = tmp_path / "each.py"
    path.write_text(f"{held}class A:\n  async def f():\n{inside}", "utf8")
    every = [*ast.walk(ast.parse(path.read_text("utf8")))]
    kinds = Counter(type(each) for each in every if isinstance(each, ast.stmt))
    found = [each for each in statements(path) if isinstance(each, ast.stmt)]
    assert Counter(map(type, found)) == kinds and kinds[ast.Assign] == 2


def test_a_file_can_be_read_in_one_sitting() -> None:
    for path in PYTHON:
        lines = path.read_text("utf8").splitlines()
        assert len(lines) <= 300, path
        assert max(map(len, lines), default=0) <= 88, path


def test_a_script_and_a_style_sheet_too() -> None:
    written = [*ROOT.glob("assets/*.*s"), *ROOT.glob("labextension/*.*s")]
    made = {"references.js"}  # by tools/lab_references.py
    assert len(written) > 20
    for path in (each for each in written if each.name not in made):
        assert len(path.read_text("utf8").splitlines()) <= 300, path


def test_functions_are_short() -> None:
    lengths = function_lengths(MODULES)
    assert median(lengths) <= 10
    assert quantiles(lengths, n=10)[-1] <= 25
