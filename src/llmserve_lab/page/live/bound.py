"""Marks that are bound: a name, an ink and what is drawn stand in one record.

A chart hands its records over together. Names that would fit as well, or better, if two
of them changed places are refused, so that a swap of marks cannot be built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.page.live.axes import QuantityAxis, check_named, words_of
from llmserve_lab.page.live.marks import by_ink, landmark
from llmserve_lab.page.live.wording import told_apart
from llmserve_lab.page.palette import GREY, Ink

Source = Formula | Quantity
NAMELESS = Quantity("", "dimensionless", "")  # a case that its prefix tells apart


@dataclass(frozen=True)
class BoundMark:
    """What a mark is called, what it draws, in which ink.

    ``signal`` holds the quantity (or the formula's result); it is called like it, with
    the case before it where there are several.
    """

    name: str
    source: Source
    ink: Ink = GREY
    signal: str = ""

    @property
    def quantity(self) -> Quantity:
        """What the mark draws."""
        source = self.source
        return source.result if isinstance(source, Formula) else source

    @property
    def formula(self) -> Formula:
        """The formula of what the mark draws.

        Raises:
            TypeError: the mark reads a quantity that its chart does not compute.
        """
        if not isinstance(self.source, Formula):
            raise TypeError(f"source of {self.name} must be a formula, got a quantity")
        return self.source

    def read(self, axis: QuantityAxis) -> str:
        """Vega expression of the signal, in the unit of the axis."""
        return axis.reads(self.quantity, self.signal)

    def draw(self, axis: QuantityAxis, **at: Any) -> str:
        """Vega expression of the formula, in the unit of the axis."""
        return axis.draws(self.formula, **at)


@dataclass(frozen=True)
class Case:
    """One of several cases of the same quantities: its name, its ink, its signals.

    The signals of a case begin with its ``prefix``: ``decode_kv_s``. ``of`` is what
    tells the case apart where the prefix is not a word of the name.

    Raises:
        ValueError: the prefix is not that of the formula.
    """

    name: str
    prefix: str
    ink: Ink
    of: Formula | None = None

    def __post_init__(self) -> None:
        if self.of and not self.of.name.startswith(f"{self.prefix}_"):
            raise ValueError(
                f"prefix of {self.name} must begin the name of {self.of.name}, "
                f"got {self.prefix!r}"
            )

    def signal(self, quantity: Quantity) -> str:
        """The signal that holds ``quantity`` in this case."""
        return f"{self.prefix}_{quantity.name}"


class Cases:
    """The cases of a chart: each row of its data belongs to one.

    Raises:
        ValueError: two cases could change names.
    """

    def __init__(self, field: str, *cases: Case) -> None:
        told_apart([(c.name, words_of(c.of or NAMELESS, c.prefix)) for c in cases])
        self.field, self.cases = field, cases

    @property
    def inks(self) -> dict[str, Ink]:
        """The ink of each case by its name."""
        return {case.name: case.ink for case in self.cases}

    def rows(self) -> list[dict[str, Any]]:
        """A row of data for each case."""
        return [{self.field: case.name} for case in self.cases]

    def reads(self, axis: QuantityAxis, quantity: Quantity) -> str:
        """Vega expression of the signal that belongs to the row's case."""
        signals = {c.name: c.signal(quantity) for c in self.cases}
        return picked(
            self.field, {n: axis.reads(quantity, signals[n]) for n in signals}
        )

    def color(self, *, legend: bool = True) -> Any:
        """The colour channel that gives each case its ink."""
        return by_ink(self.field, self.inks, legend=legend)["color"]


def picked(field: str, exprs: Mapping[str, str]) -> str:
    """Vega expression that picks the one of the row's name in ``field``."""
    names = ", ".join(f"'{name}': {expr}" for name, expr in exprs.items())
    return f"({{{names}}})[datum.{field}]"


class Marks(tuple[BoundMark, ...]):
    """Marks that stand side by side, each called by what it draws.

    Raises:
        ValueError: two marks could change names.
    """

    def __new__(cls, *marks: BoundMark) -> Marks:
        """Check the names of all marks against what they draw."""
        told_apart([(m.name, words_of(m.source, m.signal)) for m in marks])
        return super().__new__(cls, marks)

    @property
    def inks(self) -> dict[str, Ink]:
        """The ink of each mark by its name."""
        return {mark.name: mark.ink for mark in self}


@dataclass(frozen=True)
class Landmark:
    """A landmark: what it is called, and the quantity at whose value it stands.

    ``expr`` computes it in the quantity's unit where no signal holds it; ``left`` puts
    its name to the left of its rule, where it is a Vega expression wherever that is
    true.
    """

    name: str
    quantity: Quantity
    signal: str = ""
    down: float = 0
    expr: str = ""
    left: bool | str = False

    def on(self, axis: QuantityAxis) -> str:
        """Vega expression of where it stands on the axis."""
        if self.expr:
            return axis.scaled(self.expr, self.quantity)
        return axis.reads(self.quantity, self.signal)


def landmarks(
    axis: QuantityAxis, channel: str, data: str, *places: Landmark, bare: bool = False
) -> Sequence[Any]:
    """A thin rule for each place on an axis, called by what it is.

    Raises:
        ValueError: a name has no word of its quantity, or two could change places.
    """
    told_apart([(p.name, words_of(p.quantity, p.signal)) for p in places])
    for p in places:
        check_named(f"a landmark at {p.quantity.name}", p.name, p.quantity, p.signal)
    across = axis.on(channel, data, bare=bare)
    return [
        landmark(across, p.on(axis), p.name, at=p.down, left=p.left) for p in places
    ]


@dataclass(frozen=True)
class Larger:
    """The word for the larger of two results, where a chart says which one it is.

    ``text`` has ``{}`` where the word of the larger one stands.
    """

    one: BoundMark
    other: BoundMark
    text: str = "{}"

    def __post_init__(self) -> None:
        Marks(self.one, self.other)

    def expression(self, axis: QuantityAxis) -> str:
        """Vega expression of the text; the first word where both are equal."""
        first, second = (self.text.format(m.name) for m in (self.one, self.other))
        less = f"{self.one.read(axis)} < {self.other.read(axis)}"
        return f"{less} ? '{second}' : '{first}'"
