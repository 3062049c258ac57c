"""Parts of the source of pages that stand side by side: what is called how, made of
what.

A heading of a table and the expression of its cells; the name of a mark and what it
draws; the words beside a field of a sentence. Nothing is run: what is read here is
whether the code of a value has the words that a reader finds beside it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llmserve_lab

PACKAGE = Path(llmserve_lab.__file__).parent
Scope = dict[str, ast.expr]
Cells = list[ast.expr]


@cache
def tree(path: Path) -> ast.Module:
    """A file of the package, parsed."""
    return ast.parse(path.read_text("utf8"))


def files(*patterns: str) -> list[Path]:
    """Files of the package that match one of the patterns."""
    return sorted({path for each in patterns for path in PACKAGE.glob(each)})


def text_of(node: ast.expr | None) -> str:
    """Words of a string, without the fields of a formatted one; of all else none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(each.value) if isinstance(each, ast.Constant) else " "
            for each in node.values
        )
    return ""


def bound(code: ast.AST, *, deep: bool) -> Scope:
    """Names that are bound in some code: the last time, if several."""
    nodes = ast.walk(code) if deep else ast.iter_child_nodes(code)
    found: Scope = {}
    for each in nodes:
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            found[each.targets[0].id] = each.value
        elif isinstance(each, ast.AnnAssign) and each.value:
            found[ast.unparse(each.target)] = each.value
    return found


