"""What a reader can turn: a quantity along a few good stops, or one choice of a list.

A control sets signals, the named numbers that a live figure's formulas read. A slider
sets one; a choice sets its own index, and with it a column of numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llmserve_lab.checks import key_of
from llmserve_lab.formula.origin import Evidence
from llmserve_lab.formula.quantity import Quantity

CONTROL_DIGITS = 6  # what the reader has set is shown in full: 4096, not 4100
Param = dict[str, Any]
Table = tuple[Any, ...]


@dataclass(frozen=True)
class Slider:
    """One quantity, moved along ``stops`` (in the quantity's unit).

    ``source`` says where the default is from, if it is not the reader's to choose.

    Raises:
        ValueError: fewer than two stops, stops that do not rise, a stop outside the
            quantity's range, or a default that is not a stop.
    """

    quantity: Quantity
    stops: tuple[float, ...]
    default: float
    label: str = ""
    source: Evidence | None = None

    def __post_init__(self) -> None:
        self.quantity.checked(self.stops)
        rising = all(a < b for a, b in zip(self.stops, self.stops[1:], strict=False))
        if len(self.stops) < 2 or not rising:
            raise ValueError(f"stops of {self.name} must rise, got {self.stops}")
        key_of(f"default of {self.name}", self.default, self.stops)

    @property
    def name(self) -> str:
        """The signal it sets: the quantity's code name."""
        return self.quantity.name

    def params(self) -> list[Param]:
        """The signal at its default, as a Vega-Lite parameter."""
        return [{"name": self.name, "value": self.default}]

    def signal(self, setting: Any) -> float:
        """``setting`` as a number; any value in range, not only a stop."""
        return float(self.quantity.checked(setting))


@dataclass(frozen=True)
class Lookup:
    """A signal read from a table by the indices of one or more choices.

    ``table`` nests one level for each choice in ``by``; its numbers are floats or
    cited records, and None where a combination does not exist. ``unit`` is printed
    behind the number where a readout or the sentence shows it.
    """

    name: str
    by: tuple[str, ...]
    table: Table
    unit: str = ""

    def params(self) -> list[Param]:
        """The signal as an expression that indexes the table in the browser."""
        indices = "".join(f"[{name}]" for name in self.by)
        return [{"name": self.name, "expr": json.dumps(plain(self.table)) + indices}]

    def signal(self, known: Mapping[str, float]) -> float:
        """The entry at the indices in ``known``.

        Raises:
            ValueError: that combination does not exist.
        """
        found: Any = self.table
        for name in self.by:
            found = found[int(known[name])]
        if found is None:
            raise ValueError(f"{self.name} has no value for this choice of {self.by}")
        return number(found)

    def holes(self) -> list[list[int]]:
        """Index tuples of the combinations that do not exist."""
        return _holes(self.table, [])


@dataclass(frozen=True)
class Choice:
    """One of several named ``options``; ``sets`` gives a number to signals for each.

    The signal ``name`` is the index of the option, for a :class:`Lookup` to use.

    Raises:
        ValueError: the default is no option, or a column has another length.
    """

    name: str
    label: str
    options: tuple[str, ...]
    default: str
    sets: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.signal(self.default)
        for name, column in self.sets.items():
            if len(column) != len(self.options):
                raise ValueError(
                    f"{name} must have one value for each of the {len(self.options)} "
                    f"options of {self.name}, got {len(column)}"
                )

    @property
    def lookups(self) -> tuple[Lookup, ...]:
        """The columns of ``sets``, each a lookup by this choice alone."""
        return tuple(Lookup(name, (self.name,), col) for name, col in self.sets.items())

    def params(self) -> list[Param]:
        """The index at its default, then the columns."""
        own = [{"name": self.name, "value": self.options.index(self.default)}]
        return own + [param for lookup in self.lookups for param in lookup.params()]

    def signal(self, setting: Any) -> float:
        """The index of the option that is called ``setting``."""
        key_of(self.name, setting, self.options)
        return float(self.options.index(setting))


Control = Slider | Choice | Lookup


def number(value: Any) -> float:
    """A float from a float or from a cited record."""
    return float(getattr(value, "value", value))


def plain(table: Any) -> Any:
    """A nested table as lists of floats, None kept, for JSON."""
    if isinstance(table, tuple | list):
        return [plain(entry) for entry in table]
    return None if table is None else number(table)


def _holes(table: Any, at: list[int]) -> list[list[int]]:
    if isinstance(table, tuple | list):
        return [h for i, entry in enumerate(table) for h in _holes(entry, [*at, i])]
    return [at] if table is None else []
