"""The numbers under a figure: NumPy computes them for the page, the browser live."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property

from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.origin import Evidence
from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.page.live.bands import ReadoutBand
from llmserve_lab.page.live.controls import Param

Value = str | float | Evidence


class Bound:
    """A formula whose arguments are tied to other signals or to numbers.

    ``Bound(intensity, n_rows=1.0, context="prompt_len")`` reads the signal
    ``prompt_len`` where the formula says ``context``, and the number 1 for ``n_rows``.
    """

    def __init__(self, formula: Formula, **at: Value) -> None:
        self.formula = formula
        self.at: Mapping[str, Value] = at

    @classmethod
    def tied(cls, formula: Formula, known: Mapping[str, Value], *signals: str) -> Bound:
        """``formula`` tied to those of ``known`` that it asks for.

        ``signals`` are intermediate results that are derived elsewhere, under their own
        names, so that the formula reads them and not what lies below.
        """
        at: dict[str, Value] = {**known, **{name: name for name in signals}}
        asked = [leaf.name for leaf in formula.leaves(keep=frozenset(at))]
        return cls(formula, **{name: at[name] for name in asked if name in at})

    @cached_property
    def leaves(self) -> tuple[Quantity, ...]:
        """The arguments of the formula, where what is bound counts as one."""
        return self.formula.leaves(keep=frozenset(self.at))

    @property
    def needs(self) -> dict[str, Value]:
        """Where each argument of the formula comes from, by its name."""
        return {leaf.name: self.at.get(leaf.name, leaf.name) for leaf in self.leaves}

    def units(self) -> dict[str, str]:
        """Units of the signals that the formula reads."""
        sources = ((self.needs[leaf.name], leaf.unit) for leaf in self.leaves)
        return {name: unit for name, unit in sources if isinstance(name, str)}

    def expression(self) -> str:
        """The Vega expression over the signals."""
        names = {name: self._literal(name, value) for name, value in self.at.items()}
        return self.formula.browser(names)

    def value(self, known: Mapping[str, float]) -> float:
        """NumPy's number, given the signals in ``known``.

        Raises:
            ValueError: a signal that the formula needs is not set by any control.
        """
        missing = [
            s for s in self.needs.values() if isinstance(s, str) and s not in known
        ]
        if missing:
            raise ValueError(
                f"{self.formula.name} needs the signals {', '.join(missing)}, "
                "which no control and no derived formula sets"
            )
        given = {
            k: known[s] if isinstance(s, str) else s for k, s in self.needs.items()
        }
        return float(self.formula(**given))

    def _literal(self, name: str, value: Value) -> str:
        """A signal's name, or a number in the unit of the argument ``name``."""
        if isinstance(value, str):
            return value
        term = self.formula.known().get(name)
        if term is None:
            raise ValueError(f"{self.formula.name} has no argument {name}")
        number = float(term.checked(value))
        return f"({number!r})"


class Readout:
    """A number with its unit: a formula's result, or a signal called by its name.

    ``name`` is what the sentence and ``values()`` call it; without one it is the name
    of the formula's result. The other keywords bind arguments, as in :class:`Bound`. A
    prediction is ``banded``.
    """

    def __init__(
        self, shows: Formula | str, label: str, /, *, name: str = "", **at: Value
    ) -> None:
        self.bound = None if isinstance(shows, str) else Bound(shows, **at)
        self.name = name or (shows if isinstance(shows, str) else shows.name)
        self.label = label
        self.band: ReadoutBand | None = None

    def with_band(self, band: ReadoutBand) -> Readout:
        """The same number as a prediction: with the error band of its settings."""
        made = copy(self)
        made.band = band
        return made

    def params(self) -> list[Param]:
        """The Vega-Lite parameter that holds it; none where it shows a known signal."""
        if self.bound is None:
            return []
        return [{"name": self.name, "expr": self.bound.expression()}]

    def value(self, known: Mapping[str, float]) -> float:
        """NumPy's number at the signals in ``known``."""
        return known[self.name] if self.bound is None else self.bound.value(known)


@dataclass(frozen=True)
class Verdict:
    """A word instead of a number: the first of ``cases`` where ``less`` < ``than``.

    Equality counts as the second case (the ridge itself is compute-bound).
    """

    name: str
    label: str
    less: str
    than: str
    cases: tuple[str, str]

    def params(self) -> list[Param]:
        """The index of the case, computed in the browser."""
        return [{"name": self.name, "expr": f"{self.less} < {self.than} ? 0 : 1"}]

    def value(self, known: Mapping[str, float]) -> float:
        """The index of the case at the signals in ``known``."""
        return 0.0 if known[self.less] < known[self.than] else 1.0


@dataclass(frozen=True)
class Refusal:
    """What a figure says instead of its numbers, where ``signal`` is below ``least``.

    ``says`` stands in every tile; ``sentence``, with fields, in place of the figure's.
    """

    signal: str
    least: float
    says: str
    sentence: str

    def holds(self, known: Mapping[str, float]) -> bool:
        """Whether the numbers are refused at the signals in ``known``."""
        return known[self.signal] < self.least
