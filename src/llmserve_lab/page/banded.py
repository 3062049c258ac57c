"""A number on a page is a prediction: it takes its error band with it.

``banded(value, band)`` is what ``glue``, a table's cell, a worked line and a figure's
readouts take in the number's place. What has no band says nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, overload

from llmserve_lab.formula.band import ErrorBand
from llmserve_lab.formula.latex import Worked
from llmserve_lab.formula.origin import CellRun, Computed, Origin, Sourced
from llmserve_lab.formula.text import said
from llmserve_lab.page.live.bands import BandTable, ReadoutBand
from llmserve_lab.page.live.readout import Readout

__all__ = ["BandTable", "band_of", "banded"]

Pair = tuple[float, str] | tuple[float, str, Computed | CellRun]


@overload
def banded(value: Computed, band: ErrorBand) -> Computed: ...
@overload
def banded(value: Worked, band: ErrorBand) -> Worked: ...
@overload
def banded(value: Readout, band: ReadoutBand) -> Readout: ...
@overload
def banded(value: str | Pair, band: ErrorBand) -> Sourced: ...
def banded(value: Any, band: Any) -> Any:
    """A predicted number together with its error band.

    ``value`` is a result (``F.computed(known)``), a worked line, a text that may know
    its origin, a pair of number and unit, perhaps with its origin, or a readout, whose
    band may be a :class:`BandTable` of its figure's settings.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(value, Computed):
        return replace(value, band=band)
    if isinstance(value, Worked):
        return replace(value, of=replace(value.of, band=band))
    if isinstance(value, Readout):
        return value.with_band(band)
    if isinstance(value, str):
        return Sourced(
            value, value.origin if isinstance(value, Sourced) else None, band
        )
    if not (isinstance(value, tuple) and len(value) in (2, 3)):
        raise TypeError(
            f"value must be a result, a text or (value, unit), got {value!r}"
        )
    number, unit, *rest = value
    origin: Origin | None = rest[0] if rest else None
    return Sourced(said(number, unit), origin, band)


def band_of(value: object) -> ErrorBand | None:
    """The error band of a number that is handed to a page, if it has one."""
    if isinstance(value, Worked):
        return value.of.band
    found = value.band if isinstance(value, Computed | Sourced) else None
    if found is None and isinstance(value, Sourced):
        return band_of(value.origin)
    return found
