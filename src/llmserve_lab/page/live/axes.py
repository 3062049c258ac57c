"""Axes that cannot lie: title and unit are the quantity's, data are converted to it.

A chart asks its axis for the expression of what it draws. The axis knows its quantity
and the unit that it shows, so a title that names another quantity, a unit of another
dimension, or milliseconds under a title in seconds cannot be built.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.formula.text import unit_text
from llmserve_lab.formula.units import convert
from llmserve_lab.page.live.marks import Curve, curves, log_axis
from llmserve_lab.page.live.readout import Bound
from llmserve_lab.page.live.wording import best_named, named, shares_a_word
from llmserve_lab.page.palette import Ink


@dataclass(frozen=True)
class QuantityAxis:
    """A quantitative axis: one quantity, shown in one unit.

    Args:
        quantity: what lies along the axis.
        unit: the unit shown, of the quantity's dimension; the quantity's own if empty.
        words: the title before the unit; the quantity's meaning if empty. It must have
            a word of the meaning (or of the code name) in it.
        domain: both ends in the unit shown; open if left out.
        log: equal ratios at equal lengths; needs a domain.
        ticks: keywords of Altair's ``Axis``.

    Raises:
        ValueError: the unit measures something else, the words name something else, or
            a logarithmic axis has no domain above zero.
    """

    quantity: Quantity
    unit: str = ""
    words: str = ""
    domain: tuple[float, float] | None = None
    log: bool = False
    ticks: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._factor(self.quantity)
        own = f"{self.quantity.meaning} {self.quantity.name}"
        if self.words and not shares_a_word(self.words, own):
            raise ValueError(
                f"words of an axis of {self.quantity.name} must name it "
                f"({self.quantity.meaning}), got {self.words!r}"
            )
        if self.log and (self.domain is None or self.domain[0] <= 0):
            raise ValueError(
                f"a logarithmic axis of {self.quantity.name} needs a domain above 0, "
                f"got {self.domain}"
            )

    @property
    def shown(self) -> str:
        """The unit in which the axis shows its quantity."""
        return self.unit or self.quantity.unit

    @property
    def title(self) -> str:
        """What lies along the axis, and its unit."""
        unit = unit_text(self.shown, plural=True)
        said = self.words or self.quantity.meaning
        return f"{said} ({unit})" if unit and unit not in said else said

    def draws(self, source: Formula | Bound, **at: Any) -> str:
        """Vega expression of a formula's result, in the unit of the axis.

        ``at`` ties its arguments: to a field (``"datum.context"``), a signal, a number.
        """
        if isinstance(source, Bound):
            return self._scaled(source.expression(), source.formula.result)
        asked = {leaf.name for leaf in source.leaves(keep=frozenset(at))}
        tied = {
            name: value if isinstance(value, str) else f"({value!r})"
            for name, value in at.items()
            if name in asked
        }
        return self._scaled(source.browser(tied), source.result)

    def reads(self, quantity: Quantity, signal: str = "") -> str:
        """Vega expression of a signal that holds ``quantity``, in the unit of the axis.

        A signal is called like its quantity, with the case before it where there are
        several: ``decode_kv_s`` holds a ``kv_s``.

        Raises:
            ValueError: the signal is not called like the quantity.
        """
        name = signal or quantity.name
        if name != quantity.name and not name.endswith(f"_{quantity.name}"):
            raise ValueError(
                f"signal must be called like {quantity.name}, got {name!r}"
            )
        return self._scaled(name, quantity)

    def of(self, channel: str, data: str) -> Any:
        """The Altair channel ``x`` or ``y`` that shows the field ``data``."""
        from llmserve_lab.extras import altair as alt

        make = {"x": alt.X, "y": alt.Y}[channel]
        if self.log and self.domain:
            return make(data, **log_axis(self.title, *self.domain, **self.ticks))
        look: dict[str, Any] = {"type": "quantitative", "title": self.title}
        if self.domain:
            look["scale"] = alt.Scale(domain=list(self.domain), nice=False)
        return make(data, axis=alt.Axis(**self.ticks), **look)

    def _scaled(self, expr: str, quantity: Quantity) -> str:
        factor = self._factor(quantity)
        return expr if factor == 1 else f"{factor:g} * ({expr})"

    def _factor(self, quantity: Quantity) -> float:
        """What a number in the quantity's unit is multiplied by.

        Raises:
            ValueError: the quantity cannot be shown in the unit of the axis.
        """
        what = f"an axis of {self.quantity.name} that shows {quantity.name}"
        return float(convert(1.0, quantity.unit, to=self.shown, what=what))


@dataclass(frozen=True)
class Drawn:
    """A curve bound to a formula: what it is called, its ink, and what it is drawn at.

    ``at`` ties arguments of the formula to numbers or signals, beside those that run
    along the other axis. The rest is the look of a :class:`~.marks.Curve`.
    """

    name: str
    formula: Formula
    ink: Ink
    at: Mapping[str, Any] = field(default_factory=dict)
    label_at: float = 1.0
    dash: tuple[int, ...] = ()
    rising: bool = False


def bound_curves(x: QuantityAxis, y: QuantityAxis, *drawn: Drawn) -> Any:
    """Curves of formulas over ``x``, each called by what it shows, as Altair layers.

    Raises:
        ValueError: a formula's result does not belong on ``y``; or the name of a curve
            says more of another formula that is drawn beside it.
    """
    results = {each.formula.name: named(each.formula.result) for each in drawn}
    for each in drawn:
        called = best_named(each.name, results)  # none where the name is that of a case
        if called and each.formula.name not in called:
            raise ValueError(
                f"a curve of {each.formula.name} must be called by it "
                f"({each.formula.result.meaning}), got {each.name!r}"
            )
    if x.domain is None:
        raise ValueError(f"the axis of {x.quantity.name} needs a domain for curves")
    along = {x.quantity.name: f"datum.{x.quantity.name}"}
    lines = [
        Curve(
            each.name,
            y.draws(each.formula, **along | dict(each.at)),
            each.ink,
            label_at=each.label_at,
            dash=each.dash,
            rising=each.rising,
        )
        for each in drawn
    ]
    across, up = x.of("x", x.quantity.name), y.of("y", "value")
    return curves(across, up, x.domain, *lines)
