"""Swaps in charts, figures and questions: marks, labels, inks, bindings, hints, units.

Whatever stands beside something of its kind changes places with it: the names of two
marks, what they draw, their inks; labels and verdicts of readouts; two fields of a
sentence; the texts of two hints. Axes get a foreign unit, a typed title, a factor; a
prompt asks for the opposite. Stored outputs are not asked: they are made anew by
``make run``, defect and all.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from planted.defect import Defect, python_defect, span

KIND = "charts"
PACKAGE = "src/llmserve_lab"
PALETTE = f"{PACKAGE}/page/palette.py"
MARKS = {"BoundMark", "Landmark", "Drawn", "Case", "Layout", "_bar"}
SHOWN = {"Readout", "Verdict"}
INKS = {"MEANINGS", "SERIES"}
OPPOSITE = {
    "longest": "shortest",
    "shortest": "longest",
    "fastest": "slowest",
    "largest": "smallest",
    "smallest": "largest",
    "more": "fewer",
    "fewer": "more",
    "Fewer": "More",
    "most": "least",
    "larger": "smaller",
    "hidden": "open",
    "no longer": "twice as long",
    "longer": "shorter",
    "with": "without",
}
FIELD = re.compile(r"\{\w+(?::\d+)?\}")


def in_charts(root: Path) -> Iterator[Defect]:
    """Every swap and slip in the charts, figures and questions of all chapters."""
    for path in sorted((root / PACKAGE).glob("*/page/*.py")):
        tree = ast.parse(path.read_text("utf8"))
        if "chart" in path.name:
            yield from _in_chart(path, root, tree)
        if path.name == "figures.py":
            yield from _in_figures(path, root, tree)
        if path.name == "questions.py":
            yield from _in_questions(path, root, tree)
    path = root / PALETTE
    yield from _of_meanings(path, root, ast.parse(path.read_text("utf8")))


def _in_chart(path: Path, root: Path, tree: ast.AST) -> Iterator[Defect]:
    for one, other in _neighbours(tree, MARKS):
        for what, place in (("names", 0), ("sources", 1)):
            pair = [_argument(call, place) for call in (one, other)]
            yield from _swapped(path, root, pair, what)
        yield from _swapped(path, root, [_ink(one), _ink(other)], "inks")
    for call in _calls(tree):
        if _called(call) == "QuantityAxis" and len(call.args) > 1:
            yield _slip(path, root, call.args[1], '"byte"', "unit")
        if _called(call) == "on":
            source = ast.get_source_segment(path.read_text("utf8"), call)
            yield _slip(path, root, call, f'{source}.title("time (s)")', "title")
        if _called(call) in ("reads", "draw", "read"):
            source = ast.get_source_segment(path.read_text("utf8"), call)
            yield _slip(path, root, call, f"('1e3 * ' + {source})", "factor")


def _in_figures(path: Path, root: Path, tree: ast.AST) -> Iterator[Defect]:
    for one, other in _neighbours(tree, SHOWN):
        for what, place in (("shown", 0), ("labels", 1)):
            pair = [_argument(call, place) for call in (one, other)]
            if _called(one) == _called(other) or what == "labels":
                yield from _swapped(path, root, pair, what)
    for call in _calls(tree):
        if _called(call) == "Verdict" and len(call.args) == 5:
            yield from _swapped(path, root, call.args[2:4], "verdict")
            if isinstance(call.args[4], ast.Tuple):
                yield from _swapped(path, root, call.args[4].elts, "cases")
        for word in call.keywords:
            if word.arg == "derived" and isinstance(word.value, ast.Dict):
                # What is unpacked there has no name, and its order says nothing.
                pairs = zip(word.value.keys, word.value.values, strict=True)
                for bound in pairwise([value for name, value in pairs if name]):
                    yield from _swapped(path, root, bound, "derived")
            if word.arg == "sentence":
                yield from _fields(path, root, word.value)


def _in_questions(path: Path, root: Path, tree: ast.AST) -> Iterator[Defect]:
    for one, other in _neighbours(tree, {"Hint"}):
        for what, place in (("answers", 0), ("hints", 1)):
            pair = [_argument(call, place) for call in (one, other)]
            yield from _swapped(path, root, pair, what)
    for call in _calls(tree):
        for word in call.keywords:
            if word.arg == "choices" and isinstance(word.value, ast.Tuple):
                for options in pairwise(word.value.elts):
                    yield from _swapped(path, root, options, "choices")
            if word.arg == "prompt":
                yield from _opposites(path, root, word.value)


def _of_meanings(path: Path, root: Path, tree: ast.Module) -> Iterator[Defect]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MEANINGS":
            assert isinstance(node.value, ast.Dict)
            inks = zip(node.value.keys, node.value.values, strict=True)
            for pair in pairwise([ink for name, ink in inks if name]):
                yield from _swapped(path, root, list(pair), "meanings")


def _fields(path: Path, root: Path, sentence: ast.expr) -> Iterator[Defect]:
    """Two fields of a sentence that stand beside each other, swapped."""
    text = path.read_text("utf8")
    start, end = span(text, sentence)
    whole = text.encode()[start:end].decode()
    for one, other in pairwise(FIELD.finditer(whole)):
        if one.group() != other.group():
            between = whole[one.end() : other.start()]
            yield Defect(
                kind=KIND,
                file=path.relative_to(root).as_posix(),
                start=start + len(whole[: one.start()].encode()),
                end=start + len(whole[: other.end()].encode()),
                line=sentence.lineno,
                before=f"{one.group()}{between}{other.group()}",
                after=f"{other.group()}{between}{one.group()}",
                label="fields",
            )


def _opposites(path: Path, root: Path, prompt: ast.expr) -> Iterator[Defect]:
    """A word of a prompt turned round."""
    text = path.read_text("utf8")
    start, end = span(text, prompt)
    whole = text.encode()[start:end].decode()
    for word, opposite in OPPOSITE.items():
        for found in re.finditer(rf"\b{word}\b", whole):
            yield Defect(
                kind=KIND,
                file=path.relative_to(root).as_posix(),
                start=start + len(whole[: found.start()].encode()),
                end=start + len(whole[: found.end()].encode()),
                line=prompt.lineno + whole[: found.start()].count("\n"),
                before=word,
                after=opposite,
                label="prompt",
            )


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else _name(call.func)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _neighbours(tree: ast.AST, names: set[str]) -> Iterator[tuple[ast.Call, ast.Call]]:
    """Calls of these names that stand beside each other in a list or a call."""
    for node in ast.walk(tree):
        held: Iterable[ast.AST] = (
            node.elts
            if isinstance(node, ast.Tuple | ast.List)
            else node.args
            if isinstance(node, ast.Call)
            else ()
        )
        calls = [c for c in held if isinstance(c, ast.Call) and _called(c) in names]
        yield from pairwise(calls)


def _argument(call: ast.Call, place: int) -> ast.expr | None:
    return call.args[place] if place < len(call.args) else None


def _ink(call: ast.Call) -> ast.expr | None:
    """The ink that a mark is given."""
    for each in call.args:
        if isinstance(each, ast.Subscript) and _name(each.value) in INKS:
            return each
    return None


def _swapped(
    path: Path, root: Path, pair: Iterable[ast.expr | None], what: str
) -> Iterator[Defect]:
    """Two pieces of source, each in the other's place, unless they are alike."""
    nodes = [node for node in pair if node is not None]
    if len(nodes) != 2:
        return
    text = path.read_text("utf8")
    (start, middle), (other, end) = sorted(span(text, node) for node in nodes)
    data = text.encode()
    one, two = data[start:middle].decode(), data[other:end].decode()
    if one != two:
        yield Defect(
            kind=KIND,
            file=path.relative_to(root).as_posix(),
            start=start,
            end=end,
            line=nodes[0].lineno,
            before=f"{one} | {two}",
            after=two + data[middle:other].decode() + one,
            label=what,
        )


def _slip(path: Path, root: Path, node: ast.expr, after: str, what: str) -> Defect:
    return python_defect(KIND, path, root, node, after, what)
