"""A number without a source is a rumour: every one here says where it comes from.

A :class:`Cited` is a value with its unit, its kind and its source. It offers no
arithmetic on purpose: ``float(cited)`` is the visible step from a cited fact to a
number that is ours.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["datasheet", "paper", "measured", "convention", "estimate"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True)
class Cited:
    """One number with its unit, what kind of evidence it is, and its source.

    ``unit`` is a string in SI base form (``"byte/s"``, ``"FLOP/s"``). ``kind`` is
    *datasheet* (the vendor promises it), *paper* (a publication prints it), *measured*
    (from a run), *convention* (agreed, not found) or *estimate* (reasoned out).
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

    def shown(self, digits: int = 5) -> str:
        """Print the value as a reader sees it, rounded to ``digits``: ``3.35 TB/s``."""
        from llmserve_lab.formula.text import said

        return said(self.value, self.unit, digits)


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
