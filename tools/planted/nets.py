"""Which tests are asked about a defect, and in which order: the quickest first."""

from __future__ import annotations

import re
from pathlib import Path

from planted.defect import Defect
from planted.known import TOGETHER, UNSEEN

Net = tuple[str, tuple[str, ...]]  # its name, and what pytest is told

GATES = "tests/formula/test_gates.py"
CATALOG_PAGE = "chapters/catalog.ipynb"
CHAPTER_PARTS = 5  # src/llmserve_lab/CHAPTER/page/FILE
LOGIC = tuple(
    f"tests/page/test_{name}.py"
    for name in (
        *("chart_source", "charts", "bindings", "wording"),
        *("hints", "questions", "prompts", "axes", "palette"),
        *("levels", "titles", "counters", "turns", "seen"),
        *("drawn", "measured", "moves", "called", "step_legends"),
    )
)
OTHERS = (
    "tests/browser",
    "tests/deep",
    "tests/fuzz",
    "tests/house/test_mutants.py",
)  # what is built, and ourselves


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


def for_formulas(root: Path, defect: Defect | None) -> list[Net]:
    """The formula's own gates and chapter, the gates of all, then everything else."""
    others = [("gates", ("-x", GATES)), package(), notebooks(root)]
    if not (defect and defect.label):
        return others
    target = f"#eq-{defect.label}\\"  # as JSON writes it before a quotation mark
    chapters = sorted(root.glob("chapters/*.ipynb"))
    shown = [path for path in chapters if target in path.read_text("utf8")]
    names = [str(path.relative_to(root)) for path in shown]
    own = ("-x", GATES, "-k", f"[{defect.label}]")
    return [("gates", own), notebooks(root, *names), *others]


def users(root: Path, defect: Defect | None) -> list[str]:
    """Rooms of the library whose code names the module of the catalog that is hit."""
    if not defect or "/evidence/" not in defect.file:
        return []
    module = re.compile(rf"\bevidence(?:\.| import .*){Path(defect.file).stem}\b")
    code = root.glob("src/llmserve_lab/*/**/*.py")
    found = {path for path in code if module.search(path.read_text("utf8"))}
    rooms = {path.relative_to(root / "src/llmserve_lab").parts[0] for path in found}
    return sorted(
        room for room in rooms - {"catalog"} if (root / "tests" / room).is_dir()
    )


def pages_of(root: Path, rooms: list[str]) -> list[str]:
    """Chapters that import one of these rooms."""
    names = re.compile(rf"from llmserve_lab\.(?:{'|'.join(rooms)})\b")
    pages = sorted(root.glob("chapters/*.ipynb")) if rooms else []
    shown = [path for path in pages if names.search(path.read_text("utf8"))]
    return [str(path.relative_to(root)) for path in shown]


def for_catalog(root: Path, defect: Defect | None) -> list[Net]:
    """The catalog's own tests, those of its users, the pages that show its numbers."""
    own = ("tests/catalog", ("-x", "tests/catalog"))
    rooms = users(root, defect)
    tests = [("users' tests", ("-x", *(f"tests/{room}" for room in rooms)))]
    pages = [notebooks(root, *pages_of(root, rooms))]
    near = [*tests, *pages] if rooms else []
    return [own, notebooks(root, CATALOG_PAGE), *near, notebooks(root), package()]


def for_charts(_root: Path, defect: Defect | None) -> list[Net]:
    """The chapter in the tests of logic of all figures and questions, its own tests.

    Stored outputs are not asked: they would show the defect once they are run again.
    """
    logic = ("logic of all", ("-x", *LOGIC))
    parts = Path(defect.file).parts if defect else ()
    if len(parts) != CHAPTER_PARTS:
        return [logic]
    chapter = parts[2]
    near = ("logic", ("-x", *LOGIC, "-k", chapter.split("_")[0]))
    return [near, logic, ("the chapter's tests", ("-x", f"tests/{chapter}"))]


def for_known(_root: Path, defect: Defect | None) -> list[Net]:
    """The test that is named beside it."""
    files = [defect.label] if defect else sorted({k.net for k in (*TOGETHER, *UNSEEN)})
    return [("its own test", ("-x", *files))]


NETS = {
    "formulas": for_formulas,
    "catalog": for_catalog,
    "charts": for_charts,
    "known": for_known,
}
