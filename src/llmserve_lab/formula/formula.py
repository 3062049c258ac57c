"""A formula is typed once and lives four times: page, worked example, NumPy, browser.

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

    from llmserve_lab.formula.latex import Worked
    from llmserve_lab.formula.origin import Computed, Sourced


@dataclass(frozen=True, eq=False)
class Formula:
    """``result`` = ``expr`` of quantities, some of which are results of ``uses``.

    The text shows the teaching form (FLOPs over bytes); computing starts with what the
    formulas in ``uses`` define. Call a formula with keyword arguments, or hand it an
    intermediate result and it will not ask for what lies below:

    >>> from llmserve_lab.roofline.formulas import INTENSITY
    >>> float(INTENSITY(iteration_flops=448e9, iteration_bytes=14e9))
    32.0

    ``derived`` marks an ``expr`` that SymPy works out (a limit, a solution) from other
    formulas, so that not even its author has typed it. ``ordered`` names pairs of terms
    of which the first is never the larger. ``variant`` tells apart formulas for one
    result: a label is used once in the book.
    """

    result: Quantity
    expr: Callable[..., Any]
    title: str
    source: str
    holds: str
    uses: tuple[Formula, ...] = ()
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
    def steps(self, *, keep: frozenset[str] = frozenset()) -> tuple[Formula, ...]:
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

    def __call__(self, **values: Any) -> Any:
        """Compute with NumPy in float64; arguments broadcast.

        Returns:
            A float64 scalar, or an array in the broadcast shape of the arguments, in
            the unit of ``result``.

        Raises:
            TypeError: a name is missing or unknown, or a value is not a real number.
            ValueError: a value is out of range, two of them are in the wrong order,
                shapes do not broadcast, or the result or one on the way to it is not
                finite or out of range.
        """
        from llmserve_lab.formula.evaluate import evaluate

        return evaluate(self, values)

    def given(self, *known: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """Pick out of ``known`` what the formula asks for, ``more`` added or changed.

        An intermediate result in ``more`` stands for all that lies below it, a
        coefficient there for its number.

        Raises:
            TypeError: none of them gives an argument of the formula, or it does not ask
                for one that is in ``more``.
        """
        keep = frozenset(more) & frozenset(self.known())
        asked = [leaf.name for leaf in self.leaves(keep=keep)]
        if unasked := sorted(set(more) - set(asked)):
            raise TypeError(f"{self.name} does not ask for {', '.join(unasked)}")
        merged = {name: each for part in known for name, each in part.items()} | more
        if missing := [name for name in asked if name not in merged]:
            raise TypeError(f"{self.name} needs {', '.join(missing)}")
        return {name: merged[name] for name in asked}

    def at(self, *known: Mapping[str, Any], **more: Any) -> Any:
        """Compute with what the formula asks for out of ``known`` and ``more``.

        Returns:
            As a call does, in the unit of ``result``.
        """
        return self(**self.given(*known, **more))

    def computed(self, *known: Mapping[str, Any], **more: Any) -> Computed:
        """The result together with the arguments that went in; see :meth:`at`.

        Raises:
            TypeError: an argument is missing, unknown, or an array.
        """
        from llmserve_lab.formula.origin import Computed

        given = self.given(*known, **more)
        return Computed(self, given, float(self(**given)))

    def said(self, *known: Mapping[str, Any], digits: int = 3, **more: Any) -> Sourced:
        """The result as a text with its unit that knows where it is from."""
        from llmserve_lab.formula.origin import Sourced
        from llmserve_lab.formula.text import said

        found = self.computed(*known, **more)
        return Sourced(said(found.value, found.unit, digits), found)

    @cached_property
    def latex(self) -> str:
        """LaTeX of the equation, in its teaching form."""
        from llmserve_lab.formula.latex import equation

        return equation(self)

    def worked(
        self, *known: Mapping[str, Any], digits: int = 3, **values: Any
    ) -> Worked:
        """The substitution with numbers and units, as a display of three lines.

        Values that the formula does not ask for may stand in ``known``, not elsewhere.
        """
        from llmserve_lab.formula.latex import worked

        given = self.given(*known, **values) if known else values
        return worked(self, given, digits=digits)

    def browser(self, names: Mapping[str, str] | None = None) -> str:
        """The Vega expression; each leaf prints as its code name, or as ``names`` says.

        Raises:
            TypeError: the formula needs a function that the browser does not offer.
            ValueError: ``names`` renames something that is not in the formula.
        """
        from llmserve_lab.formula.vega import vega_expression

        return vega_expression(self, names or {})

    def _repr_html_(self) -> str:
        from llmserve_lab.formula.html import formula_html

        return formula_html(self)

    def __repr__(self) -> str:
        which = f" ({self.variant})" if self.variant else ""
        return f"{self.name}{which} = {self.teaching}"
