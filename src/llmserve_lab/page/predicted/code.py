"""The book's own code as data: what a name stands for, and where it is written."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache, cached_property, partial
from importlib import import_module
from types import FunctionType, MethodType, ModuleType
from typing import Any

from llmserve_lab.formula.formula import Formula

PACKAGE = "llmserve_lab"
Names = Mapping[str, Any]


class Constant:
    """A name that a module assigns."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name, self.dotted = module, name, f"{module}.{name}"


def plain(found: Any) -> Any:
    """A function as it was defined: no method, no property, no cache around it."""
    while True:
        if isinstance(found, property):
            found = found.fget
        elif isinstance(found, cached_property):
            found = found.func
        elif isinstance(found, MethodType | staticmethod | classmethod):
            owner = getattr(found, "__self__", None)
            if isinstance(owner, Formula):
                return owner
            found = found.__func__
        elif isinstance(found, type) or not hasattr(found, "__wrapped__"):
            return found.func if isinstance(found, partial) else found
        else:
            found = found.__wrapped__


def named(found: Any) -> str:
    """Module and name of a function, a class or a constant of a module."""
    if isinstance(found, Constant):
        return found.dotted
    if isinstance(found, FunctionType | type):
        return f"{found.__module__}.{found.__qualname__}"
    return ""


def split(name: str) -> tuple[str, str]:
    """The module and what follows it."""
    module = name
    while module not in sys.modules:
        module = module.rpartition(".")[0]
    return module, name[len(module) + 1 :]


def within(names: Names, path: str) -> Any:
    """What a dotted name stands for."""
    first, *more = path.split(".")
    found = names.get(first)
    for each in more:
        found = getattr(found, each, None)
    return found


@cache
def tree(module: str) -> dict[str, ast.AST]:
    """What a module defines and assigns, by name."""
    found: dict[str, ast.AST] = {}
    try:
        body = ast.parse(inspect.getsource(sys.modules[module])).body
    except (OSError, TypeError):
        return found
    _collect(body, "", found)
    return found


def _collect(body: list[ast.stmt], inside: str, found: dict[str, ast.AST]) -> None:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[inside + node.name] = node
            if isinstance(node, ast.ClassDef):
                _collect(node.body, f"{inside}{node.name}.", found)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for each in ast.walk(target):
                    if isinstance(each, ast.Name):
                        typed = isinstance(node, ast.AnnAssign) and inside
                        found[inside + each.id] = node if typed else node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[inside + node.target.id] = node
        elif isinstance(node, ast.If):  # imports for types
            _collect(node.body, inside, found)
        elif isinstance(node, ast.ImportFrom) and node.module and not inside:
            for alias in node.names:
                found.setdefault(f"from {alias.asname or alias.name}", node)


def is_data(value: Any) -> bool:
    """Whether a value is no function, class, module or formula."""
    kinds = (FunctionType, type, ModuleType, Formula)
    return value is not None and not isinstance(plain(value), kinds)


def constants(module: str, name: str) -> Iterator[Constant]:
    """A module's constant, in the module that assigns it."""
    held = tree(module)
    if name in held:
        yield Constant(module, name)
    elif isinstance(node := held.get(f"from {name}"), ast.ImportFrom):
        alias = next(a for a in node.names if (a.asname or a.name) == name)
        if node.module in sys.modules and ours(node.module):
            yield from constants(node.module, alias.name)


def typed(module: str, name: str) -> Any:
    """What a module imports for its types alone."""
    node = tree(module).get(f"from {name}")
    if not (isinstance(node, ast.ImportFrom) and ours(node.module)):
        return None
    alias = next(a for a in node.names if (a.asname or a.name) == name)
    return imported(node.module, alias.name)


def imported(module: Any, name: str) -> Any:
    """What ``from module import name`` gives."""
    found = getattr(import_module(module), name, None)
    return import_module(f"{module}.{name}") if found is None else found


def ours(module: Any) -> bool:
    """Whether a module is of this package."""
    return isinstance(module, str) and module.split(".")[0] == PACKAGE
