"""One word, one thing: a public class name is used once in the package."""

import ast
from collections import defaultdict
from pathlib import Path

from tests.house.statements import statements

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "llmserve_lab"


def defined() -> dict[str, list[str]]:
    """Modules that define each public class name."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in statements(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(path.relative_to(PACKAGE)))
    return found


def test_a_public_class_name_means_one_thing() -> None:
    assert {name: where for name, where in defined().items() if len(where) > 1} == {}
