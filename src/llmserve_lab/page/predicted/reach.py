"""Whether a piece of the book's code comes to a prediction: its calls, followed.

A function is read, not run. The names that it uses are looked up where it was defined,
and so on from one function of the package to the next, until one of the predictors is
found. What stands beside a measurement ends the search.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from types import ModuleType
from typing import Any

from llmserve_lab.formula.formula import Formula
from llmserve_lab.page.predicted.code import (
    Names,
    named,
    ours,
    plain,
    split,
    tree,
    within,
)
from llmserve_lab.page.predicted.predictors import (
    BESIDE,
    COMPARED,
    GIVEN,
    MEASURED,
    PREDICTED,
    PREDICTORS,
)
from llmserve_lab.page.predicted.reading import CodeReader

_NOTHING = ast.Constant(None)


def reaches(found: Any) -> bool:
    """Whether what a name stands for comes to a prediction when it is used."""
    return _search(found)


@cache
def _search(found: Any) -> bool:
    waiting, seen = [found], set[str]()
    while waiting:
        each = plain(waiting.pop())
        if isinstance(each, Formula):
            if any(step.name in PREDICTED for step in each.steps()):
                return True
            continue
        name = named(each)
        if name in seen or not ours(name):
            continue
        seen.add(name)
        if name in PREDICTORS:
            return True
        if not beside(name):
            waiting.extend(used_by(name))
    return False


@cache
def used_by(name: str) -> tuple[Any, ...]:
    """What a function, a class's construction or a constant uses, by its name."""
    module, path = split(name)
    node = tree(module).get(path)
    names = vars(sys.modules[module])
    if isinstance(node, ast.ClassDef):
        owner = within(names, path)
        if any(each.startswith(name + ".") for each in PREDICTORS):
            return ()  # its checks may try a prediction
        made = ("__init__", "__post_init__", "__new__")
        return tuple(vars(owner)[each] for each in made if each in vars(owner))
    if node is None:
        return ()
    owner = within(names, path.rpartition(".")[0]) if "." in path else None
    return tuple(CodeReader(names, module, owner).of(predicting(node, names)))


def beside(name: str) -> bool:
    """Whether what it gives stands beside a measurement."""
    if is_compared(name.rpartition(".")[2]):
        return True
    return any(name == each or name.startswith(each + ".") for each in BESIDE)


def is_compared(name: str) -> bool:
    """Whether a name says that it is a measured value, or an error against one."""
    return not COMPARED.isdisjoint(name.split("_"))


def predicting(node: ast.AST, names: Names) -> ast.AST:
    """Code without what it measures, and without what it divides by a measurement."""
    held: ast.AST = _Predicting(names).visit(deepcopy(node))
    return held


class _Predicting(ast.NodeTransformer):
    def __init__(self, names: Names) -> None:
        self.names = names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if is_compared(node.attr) or node.attr in GIVEN:
            return _NOTHING
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if is_compared(name):
            return _NOTHING
        func = node.func
        if isinstance(func, ast.Attribute) and name in GIVEN:  # a function so called
            func.value = self.visit(func.value)
            node.args = [self.visit(each) for each in node.args]
            return node
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if isinstance(node.op, ast.Div | ast.Sub):
            for side in (node.left, node.right):
                if any(MEASURED & set(each) for each in self._words(side)):
                    return _NOTHING
        return self.generic_visit(node)

    def _words(self, node: ast.AST) -> Iterator[list[str]]:
        for each in ast.walk(node):
            name = getattr(each, "attr", getattr(each, "id", ""))
            if isinstance(self.names.get(name), ModuleType):
                continue
            if isinstance(name, str):
                yield name.split("_")
