"""Axes that cannot lie: title and unit are the quantity's, data are converted to it.

A chart asks its axis for the expression of what it draws. The axis knows its quantity
and the unit that it shows, so a title that names another quantity, a unit of another
dimension, or milliseconds under a title in seconds cannot be built.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.formula.text import unit_text
from llmserve_lab.formula.units import convert
from llmserve_lab.page.live.marks import Curve, curves, log_axis
from llmserve_lab.page.live.readout import Bound
from llmserve_lab.page.live.wording import named, shares_a_word, stems, told_apart
from llmserve_lab.page.palette import Ink


@dataclass(frozen=True)
class QuantityAxis:
    """A quantitative axis: one quantity, shown in one unit.

    Args:
        quantity: what lies along the axis.
        unit: the unit shown, of the quantity's dimension; the quantity's own if empty.
        words: the title before the unit; the quantity's meaning if empty. It must have
            a word of the meaning (or of the code name) in it.
        of: what the quantity is shown as a share of, in percent; the signal of that
            name holds it, and the words name it too.
        domain: both ends in the unit shown; open if left out.
        log: equal ratios at equal lengths; needs a domain.
        ticks: keywords of Altair's ``QuantityAxis``.

    Raises:
        ValueError: the unit measures something else, the words name something else, or
            a logarithmic axis has no domain above zero.
    """

    quantity: Quantity
    unit: str = ""
    words: str = ""
    of: Quantity | None = None
    domain: tuple[float, float] | None = None
    log: bool = False
    ticks: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._factor(self.quantity)
        for each in (self.quantity, self.of) if self.of else (self.quantity,):
            if self.words or self.of:
                check_named(f"words of an axis of {each.name}", self.words, each)
        if self.log and (self.domain is None or self.domain[0] <= 0):
            raise ValueError(
                f"a logarithmic axis of {self.quantity.name} needs a domain above 0, "
                f"got {self.domain}"
            )

    @property
    def shown(self) -> str:
        """The unit in which the axis shows its quantity, or what it is a share of."""
        return self.unit or (self.of or self.quantity).unit

    @property
    def title(self) -> str:
        """What lies along the axis, and its unit."""
        unit = "" if self.percent else unit_text(self.shown, plural=True)
        said = self.words or self.quantity.meaning
        unit_word = rf"(?<!\w){re.escape(unit)}(?!\w)"  # the s of "measured" is no unit
        return f"{said} ({unit})" if unit and not re.search(unit_word, said) else said

    @property
    def percent(self) -> bool:
        """Whether numbers are shown in percent: what is a share of something."""
        return self.of is not None or self.quantity.meaning.startswith("share ")

    def draws(self, source: Formula | Bound, **at: Any) -> str:
        """Vega expression of a formula's result, in the unit of the axis.

        ``at`` ties its arguments: to a field (``"datum.context"``), a signal, a number.
        """
        if isinstance(source, Bound):
            return self.scaled(source.expression(), source.formula.result)
        asked = {leaf.name for leaf in source.leaves(keep=frozenset(at))}
        tied = {
            name: value if isinstance(value, str) else f"({value!r})"
            for name, value in at.items()
            if name in asked
        }
        return self.scaled(source.browser(tied), source.result)

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
        return self.scaled(name, quantity)

    def value(self, number: float) -> float:
        """A number in the quantity's unit as it stands on the axis."""
        return number * self._factor(self.quantity)

    def on(
        self, channel: str, data: str, kind: str = "quantitative", *, bare: bool = False
    ) -> Any:
        """The Altair channel ``x`` or ``y`` that shows the field ``data``.

        A ``bare`` one leaves the drawing of the axis to the marks beside it.
        """
        from llmserve_lab.extras import altair as alt

        make, ticks = {"x": alt.X, "y": alt.Y}[channel], dict[str, Any]()
        if self.log and self.domain:
            look = log_axis(self.title, *self.domain, **self.ticks)
        else:
            ticks = {"format": "%"} if self.percent else {}
            ticks |= self.ticks
            look = {"title": self.title, "axis": alt.Axis(**ticks)}
            if self.domain:
                look["scale"] = alt.Scale(domain=list(self.domain), nice=False)
        if bare:
            look.pop("axis")
        return make(data, **look | {"type": kind})

    def scaled(self, expr: str, quantity: Quantity) -> str:
        """An expression of ``quantity`` in its own unit, as it stands on the axis."""
        factor = self._factor(quantity)
        if self.of:
            expr = f"({expr}) / {self.of.name}"
        return expr if factor == 1 else f"{factor:g} * ({expr})"

    def _factor(self, quantity: Quantity) -> float:
        """What a number in the quantity's unit is multiplied by.

        Raises:
            ValueError: the quantity cannot be shown in the unit of the axis.
        """
        what = f"an axis of {self.quantity.name} that shows {quantity.name}"
        return float(convert(1.0, quantity.unit, to=self.shown, what=what))


