"""Import circles of the package, imports inside functions and for types counted.

Strongly connected components of the graph of modules (Tarjan's, as SciPy has it). An
object that prints or draws itself may form one with the files that do it; none other.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from tests.house.statements import statements

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "llmserve_lab"
Graph = dict[str, set[str]]
# How many a room may have: a live figure asks its printer, which is about the figure.
ALLOWED = {"page": 1}


def modules(package: Path) -> dict[str, Path]:
    """Every module by its dotted name inside the package, which is ""."""
    names = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        names[".".join(parts).removesuffix("__init__").rstrip(".")] = path
    return names


def imported(path: Path, package: Path, known: dict[str, Path]) -> Iterator[str]:
    """Modules of the package that a file imports, wherever in it."""
    here = path.relative_to(package).parent.parts
    for node in statements(path):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
            yield from (_inside(name, package) for name in names)
        elif isinstance(node, ast.ImportFrom):
            base = _inside(node.module or "", package)
            if node.level:
                up = here[: len(here) - node.level + 1]
                base = ".".join([*up, *filter(None, [node.module])])
            for each in node.names:
                name = f"{base}.{each.name}".lstrip(".")
                yield name if name in known else base


def _inside(name: str, package: Path) -> str:
    """A name as it is inside the package; what is outside gets a name of no module."""
    if name == package.name:
        return ""
    inside = name.startswith(f"{package.name}.")
    return name.removeprefix(f"{package.name}.") if inside else f"outside {name}"


def graph(package: Path) -> Graph:
    known = modules(package)
    return {
        name: {each for each in imported(path, package, known) if each in known}
        - {name}
        for name, path in known.items()
    }


def circles(arrows: Graph) -> list[set[str]]:
    """Groups of modules each of which leads to all the others."""
    names = list(arrows)
    matrix = np.array([[to in arrows[of] for to in names] for of in names])
    _, labels = connected_components(matrix, directed=True, connection="strong")
    groups = [
        {name for name, label in zip(names, labels, strict=True) if label == group}
        for group in set(labels)
    ]
    return [group for group in groups if len(group) > 1]


def test_no_circle_but_that_of_an_object_and_its_printers() -> None:
    found = [sorted(circle) for circle in circles(graph(PACKAGE))]
    for room, most in ALLOWED.items():
        own = [c for c in found if all(name.split(".")[0] == room for name in c)]
        assert len(own) <= most, own
        found = [circle for circle in found if circle not in own]
    assert found == []


@pytest.mark.parametrize(
    "way",
    [
        "import toy.b",
        "from toy import b",
        "from toy.b import x",
        "from . import b",
        "from .b import x",
        "def f():\n    from toy import b",
        "if TYPE_CHECKING:\n    from toy.b import x",
    ],
)
def test_a_circle_is_found_however_it_is_tied(tmp_path: Path, way: str) -> None:
    package = tmp_path / "toy"
    package.mkdir()
    texts = {"__init__": "", "a": way, "b": "from toy.c import y", "c": "import toy.a"}
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text, "utf8")
    assert circles(graph(package)) == [{"a", "b", "c"}]
    (package / "c.py").write_text("import os", "utf8")
    assert circles(graph(package)) == []
