"""An equation of the book: what it states, and what SymPy makes of it.

Its expression is a lambda whose argument names are the code names of quantities. Called
with SymPy symbols it becomes one expression; everything else is printed from that.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from llmserve_lab.formula.names import quantity
from llmserve_lab.formula.quantity import Coefficient, Quantity

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True, eq=False)
class Equation:
    """``result`` = ``expr`` of quantities, some of which are results of ``uses``.

    The text shows the teaching form (FLOPs over bytes); computing starts with what the
    equations in ``uses`` define.

    ``derived`` marks an ``expr`` that SymPy works out (a limit, a solution) from other
    equations, so that not even its author has typed it. ``ordered`` names pairs of
    terms of which the first is never the larger. ``variant`` tells apart equations for
    one result: a label is used once in the book.
    """

    result: Quantity
    expr: Callable[..., Any]
    title: str
    source: str
    holds: str
    uses: tuple[Equation, ...] = ()
    derived: bool = False
    ordered: tuple[tuple[str, str], ...] = ()
    variant: str = ""

    @property
    def name(self) -> str:
        """The code name of the result."""
        return self.result.name

    @property
    def label(self) -> str:
        """The formula's own name: ``iteration_s``, or ``iteration_s-mixed``."""
        return f"{self.name}-{self.variant}" if self.variant else self.name

    @property
    def link(self) -> str:
        """A reference to the equation in Markdown; the built page prints its number."""
        return f"[{self.label}](#eq-{self.label})"

    @cached_property
    def terms(self) -> Mapping[str, Quantity]:
        """The quantities of the teaching form, by code name."""
        named = {formula.name: formula.result for formula in self.uses}
        names = (
            sorted(str(symbol) for symbol in self.teaching.free_symbols)
            if self.derived
            else inspect.signature(self.expr).parameters
        )
        return {name: named.get(name) or quantity(name) for name in names}

    @cached_property
    def teaching(self) -> sympy.Expr:
        """The SymPy expression as the text shows it, intermediate results in place."""
        import sympy

        if self.derived:
            return sympy.sympify(self.expr())
        return sympy.sympify(self.expr(*(term.sympy for term in self.terms.values())))

    @cache  # noqa: B019 - a formula lives as long as the book
    def expanded(self, *, keep: frozenset[str] = frozenset()) -> sympy.Expr:
        """The expression down to its leaves, except below the names in ``keep``."""
        below = {
            formula.result.sympy: formula.expanded(keep=keep)
            for formula in self.uses
            if formula.name not in keep
        }
        return self.teaching.xreplace(below)

    @property
    def full(self) -> sympy.Expr:
        """The expression down to its leaves, coefficients replaced by their numbers."""
        import sympy

        numbers = {
            term.sympy: sympy.nsimplify(term.value, rational=True)
            for term in self.known().values()
            if isinstance(term, Coefficient)
        }
        return self.expanded().xreplace(numbers)

    @cache  # noqa: B019
    def known(self, *, keep: frozenset[str] = frozenset()) -> dict[str, Quantity]:
        """Every quantity met on the way down, intermediate results included."""
        steps = self.steps(keep=keep)
        return {name: term for step in steps for name, term in step.terms.items()}

    @cache  # noqa: B019
    def leaves(self, *, keep: frozenset[str] = frozenset()) -> tuple[Quantity, ...]:
        """The quantities that a caller must give, in a fixed order."""
        computed = {step.name for step in self.steps(keep=keep)}
        return tuple(
            term
            for name, term in sorted(self.known(keep=keep).items())
            if name in keep or not (name in computed or isinstance(term, Coefficient))
        )

    @cache  # noqa: B019
    def steps(self, *, keep: frozenset[str] = frozenset()) -> tuple[Equation, ...]:
        """What has to be computed, each after what it uses; this formula comes last."""
        below = [used for used in self.uses if used.name not in keep]
        deeper = (step for used in below for step in used.steps(keep=keep))
        return tuple(dict.fromkeys((*deeper, self)))

    @cached_property
    def in_range(self) -> bool:
        """Whether the signs of the terms prove that the result is in its range."""
        least, most = self.result.minimum, self.result.maximum
        if self.result.whole or most < math.inf or least > 0:
            return False
        if self.result.positive:
            return self.teaching.is_positive is True
        return least < 0 or self.teaching.is_nonnegative is True

    @cached_property
    def arguments(self) -> tuple[Quantity, ...]:
        """What the formula must be told when nothing but leaves is known."""
        return self.leaves()
