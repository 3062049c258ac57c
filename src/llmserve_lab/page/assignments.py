"""What the cells of a notebook assign, and to which name, read from their text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from copy import deepcopy
from functools import lru_cache

LONGEST = 200  # characters of an expression
THOUSANDS = re.compile(r"\b10{3,}\.0\b")
AS_IT_IS = ("float", "int", "round", "banded")  # the same number, told otherwise
Line = tuple[int, str, str, ast.expr]  # its number, a name, the left side, the right


@lru_cache(maxsize=512)
def assigned(code: str) -> list[Line]:
    """Each assignment in a cell, in their order."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # a magic line, say
        return []
    found = [each for node in ast.walk(tree) for each in _assigned(node)]
    return sorted(found, key=lambda each: each[0])


@lru_cache(maxsize=512)
def defined(code: str) -> list[ast.FunctionDef]:
    """Each function that a cell defines."""
    try:
        body = ast.parse(code).body
    except SyntaxError:  # a magic line, say
        return []
    return [node for node in body if isinstance(node, ast.FunctionDef)]


def _assigned(node: ast.AST) -> Iterator[Line]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _parts(target, node.value)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield from _parts(node.target, node.value)
    elif isinstance(node, ast.For):
        yield from _parts(node.target, node.iter)


def _parts(target: ast.expr, value: ast.expr, left: str = "") -> Iterator[Line]:
    """Names of a target; of a pair on both sides each with its own half."""
    left = left or written(target)
    if isinstance(target, ast.Name):
        yield value.lineno, target.id, left, value
    elif isinstance(target, ast.Tuple | ast.List):
        values = each_of(value)
        if len(values) == len(target.elts):
            for part, own in zip(target.elts, values, strict=True):
                yield from _parts(part, own)
        else:
            for part in target.elts:
                yield from _parts(part, value, left)


def each_of(node: ast.expr) -> list[ast.expr]:
    """The expressions of a tuple, or of ``f(x) for x in`` one; empty for others."""
    if isinstance(node, ast.Tuple | ast.List):
        return node.elts
    if not isinstance(node, ast.GeneratorExp | ast.ListComp):
        return []
    (first, *more), made = node.generators, node.elt
    if more or first.ifs or not isinstance(first.target, ast.Name):
        return []
    name = first.target.id
    return [_with(made, name, value) for value in each_of(first.iter)]


def _with(node: ast.expr, name: str, value: ast.expr) -> ast.expr:
    """An expression with another one in the place of a name."""

    class Put(ast.NodeTransformer):
        def visit_Name(self, found: ast.Name) -> ast.expr:
            return value if found.id == name else found

    put: ast.expr = Put().visit(deepcopy(node))
    return put


def written(node: ast.AST) -> str:
    """An expression as text, thousands as powers of ten."""
    return THOUSANDS.sub(lambda m: f"1e{len(m.group()) - 3}", ast.unparse(node))


def bare(node: ast.expr) -> ast.expr:
    """The number in a text that only formats it."""
    while True:
        if isinstance(node, ast.JoinedStr):
            told = [x for x in node.values if isinstance(x, ast.FormattedValue)]
            if len(told) != 1:
                return node
            node = told[0].value
        elif isinstance(node, ast.Call) and node.args and ast_name(node) in AS_IT_IS:
            node = node.args[0]
        else:
            return node


def ast_name(call: ast.Call) -> str:
    """The plain name of what is called, empty for a dotted one."""
    return call.func.id if isinstance(call.func, ast.Name) else ""


def free(node: ast.AST) -> list[str]:
    """Names that an expression reads from its cell, each once, in their order."""
    found = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    own = {each.id for each in found if isinstance(each.ctx, ast.Store)}
    read = [each for each in found if each.id not in own]
    read.sort(key=lambda each: (each.lineno, each.col_offset))
    return [*dict.fromkeys(each.id for each in read)]


def chained(node: ast.AST) -> bool:
    """Whether it is a name, or something of one."""
    return isinstance(node, ast.Name | ast.Attribute | ast.Subscript)


def short(text: str) -> str:
    """A long expression is cut."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
