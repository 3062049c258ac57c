"""What a slip of the pen could make of a formula: every operator, number and name."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

PACKAGE = "src/llmserve_lab"

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
}
EXTREMES = {"minimum": "maximum", "maximum": "minimum"}


@dataclass(frozen=True)
class Alike:
    """Which names a slip of the pen could put in place of another.

    ``units`` is the unit of every name that may stand there; a name of the same unit is
    the worse slip, because no gate of units sees it.
    """

    units: dict[str, str]

    def others(self, name: str) -> list[str]:
        """All names of the same unit; where there is none, the next one of another."""
        if name not in self.units:
            return []
        names = [other for other in self.units if other != name]
        same = [other for other in names if self.units[other] == self.units[name]]
        after = list(self.units).index(name)
        return same or [*names[after:], *names[:after]][:1]


@dataclass(frozen=True)
class Written:
    """One ``Formula(...)`` of a source file, and the formula that came of it."""

    path: Path
    name: str
    call: ast.Call
    formula: Any
    functions: dict[str, ast.FunctionDef] = field(repr=False)
    scope: dict[str, Any] = field(repr=False)

    def part(self, name: str) -> ast.expr | None:
        """The source of one keyword argument."""
        found = [word.value for word in self.call.keywords if word.arg == name]
        return found[0] if found else None

    @property
    def expr(self) -> ast.Lambda | ast.FunctionDef:
        """The right-hand side: a lambda, or a function of the same file."""
        expr = self.part("expr")
        match expr:
            case ast.Name(name) | ast.Lambda(body=ast.Call(ast.Name(name), [], [])):
                return self.functions[name]
        assert isinstance(expr, ast.Lambda)
        return expr

    @property
    def bodies(self) -> list[ast.expr]:
        """What the right-hand side computes: of a function, statement by statement."""
        if isinstance(self.expr, ast.Lambda):
            return [self.expr.body]
        steps = [s for s in self.expr.body if isinstance(s, ast.Assign | ast.Return)]
        return [step.value for step in steps if step.value is not None]

    @property
    def arguments(self) -> Alike:
        """What the lambda is told."""
        names = [arg.arg for arg in self.expr.args.args]
        return Alike({name: self.formula.terms[name].unit for name in names})

    @property
    def formulas(self) -> Alike:
        """Formulas that a derivation could start from by mistake."""
        from llmserve_lab.formula.formula import Formula

        found = {n: v for n, v in self.scope.items() if isinstance(v, Formula)}
        others = {n: v for n, v in found.items() if v is not self.formula}
        return Alike({name: each.result.unit for name, each in others.items()})

    @property
    def quantities(self) -> Alike:
        """Quantities that occur in the formulas that a derivation starts from."""
        from llmserve_lab.formula.formula import Formula

        nodes = [node for body in self.bodies for node in ast.walk(body)]
        named = [self.scope.get(n.id) for n in nodes if isinstance(n, ast.Name)]
        start = [each for each in named if isinstance(each, Formula)]
        known = [q for each in start for q in (*each.terms.values(), *each.leaves())]
        return Alike({q.name: q.unit for q in (*known, *self.formula.terms.values())})


def written(root: Path) -> Iterator[Written]:
    """Every formula of the book where it is typed."""
    from llmserve_lab.formula.formula import Formula

    for path in sorted((root / PACKAGE).rglob("formulas/*.py")):
        tree = ast.parse(path.read_text("utf8")).body
        functions = {
            each.name: each for each in tree if isinstance(each, ast.FunctionDef)
        }
        for node in tree:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                module = ".".join(path.relative_to(root / "src").with_suffix("").parts)
                scope = vars(importlib.import_module(module))
                name = ast.unparse(node.targets[0])
                if isinstance(formula := scope[name], Formula):
                    yield Written(path, name, node.value, formula, functions, scope)


def slips(node: ast.AST, of: Written, *, inside: bool) -> Iterator[ast.expr]:
    """What ``node`` could have been by mistake; ``inside`` a larger expression."""
    match node:
        case ast.BinOp(left, operator, right):
            yield ast.BinOp(left, OPERATORS[type(operator)](), right)
            yield from (left, right)
        case ast.Call(ast.Name("minimum" | "maximum" as name), args):
            yield ast.Call(ast.Name(EXTREMES[name]), args, [])
            yield from args
        case ast.Call(ast.Name("limit" | "at"), [first, *_]) if inside:
            yield first
        case ast.Constant("oo"):
            yield ast.Constant(0)
        case ast.Constant(int() | float() as value):
            yield ast.Constant("oo") if value == 0 else ast.Constant(value + 1)
        case ast.Attribute(ast.Name("q"), name):
            others = of.quantities.others(name)
            yield from (ast.Attribute(ast.Name("q"), other) for other in others)
        case ast.Name(name):
            others = of.arguments.others(name) or of.formulas.others(name)
            yield from map(ast.Name, others)


def exchanges(of: Written, body: ast.expr) -> Iterator[ast.expr]:
    """A body with two of the arguments exchanged."""
    for pair in combinations(of.arguments.units, 2):
        swap = dict(zip(pair, reversed(pair), strict=True))
        swapped = ast.parse(ast.unparse(body), mode="eval").body
        for node in ast.walk(swapped):
            if isinstance(node, ast.Name):
                node.id = swap.get(node.id, node.id)
        yield swapped


def fewer(items: Sequence[ast.expr]) -> Iterator[ast.expr]:
    """A tuple with one of its items left out."""
    for index in range(len(items)):
        yield ast.Tuple([*items[:index], *items[index + 1 :]])


def changes(of: Written) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Every part of a formula's definition, with what could stand in its place."""
    for body in of.bodies:
        for node in ast.walk(body):
            if isinstance(node, ast.expr):
                for slip in slips(node, of, inside=node is not body):
                    yield node, slip
            if isinstance(node, ast.keyword) and isinstance(node.value, ast.Tuple):
                yield from ((node.value, slip) for slip in fewer(node.value.elts))
        yield from ((body, slip) for slip in exchanges(of, body))
    if isinstance(uses := of.part("uses"), ast.Tuple):
        yield from ((uses, slip) for slip in fewer(uses.elts))
