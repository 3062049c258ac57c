"""A chart types no title, unit, factor or colour: its quantities have them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src/llmserve_lab"
CHARTS = [path for path in sorted(SOURCE.glob("*/page/*chart*.py"))]
every_chart = pytest.mark.parametrize(
    "path", CHARTS, ids=lambda p: f"{p.parent.parent.name}-{p.stem}"
)
COLOURS = {"BLUE", "VERMILLION", "GREEN", "PURPLE", "GOLD"}
UNBOUND = {"log_axis", "landmark", "Curve", "curves"}
FACTOR = re.compile(r"\b1e-?\d+\s*\*|\*\s*1e-?\d+\b|\b1000(?:\.0)?\s*\*|\*\s*1000\b")
NAMED = re.compile(r":[ON]$")


def typed(tree: ast.AST) -> Iterator[str]:
    """What a chart must not type: titles, factors, colours, marks bound to nothing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from typed_in_call(node)
        if isinstance(node, ast.ImportFrom):
            names = {each.name for each in node.names} & (COLOURS | UNBOUND)
            yield from (f"imports {name}" for name in sorted(names))
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and FACTOR.search(text):
            yield f"a factor in {text!r}"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            for side in (node.left, node.right):
                if isinstance(side, ast.Constant) and side.value in (1e3, 1e6, 1e9):
                    yield f"a factor {side.value:g}"


def typed_in_call(call: ast.Call) -> Iterator[str]:
    """A typed title of an axis that is not one of names."""
    called = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    words = {word.arg: word.value for word in call.keywords}
    if called == "title" and call.args:
        yield "a title set afterwards"
    title, kind = words.get("title"), words.get("type")
    texts = [a.value for a in call.args if isinstance(a, ast.Constant)]
    is_named = any(NAMED.search(str(text)) for text in texts)
    is_named |= isinstance(kind, ast.Constant) and kind.value in ("nominal", "ordinal")
    is_text = isinstance(title, ast.JoinedStr) or (
        isinstance(title, ast.Constant) and title.value is not None
    )
    if is_text and not is_named:
        yield f"a title {ast.unparse(title)}" if title else ""


@every_chart
def test_a_chart_types_no_title_no_unit_and_no_factor(path: Path) -> None:
    assert list(typed(ast.parse(path.read_text("utf8")))) == []


@pytest.mark.parametrize(
    "source",
    [
        'alt.X("s", type="quantitative", title="time (s)")',
        'alt.X("s", title=f"time ({unit})")',
        'axis.on("x", "s").title("time (s)")',
        'f"1e3 * ({work})"',
        "work * 1e3",
        "from llmserve_lab.page.palette import BLUE",
        "from llmserve_lab.page.live.marks import log_axis",
    ],
)
def test_what_is_typed_is_found(source: str) -> None:
    assert list(typed(ast.parse(source)))
    assert not list(typed(ast.parse('alt.Y("y:O", title="rank")')))