def check_named(what: str, text: str, quantity: Quantity, signal: str = "") -> None:
    """Refuse a text that has no word of the quantity that it stands for.

    Raises:
        ValueError: the text names something else; ``what`` it is, is in the message.
    """
    if not shares_a_word(text, f"{quantity.meaning} {quantity.name} {signal}"):
        raise ValueError(f"{what} must name it ({quantity.meaning}), got {text!r}")


def words_of(source: Formula | Quantity, signal: str = "") -> frozenset[str]:
    """All words by which a result, or a signal that holds it, may be called."""
    if isinstance(source, Formula):
        return named(source.result, signal) | stems(source.title)
    return named(source, signal)


@dataclass(frozen=True)
class Drawn:
    """A curve bound to a formula: what it is called, its ink, and what it is drawn at.

    ``at`` ties arguments of the formula to numbers or signals, beside those that run
    along the other axis. ``expr`` is drawn in its place, in the unit of its result,
    and ``means`` says what it computes. ``over`` is a part of the other axis. The rest
    is the look of a :class:`~.marks.Curve`.
    """

    name: str
    formula: Formula
    ink: Ink
    at: Mapping[str, Any] = field(default_factory=dict)
    label_at: float = 1.0
    dash: tuple[int, ...] = ()
    rising: bool = False
    expr: str = ""
    means: str = ""
    over: tuple[float, float] | None = None
    says: str = ""
    corners: tuple[str, ...] = ()

    def curve(self, y: QuantityAxis, along: str) -> Curve:
        """The curve, its data in the unit of ``y``, over the quantity ``along``."""
        if self.expr:
            expr = y.scaled(self.expr, self.formula.result)
        else:
            expr = y.draws(self.formula, **{along: f"datum.{along}"} | dict(self.at))
        look: dict[str, Any] = {"label_at": self.label_at, "dash": self.dash}
        look |= {"rising": self.rising, "says": self.says, "corners": self.corners}
        return Curve(self.name, expr, self.ink, **look)


def bound_curves(x: QuantityAxis, y: QuantityAxis, *drawn: Drawn) -> Any:
    """Curves of formulas over ``x``, each called by what it shows, as Altair layers.

    Raises:
        ValueError: a formula's result does not belong on ``y``; or two curves could
            change names, and each would be called as well by what it shows.
    """
    from llmserve_lab.extras import altair as alt

    told_apart([(d.name, stems(d.means) or words_of(d.formula)) for d in drawn])
    if x.domain is None:
        raise ValueError(f"the axis of {x.quantity.name} needs a domain for curves")
    along = x.quantity.name
    across, up = x.on("x", along), y.on("y", "value")
    ranges: dict[tuple[float, float], list[Curve]] = {}
    for each in drawn:
        ranges.setdefault(each.over or x.domain, []).append(each.curve(y, along))
    layers = [curves(across, up, over, *lines) for over, lines in ranges.items()]
    return layers[0] if len(layers) == 1 else alt.layer(*layers)