class _Put(ast.NodeTransformer):
    """A constant in the place of a name."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.value if node.id == self.name else node


def spread(node: ast.expr | None, scope: Scope) -> Cells | None:
    """Elements of a tuple or list, those behind stars and of loops over them, too.

    None where they stand nowhere in the file.
    """
    if isinstance(node, ast.Name):
        return spread(scope.get(node.id), {**scope, node.id: ast.Constant(None)})
    if isinstance(node, ast.GeneratorExp | ast.ListComp):
        (loop, *more) = node.generators
        items = spread(loop.iter, scope)
        if more or loop.ifs or not items or not isinstance(loop.target, ast.Name):
            return None
        source, name = ast.unparse(node.elt), loop.target.id
        return [
            _Put(name, item).visit(ast.parse(source, mode="eval").body)
            for item in items
        ]
    if not isinstance(node, ast.Tuple | ast.List):
        return None
    found: Cells = []
    for each in node.elts:
        inner = spread(each.value, scope) if isinstance(each, ast.Starred) else [each]
        if inner is None:
            return None
        found += inner
    return found


def rows(code: ast.AST, node: ast.expr, seen: frozenset[str]) -> Iterator[ast.Tuple]:
    """Tuples that become rows of a table: written in a list, looped or appended."""
    if isinstance(node, ast.Tuple) and any(
        isinstance(each, ast.Tuple) for each in node.elts
    ):
        node = ast.List(node.elts)
    if isinstance(node, ast.Tuple):
        yield node
    elif isinstance(node, ast.List):
        for each in node.elts:
            inner = each.value if isinstance(each, ast.Starred) else each
            yield from rows(code, inner, seen)
    elif isinstance(node, ast.ListComp | ast.GeneratorExp):
        yield from rows(code, node.elt, seen)
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("tuple", "list"):
        for each in node.args:
            yield from rows(code, each, seen)
    elif isinstance(node, ast.Name) and node.id not in seen:
        for made in _added(code, node.id):
            yield from rows(code, made, seen | {node.id})


def _added(code: ast.AST, name: str) -> Iterator[ast.expr]:
    """All that a name is bound to, or that is put into it."""
    for each in ast.walk(code):
        if isinstance(each, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            if each.value and name in {ast.unparse(target) for target in targets}:
                yield each.value
        elif isinstance(each, ast.Call) and ast.unparse(each.func) == f"{name}.append":
            yield each.args[0]


@dataclass(frozen=True)
class Columns:
    """A row of a table in the source: below each head the code of its cell."""

    place: str
    heads: tuple[str, ...]
    cells: tuple[ast.expr, ...]


def tables(path: Path) -> Iterator[tuple[str, list[Columns]]]:
    """Tables of a file: where each is made, and its rows that can be read."""
    module = bound(tree(path), deep=False)
    for code in ast.walk(tree(path)):
        if not isinstance(code, ast.FunctionDef):
            continue
        scope = {**module, **bound(code, deep=True)}
        for call in ast.walk(code):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "Table":
                place = f"{path.relative_to(PACKAGE).as_posix()} {code.name}"
                yield place, list(of_table(place, code, call, scope))


def of_table(
    place: str, code: ast.FunctionDef, call: ast.Call, scope: Scope
) -> Iterator[Columns]:
    named = {each.arg: each.value for each in call.keywords}
    columns, made = (
        call.args[at] if at < len(call.args) else named[name]
        for at, name in ((1, "columns"), (2, "rows"))
    )
    heads = spread(columns, scope)
    for row in rows(code, made, frozenset()):
        cells = spread(row, scope)
        if heads and cells and len(cells) == len(heads):
            yield Columns(place, tuple(map(text_of, heads)), tuple(cells))


def siblings(elements: list[ast.expr]) -> Iterator[list[tuple[str, str]]]:
    """Calls of one name, or tuples, side by side: words of each, and its code."""
    found: dict[str, list[tuple[str, str]]] = {}
    for each in elements:
        if isinstance(each, ast.Call):
            parts = [*each.args, *(word.value for word in each.keywords)]
            kind = ast.unparse(each.func)
        elif isinstance(each, ast.Tuple | ast.List):
            parts, kind = each.elts, "()"
        else:
            continue
        said = " ".join(filter(None, map(text_of, parts)))
        made = " ".join(ast.unparse(part) for part in parts if not text_of(part))
        if said and made:
            found.setdefault(kind, []).append((said, made))
    yield from (group for group in found.values() if len(group) > 1)


def named(code: ast.AST) -> Iterator[list[tuple[str, str]]]:
    """Groups of named things in a file: marks, rows, entries of a dictionary.

    A legend explains inks, which are called after their part and not after its words.
    """
    legends = {
        id(word.value)
        for call in ast.walk(code)
        if isinstance(call, ast.Call)
        for word in call.keywords
        if word.arg == "legend"
    }
    for node in ast.walk(code):
        if isinstance(node, ast.Tuple | ast.List):
            yield from siblings(node.elts)
        elif isinstance(node, ast.Call):
            yield from siblings(node.args)
        elif isinstance(node, ast.Dict) and id(node) not in legends:
            yield [
                (text_of(key), ast.unparse(value))
                for key, value in zip(node.keys, node.values, strict=True)
                if text_of(key)
            ]


def counters(path: Path) -> Iterator[Columns]:
    """Counters of a step figure below their labels, of each frame of a file."""
    if "Frame(" not in path.read_text("utf8"):  # most files: they need not be walked
        return
    module = tree(path)
    labels = [
        [
            text_of(each.args[0])
            for each in word.value.elts
            if isinstance(each, ast.Call)
        ]
        for call in ast.walk(module)
        if isinstance(call, ast.Call)
        for word in call.keywords
        if word.arg == "counters" and isinstance(word.value, ast.Tuple)
    ]
    for code in ast.walk(module) if labels else ():
        if isinstance(code, ast.FunctionDef):
            calls = [made for each in ast.walk(code) if (made := called(each, "Frame"))]
            both = (bound(module, deep=False), bound(code, deep=True)) if calls else ()
            scope = {name: made for names in both for name, made in names.items()}
            for made in calls:
                cells = spread(made.args[1], scope) if made.args[1:] else None
                for heads in labels:
                    if cells and len(cells) == len(heads) > 1:
                        place = f"{path.relative_to(PACKAGE).as_posix()} {code.name}"
                        yield Columns(place, tuple(heads), tuple(cells))


def called(node: ast.AST, name: str) -> ast.Call | None:
    """A call of this name, or none."""
    right = isinstance(node, ast.Call) and ast.unparse(node.func) == name
    return node if right and isinstance(node, ast.Call) else None
