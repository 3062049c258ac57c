"""What stands behind an expression of a notebook: followed back from name to name.

The number ``f"{idle:.0%}"`` says little by itself. Its cells also say that ``idle`` is
``stays.idle / stays.left``, and where ``stays`` is from. So each name is replaced by
the assignment that made it, until only the library's functions, formulas and cited
numbers are left. Nothing is run again, but for formulas, which cost nothing.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log10
from numbers import Integral, Real
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.origin import Assignment, CellRun, Computed, Evidence, Origin
from llmserve_lab.page.assignments import assigned, bare, chained, free, short, written

MOST_STEPS, DEEPEST = 6, 3
MOST_SETTINGS = 12
PLAIN = (Real, str)
WAYS = ("at", "computed", "reusing")  # of calling a formula
CALLED = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType, Formula)
SCALED = (ast.Mult, ast.Div)
Names = Mapping[str, Any]
Made = tuple[str, str, ast.expr]  # a name, the left side as written, what made it


class _UnknownError(Exception):
    """What an expression comes to is not known without running it."""


@dataclass(frozen=True)
class NotebookCells:
    """The names of a notebook, and what its cells have assigned, in their order."""

    names: Names
    made: Sequence[Made] = field(default_factory=tuple)

    def origin(self, node: ast.expr) -> Origin:
        """A formula with its values, a cited number, or the run with what is behind."""
        if isinstance(node, ast.Tuple) and len(node.elts) > 1:  # and its unit
            node = node.elts[0]
        node, made, name = bare(node), self.made, ""
        if isinstance(node, ast.Name) and (at := self.last(node.id, made)) is not None:
            name, node, made = f"{made[at][1]} = ", bare(made[at][2]), made[:at]
        before = replace(self, made=made)
        return before.exact(node) or before.run(node, name)

    def run(self, node: ast.expr, name: str = "") -> CellRun:
        """An expression as it is written, and what is behind it."""
        text, does = short(name + written(node)), self.does(node)
        return CellRun(text, does, self.settings(node), tuple(self.steps(node)))

    def exact(self, node: ast.expr) -> Computed | Evidence | None:
        """The formula or the cited number that an expression is, in whatever unit."""
        node = bare(node)
        while isinstance(node, ast.BinOp) and isinstance(node.op, SCALED):
            if is_prefix(node.right):
                node = bare(node.left)
            elif is_prefix(node.left) and isinstance(node.op, ast.Mult):
                node = bare(node.right)
            else:
                return None
        if isinstance(node, ast.Attribute) and node.attr == "value":
            node = node.value
        found = self.computed(node) or self.value_or_none(node)
        if isinstance(found, Computed | Evidence):
            return found
        at = self.last(node.id, self.made) if isinstance(node, ast.Name) else None
        if at is None:
            return None
        return replace(self, made=self.made[:at]).exact(self.made[at][2])

    def steps(self, node: ast.expr) -> Iterator[Assignment]:
        """The assignments behind an expression, the nearest first."""
        waiting, said = [(node, self.made, 0)], set[str]()
        while waiting:
            node, made, depth = waiting.pop(0)
            yield from self.formulas(node, said)
            for at in (self.last(name, made) for name in free(node)):
                if at is None or len(said) == MOST_STEPS:
                    continue
                _, left, right = made[at]
                before = replace(self, made=made[:at])
                text, exact = short(f"{left} = {written(right)}"), before.exact(right)
                if text in said:
                    continue
                said.add(text)
                yield Assignment(text, self.does(right), self.settings(right), exact)
                if exact is None and depth + 1 < DEEPEST:
                    waiting.append((right, made[:at], depth + 1))

    def formulas(self, node: ast.expr, said: set[str]) -> Iterator[Assignment]:
        """Calls of formulas within an expression, which are not yet ``said``."""
        for each in ast.walk(node):
            text = written(each) if isinstance(each, ast.Call) else ""
            if text and text not in said and (exact := self.computed(each)) is not None:
                said.add(text)
                yield Assignment(short(text), exact=exact)

    def last(self, name: str, made: Sequence[Made]) -> int | None:
        """Where a name of data was made last."""
        if isinstance(self.names.get(name), CALLED):
            return None
        return next((i for i in range(len(made))[::-1] if made[i][0] == name), None)

    def does(self, node: ast.expr) -> str:
        """What the first function says that it does, or the first property."""
        if isinstance(node, ast.Attribute) and self.constant(node) is not None:
            owner = self.value_or_none(node.value)
            if isinstance(owner, ModuleType):
                return f"A setting of {owner.__name__}."
        if not free(node):
            return "Chosen on this page."
        for each in ast.walk(node):
            found: Any = None
            if isinstance(each, ast.Call):
                found = self.value_or_none(each.func)
                owner = getattr(found, "__self__", found)
                if isinstance(owner, Formula):
                    return owner.title
            elif isinstance(each, ast.Attribute):
                owner = type(self.value_or_none(each.value))
                found = getattr(owner, each.attr, None)
            if documented(found):
                words = (inspect.getdoc(found) or "").split("\n\n")[0]
                return " ".join(words.replace("`", "").split())
        return ""

    def settings(self, node: ast.expr) -> dict[str, Any]:
        """Plain arguments of its first call by name; constants and cited numbers."""
        if isinstance(node, ast.Attribute) and self.constant(node) is not None:
            return {}  # it shows itself
        calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
        said = dict(self.arguments(calls[0])) if calls else {}
        known = [*said.values()]
        said |= {name: each for name, each in self.constants(node) if each not in known}
        return dict(list(said.items())[:MOST_SETTINGS])

    def arguments(self, call: ast.Call) -> Iterator[tuple[str, Any]]:
        """Arguments and defaults of a call that are plain numbers, words, or cited."""
        function = self.value_or_none(call.func)
        if not documented(function) or isinstance(function, Formula):
            return
        values = [self.value_or_none(each) for each in call.args]
        named = {w.arg: self.value_or_none(w.value) for w in call.keywords if w.arg}
        try:
            bound = inspect.signature(function).bind_partial(*values, **named)
        except (TypeError, ValueError):
            return
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if (said := setting(value)) is not None:
                yield name, said

    def constants(self, node: ast.AST) -> Iterator[tuple[str, Any]]:
        """Constants of the library's modules, and cited numbers, by their names."""
        if chained(node) and (found := self.constant(node)) is not None:
            yield found
            return
        for each in ast.iter_child_nodes(node):
            yield from self.constants(each)

    def constant(self, node: ast.AST) -> tuple[str, Any] | None:
        """A cited number or a constant of a module, with the name that it has here."""
        value = self.value_or_none(node)
        if isinstance(value, Evidence):
            return ast.unparse(node), value
        if not (isinstance(node, ast.Attribute) and isinstance(value, PLAIN)):
            return None
        owner = self.value_or_none(node.value)
        is_ours = isinstance(owner, ModuleType)
        return (ast.unparse(node), setting(value)) if is_ours else None

    def computed(self, node: ast.AST) -> Computed | None:
        """A call of a formula, with what was put in."""
        if not isinstance(node, ast.Call):
            return None
        func = node.func
        is_way = isinstance(func, ast.Attribute) and func.attr in WAYS
        formula = self.value_or_none(func.value if is_way else func)  # type: ignore
        if not isinstance(formula, Formula):
            return None
        put_in = [*node.args, *(word.value for word in node.keywords)]
        try:
            values = [self.run_again(each) for each in put_in]
            words = [""] * len(node.args) + [word.arg for word in node.keywords]
            named = {w: each for w, each in zip(words, values, strict=True) if w}
            known = [each for w, each in zip(words, values, strict=True) if not w]
            if is_way and func.attr == "reusing":  # type: ignore
                return formula.computed(**formula.reused(*known))
            return formula.computed(*known, **named)
        except (_UnknownError, TypeError, ValueError):
            return None

    def value_or_none(self, node: ast.AST) -> Any:
        """What an expression without calls comes to, or None."""
        try:
            return self.value(node)
        except _UnknownError:
            return None

    def value(self, node: ast.AST) -> Any:
        """What an expression without calls comes to.

        Raises:
            _UnknownError: it has a call in it, or a name that is not known.
        """
        if not all(isinstance(each, STILL) for each in ast.walk(node)):
            raise _UnknownError
        return self.run_again(node)

    def run_again(self, node: ast.AST) -> Any:
        """What an expression comes to, calls and all.

        Raises:
            _UnknownError: it fails.
        """
        code = compile(ast.Expression(node), "<cell>", "eval")  # type: ignore[arg-type]
        try:
            return eval(code, {"__builtins__": {}}, dict(self.names))
        except Exception as error:
            raise _UnknownError from error


