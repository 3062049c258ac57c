"""Which tests are asked about a defect, and in which order: the quickest first."""

from __future__ import annotations

import re
from pathlib import Path

from planted.defect import Defect

Net = tuple[str, tuple[str, ...]]  # its name, and what pytest is told

GATES = "tests/book/test_gates.py"
OTHERS = ("tests/pages", "tests/book/test_mutants.py")  # what is built, and ourselves


def nbval(root: Path) -> tuple[str, ...]:
    """The options with which ``make test`` compares stored outputs."""
    makefile = (root / "Makefile").read_text("utf8")
    return tuple(re.findall(r"--nbval[\w-]*(?:=\S+)?", makefile))


def package() -> Net:
    """All tests but those of the built pages, which show what is stored."""
    return "other tests", ("-x", "tests", *(f"--ignore={path}" for path in OTHERS))


def notebooks(root: Path, *files: str) -> Net:
    """Stored outputs of some chapters, or of all."""
    return "stored outputs", (*nbval(root), *(files or ("chapters",)))


def for_outputs(root: Path, defect: Defect | None) -> list[Net]:
    """Every cell of the notebook, each on its own."""
    return [notebooks(root, *([defect.file] if defect else []))]


def for_formulas(root: Path, defect: Defect | None) -> list[Net]:
    """The gates of the formula itself, those of all others, then everything else."""
    own = ("-x", GATES, "-k", f"[{defect.number}]") if defect and defect.number else ()
    nets = [("gates", own), ("gates", ("-x", GATES)), package()]
    nets.append(notebooks(root))
    return [(name, told) for name, told in nets if told]


def for_catalog(root: Path, defect: Defect | None) -> list[Net]:
    """The catalog's own tests; the pages that show its numbers are the second net."""
    return [
        ("tests/catalog", ("-x", "tests/catalog")),
        notebooks(root),
        package(),
    ]


NETS = {
    "outputs": for_outputs,
    "formulas": for_formulas,
    "catalog": for_catalog,
}
