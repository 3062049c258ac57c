"""The names that a piece of code uses, and the types that its annotations give.

A name that only types something, or is only imported, is not used. A method is looked
up in the class that annotations give its owner; a notebook's values are known.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from llmserve_lab.formula.formula import Formula
from llmserve_lab.page.predicted.code import (
    Constant,
    Names,
    constants,
    imported,
    is_data,
    ours,
    plain,
    tree,
    typed,
    within,
)
from llmserve_lab.page.predicted.predictors import PREDICTORS

TYPING = ("isinstance", "issubclass", "cast")  # calls that only type


class CodeReader:
    """The names that a piece of code uses, and the types that its annotations give."""

    def __init__(self, names: Names, module: str, owner: Any = None) -> None:
        self.names, self.module, self.owner = names, module, owner
        self.local: dict[str, Any] = {}  # imported within the function
        self.types: dict[str, tuple[type, ...]] = {}

    def of(self, node: ast.AST) -> Iterator[Any]:
        """Each function, class that is made, constant, formula."""
        body: list[ast.AST] = [node]
        if isinstance(node, ast.FunctionDef):
            self._arguments(node)
            defaults = [*node.args.defaults, *node.args.kw_defaults]
            body = [*node.body, *(each for each in defaults if each is not None)]
        for each in body:
            yield from self._uses(each)

    def _arguments(self, node: ast.FunctionDef | ast.Lambda) -> None:
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        for place, each in enumerate(every):
            self.types[each.arg] = self.classes(each.annotation)
            if place == 0 and isinstance(self.owner, type):
                self.types[each.arg] = (self.owner,)
            self.local[each.arg] = None

    def _uses(self, node: ast.AST) -> Iterator[Any]:
        if isinstance(node, ast.ImportFrom | ast.Import):
            self._import(node)
            return
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            self._arguments(node)
            body: list[Any] = (
                node.body if isinstance(node, ast.FunctionDef) else [node.body]
            )
            for each in body:
                yield from self._uses(each)
            return
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in TYPING:
            yield from self._uses(node.args[0])
            return
        if isinstance(node, ast.AnnAssign):
            if isinstance(node.target, ast.Name):
                self.types[node.target.id] = self.classes(node.annotation)
            children: Iterable[ast.AST] = [node.value] if node.value else []
        else:
            self._learn(node)
            children = ast.iter_child_nodes(node)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(
            node.ctx, ast.Load
        ):
            yield from self._found(node)
        if isinstance(node, ast.Call) and isinstance(
            made := self.value(node.func), type
        ):
            yield made
        # A comprehension's own names are known before what it makes is read.
        for each in sorted(children, key=_not_named_yet):
            yield from self._uses(each)

    def _learn(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.For | ast.comprehension):
            pairs = [(node.target, node.iter)]
        elif isinstance(node, ast.NamedExpr):
            pairs = [(node.target, node.value)]
        else:
            return
        for target, value in pairs:
            for each in ast.walk(target):
                if isinstance(each, ast.Name):
                    self.types[each.id] = self.type_of(value)
                    self.local[each.id] = None

    def _import(self, node: ast.ImportFrom | ast.Import) -> None:
        if isinstance(node, ast.ImportFrom) and ours(node.module):
            for alias in node.names:
                found = imported(node.module, alias.name)
                self.local[alias.asname or alias.name] = found

    def _found(self, node: ast.Name | ast.Attribute) -> Iterator[Any]:
        """What a name, or something of an owner, stands for."""
        value = self.value(node)
        if isinstance(node, ast.Attribute):
            for owner in self.type_of(node.value):
                yield from _members(owner, node.attr)
            owner = self.value(node.value)
            if isinstance(owner, type):
                yield from _members(owner, node.attr)
                return
            if isinstance(owner, ModuleType) and is_data(value):
                yield from constants(owner.__name__, node.attr)
        elif node.id not in self.local and is_data(value):
            yield from constants(self.module, node.id)
        if isinstance(plain(value), FunctionType | Formula):
            yield value

    def value(self, node: ast.AST) -> Any:
        """What a name stands for, where that is known without running anything."""
        if isinstance(node, ast.Name):
            held = self.local if node.id in self.local else self.names
            return held.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value)
            if isinstance(owner, ModuleType):
                return getattr(owner, node.attr, None)
            if isinstance(owner, type):
                return inspect.getattr_static(owner, node.attr, None)
            if isinstance(owner, Formula):
                return owner
        return None

    def type_of(self, node: ast.AST) -> tuple[type, ...]:
        """Classes of this book that an expression, or each of its items, may be of."""
        if isinstance(node, ast.Name) and node.id in self.types:
            return self.types[node.id]
        if isinstance(node, ast.Call):
            if isinstance(made := self.value(node.func), type):
                return (made,) if ours(made.__module__) else self._parts(node)
            if isinstance(plain(made), FunctionType):
                return returned(plain(made))
            if isinstance(node.func, ast.Attribute):
                owners = self.type_of(node.func.value)
                found = [plain(m) for o in owners for m in _members(o, node.func.attr)]
                back = [c for f in found if callable(f) for c in returned(f)]
                return tuple(back) or owners  # .items(), say
            return self._parts(node)
        if isinstance(node, ast.Attribute):
            owners = self.type_of(node.value)
            return tuple(c for o in owners for c in member_types(o, node.attr))
        if isinstance(node, ast.Name | ast.Constant | ast.JoinedStr | ast.Compare):
            value = self.value(node)
            return (type(value),) if ours(type(value).__module__) else ()
        return self._parts(node)

    def _parts(self, node: ast.AST) -> tuple[type, ...]:
        parts = [each for each in ast.iter_child_nodes(node)]
        return tuple({c: 0 for each in parts for c in self.type_of(each)})

    def classes(self, annotation: ast.AST | None) -> tuple[type, ...]:
        """Classes of this book that an annotation names."""
        if annotation is None:
            return ()
        found = []
        for each in ast.walk(annotation):
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                try:
                    return self.classes(ast.parse(each.value, mode="eval"))
                except SyntaxError:
                    continue
            if isinstance(each, ast.Name):
                value = self.names.get(each.id) or typed(self.module, each.id)
                if isinstance(value, type) and ours(value.__module__):
                    found.append(value)
                elif each.id in ("Self",) and isinstance(self.owner, type):
                    found.append(self.owner)
        return tuple(found)


def _not_named_yet(node: ast.AST) -> bool:
    return not isinstance(node, ast.comprehension)


class NotebookReader(CodeReader):
    """The same for the code of a notebook, whose values are known."""

    def __init__(self, names: Names) -> None:
        super().__init__(names, "__main__")

    def type_of(self, node: ast.AST) -> tuple[type, ...]:
        """Classes of a value, or of what a collection holds."""
        if isinstance(node, ast.Name) and node.id not in self.local:
            return tuple(_kinds(self.names.get(node.id)))
        return super().type_of(node)


def _kinds(value: Any, depth: int = 2) -> Iterator[type]:
    if ours(type(value).__module__):
        yield type(value)
    if depth and isinstance(value, dict | list | tuple):
        held = value.values() if isinstance(value, dict) else value
        yield from {c: 0 for each in held for c in _kinds(each, depth - 1)}


def _members(owner: type, name: str) -> Iterator[Any]:
    """A method or a property of a class, or a field that predicts."""
    found = inspect.getattr_static(owner, name, None)
    field = f"{owner.__module__}.{owner.__qualname__}.{name}"
    if isinstance(plain(found), FunctionType):
        yield found
    elif field in PREDICTORS:
        yield Constant(f"{owner.__module__}.{owner.__qualname__}", name)


@cache
def returned(function: Any) -> tuple[type, ...]:
    """Classes of this book that a function says it returns."""
    module, path = getattr(function, "__module__", ""), function.__qualname__
    if not ours(module):
        return ()
    node = tree(module).get(path)
    owner = within(vars(sys.modules[module]), path.rpartition(".")[0])
    back = node.returns if isinstance(node, ast.FunctionDef) else None
    return CodeReader(vars(sys.modules[module]), module, owner).classes(back)


@cache
def member_types(owner: type, name: str) -> tuple[type, ...]:
    """Classes of this book that a field, a property or a method may give."""
    for each in owner.__mro__:
        if not ours(each.__module__):
            continue
        found = vars(each).get(name)
        if isinstance(plain(found), FunctionType):
            return returned(plain(found))
        node = tree(each.__module__).get(f"{each.__qualname__}.{name}")
        if isinstance(node, ast.AnnAssign):
            names = vars(sys.modules[each.__module__])
            return CodeReader(names, each.__module__, each).classes(node.annotation)
    return ()
