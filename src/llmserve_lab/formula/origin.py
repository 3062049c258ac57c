"""Where a number is from (its provenance): a formula, cited evidence, or a run.

A text keeps the origin of its number (:class:`Sourced`) on the way from the code that
computes it to the page that shows it. Everything else takes it for plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from llmserve_lab.formula.band import ErrorBand
from llmserve_lab.formula.equation import Equation


@runtime_checkable
class Evidence(Protocol):
    """A number with its unit, what kind of evidence it is, and its source.

    The catalog's ``Cited`` is one; formulas and pages need to know no more of it.
    """

    @property
    def value(self) -> float:
        """The number, in ``unit``."""

    @property
    def unit(self) -> str:
        """Its unit, as the book spells units."""

    @property
    def kind(self) -> str:
        """What kind of evidence it is: datasheet, paper, measured, and so on."""

    @property
    def source(self) -> str:
        """What is cited for it."""

    @property
    def note(self) -> str:
        """What a careful reader would ask next; may be empty."""

    @property
    def url(self) -> str:
        """Where the source can be read, empty where it is not on the web."""


@dataclass(frozen=True, eq=False)
class Computed:
    """The result of a formula with the arguments that were put in.

    ``given`` holds what the formula asked for, by name: bare numbers, and evidence with
    its source. ``value`` is in the unit of the formula's result. A prediction has a
    ``band``: how far off predictions like it were.
    """

    formula: Equation
    given: Mapping[str, Any]
    value: float
    band: ErrorBand | None = None

    @property
    def unit(self) -> str:
        """The unit of the formula's result."""
        return self.formula.result.unit

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True)
class Assignment:
    """An assignment behind a number: its text, and the run or formula that it is."""

    text: str
    does: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    exact: Computed | Evidence | None = None


@dataclass(frozen=True)
class CellRun:
    """Run of a notebook cell that printed a number: the call, and its settings.

    ``steps`` are the assignments that gave the names in the call, the nearest first.
    """

    call: str
    does: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[Assignment, ...] = ()


Origin = Computed | Evidence | CellRun


Show = Callable[[Computed, str], str]
_SHOWN: list[Show] = []


def hand_in(show: Show) -> None:
    """Make ``show`` what writes the sources under a worked line; the page does so."""
    _SHOWN[:] = [show]


def small_print(computed: Computed, text: str) -> str:
    """HTML under a worked line: sources of what was put in; empty without a page."""
    return _SHOWN[0](computed, text) if _SHOWN else ""


class Sourced(str):
    """A text that knows where its number is from, and how far off such numbers were.

    Without an origin it is from the run that shows it.
    """

    origin: Origin | None
    band: ErrorBand | None

    def __new__(
        cls, text: str, origin: Origin | None, band: ErrorBand | None = None
    ) -> Sourced:
        """Attach an origin to a text; the text itself stays as it is."""
        made = super().__new__(cls, text)
        made.origin, made.band = origin, band
        return made
