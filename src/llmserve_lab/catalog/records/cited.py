"""A number without a source is a rumour: every one here says where it comes from.

A :class:`Cited` is a value with its unit, its kind and its source. It offers no
arithmetic on purpose: ``float(cited)`` is the visible step from a cited fact to a
number that is ours.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

from llmserve_lab.catalog.records.source_links import address
from llmserve_lab.formula.origin import Sourced
from llmserve_lab.formula.units import convert

Kind = Literal["datasheet", "paper", "measured", "counted", "convention", "estimate"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True)
class Cited:
    """One number with its unit, what kind of evidence it is, and its source.

    ``unit`` is a string in SI base form (``"byte/s"``, ``"FLOP/s"``). ``kind`` is
    *datasheet* (the vendor promises it), *paper* (a publication prints it), *measured*
    (from a run), *counted* (read off or added up from a published shape),
    *convention* (agreed, not found) or *estimate* (reasoned out).
    ``note`` says what a careful reader would ask next.

    Raises:
        TypeError: the value is not a real number of Python or NumPy.
        ValueError: the value is not finite, the kind is unknown, or the unit or the
            source is empty.
    """

    value: float
    unit: str
    kind: Kind
    source: str
    note: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.value, bool) or not isinstance(self.value, numbers.Real):
            raise TypeError(f"value must be a real number, got {self.value!r}")
        if not math.isfinite(self.value):
            raise ValueError(f"value must be finite, got {self.value}")
        if self.kind not in KINDS:
            known = ", ".join(KINDS)
            raise ValueError(f"kind must be one of {known}, got {self.kind!r}")
        for field in ("unit", "source"):
            if not getattr(self, field).strip():
                raise ValueError(f"{field} must say something, got an empty string")
        object.__setattr__(self, "value", float(self.value))

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.shown()} ({self.kind}: {self.source})"

    @property
    def url(self) -> str:
        """Address of the source on the web, empty where the book knows none."""
        return address(self.source)

    def in_unit(self, unit: str, *, what: str) -> Cited:
        """The same number in ``unit``; ``what`` names it in an error.

        Raises:
            ValueError: its unit is unknown, or does not measure the same thing.
        """
        if self.unit == unit:
            return self
        value = float(convert(self.value, self.unit, to=unit, what=what))
        return replace(self, value=value, unit=unit)

    def shown(self, digits: int = 5) -> Sourced:
        """Print the value as a reader sees it, rounded to ``digits``: ``3.35 TB/s``."""
        from llmserve_lab.formula.text import said

        return Sourced(said(self.value, self.unit, digits), self)


Given = float | Cited  # what a formula takes: a bare number, or one with its source


def fraction(part: Cited, whole: Cited, *, note: str = "") -> Cited:
    """Divide a number that was reached by the peak it is a share of.

    Both must have the same unit. The result is dimensionless; its kind and source are
    those of ``part``, because the peak is only the yardstick.

    Raises:
        ValueError: the units differ, or the share is not in (0, 1].
    """
    if part.unit != whole.unit:
        raise ValueError(f"part must be in {whole.unit} as the whole, got {part.unit}")
    share = float(part) / float(whole)
    if not 0 < share <= 1:
        raise ValueError(f"part / whole must lie in (0, 1], got {share:g}")
    return Cited(share, "dimensionless", part.kind, part.source, note or part.note)


def cite_in(record: Any, **units: str | Mapping[str, str]) -> None:
    """Bring cited fields of a frozen record into their unit, or refuse them by name.

    A field may hold one number, None, or a mapping of numbers, with one unit for all
    or one for each key. Called while the record is made, so that a bandwidth in TB/s
    is never read as one in bytes per second.

    Raises:
        TypeError: a field holds a number without a source.
        ValueError: a unit is unknown, or does not measure the same thing; a mapping has
            a key that it may not have.
    """
    for name, unit in units.items():
        held = getattr(record, name)
        if held is not None:
            object.__setattr__(record, name, _brought(held, unit, name))


def _brought(held: Any, unit: str | Mapping[str, str], what: str) -> Any:
    if isinstance(held, Mapping):
        parts = {}
        for key, each in held.items():
            if not isinstance(unit, str) and key not in unit:
                raise ValueError(
                    f"{what} must be by {', '.join(unit)}, got a number for {key!r}"
                )
            one = unit if isinstance(unit, str) else unit[key]
            parts[key] = _brought(each, one, f"{what}[{key!r}]")
        return MappingProxyType(parts)
    if not (isinstance(held, Cited) and isinstance(unit, str)):
        raise TypeError(
            f"{what} must be a Cited, a number with unit and source, got {held!r}"
        )
    return held.in_unit(unit, what=what)
