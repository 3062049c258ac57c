"""A formula is typed once and lives four times: page, worked example, NumPy, browser.

It is an equation (:mod:`llmserve_lab.formula.equation`) that computes and prints
itself: each of its methods hands it to the module that does the work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from llmserve_lab.formula import evaluate
from llmserve_lab.formula.equation import Equation
from llmserve_lab.formula.html import After, formula_html, legend_of
from llmserve_lab.formula.latex import Worked, equation, worked
from llmserve_lab.formula.origin import Computed, Sourced
from llmserve_lab.formula.text import said


@dataclass(frozen=True, eq=False)
class Formula(Equation):
    """An equation that computes with NumPy and prints for the page and the browser.

    Call a formula with keyword arguments, or hand it an intermediate result and it will
    not ask for what lies below:

    >>> from llmserve_lab.roofline.formulas import INTENSITY
    >>> float(INTENSITY(iteration_flops=448e9, iteration_bytes=14e9))
    32.0
    """

    def __call__(self, **values: Any) -> Any:
        """Compute with NumPy in float64; arguments broadcast.

        Returns:
            A float64 scalar, or an array in the broadcast shape of the arguments, in
            the unit of ``result``.

        Raises:
            TypeError: a name is missing or unknown, or a value is not a real number.
            ValueError: a value is out of range, two of them are in the wrong order,
                shapes do not broadcast, or the result or one on the way to it is not
                finite or out of range: then the arguments it came from are listed.
        """
        return evaluate.evaluate(self, values)

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

    def reusing(self, known: Mapping[str, Any]) -> Any:
        """Compute from ``known``, intermediate results taken where it has them.

        Returns:
            As a call does, in the unit of ``result``.
        """
        return self(**self.reused(known))

    def reused(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """What of ``known`` :meth:`reusing` hands to the formula."""
        asked = self.leaves(keep=frozenset(known))
        return {leaf.name: known[leaf.name] for leaf in asked}

    def computed(self, *known: Mapping[str, Any], **more: Any) -> Computed:
        """The result together with the arguments that went in; see :meth:`at`.

        Raises:
            TypeError: an argument is missing, unknown, or an array.
        """
        given = self.given(*known, **more)
        return Computed(self, given, float(self(**given)))

    def said(self, *known: Mapping[str, Any], digits: int = 3, **more: Any) -> Sourced:
        """The result as a text with its unit that knows where it is from."""
        found = self.computed(*known, **more)
        return Sourced(said(found.value, found.unit, digits), found)

    @cached_property
    def latex(self) -> str:
        """LaTeX of the equation, in its teaching form."""
        return equation(self)

    def worked(
        self, *known: Mapping[str, Any], digits: int = 3, **values: Any
    ) -> Worked:
        """The substitution with numbers and units, as a display of three lines.

        Values that the formula does not ask for may stand in ``known``, not elsewhere.
        """
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

    def after(self, *others: Formula) -> After:
        """The display on a page that has shown ``others``: only new letters told."""
        told = tuple(term for each in others for term in legend_of(each))
        return After(self, self.latex, told)

    def _repr_html_(self) -> str:
        return formula_html(self, self.latex)

    def __repr__(self) -> str:
        which = f" ({self.variant})" if self.variant else ""
        return f"{self.name}{which} = {self.teaching}"