# Expressions that run nothing but look something up.
STILL = (
    ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.UnaryOp,
    ast.BinOp, ast.Tuple, ast.List, ast.Dict, ast.operator, ast.unaryop, ast.Load,
)  # fmt: skip


def cells(names: Names, codes: Sequence[str], until: int) -> NotebookCells:
    """NotebookCells that have run; of the last one the lines before line ``until``."""
    before = [each for code in codes[:-1] for each in assigned(code)]
    now = [each for each in assigned(codes[-1]) if each[0] < until]
    return NotebookCells(
        names, [(name, left, node) for _, name, left, node in (*before, *now)]
    )


def is_prefix(node: ast.expr) -> bool:
    """Whether it is a power of ten: it changes the prefix of a unit, and no more."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, Real) and value > 0 and float(log10(value)).is_integer()


def documented(found: Any) -> bool:
    """Whether it is a function, a class or a property of this book."""
    behind = found.func if isinstance(found, cached_property) else found
    module = getattr(getattr(behind, "fget", behind), "__module__", None)
    kinds = (property, cached_property)
    return callable(found) or isinstance(found, kinds) if _ours(module) else False


def _ours(module: Any) -> bool:
    return isinstance(module, str) and module.startswith("llmserve_lab")


def setting(value: Any) -> Any:
    """A plain value as text, a cited number as it is, a record by its name."""
    if isinstance(value, Evidence):
        return value
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, Integral):
        return f"{value:,}"
    if isinstance(value, Real):
        return f"{float(value):.4g}"
    name = getattr(value, "name", None)
    return name if isinstance(name, str) and not isinstance(value, CALLED) else None
