"""Prose states a number only after a cell has computed it: ``glue`` hands it over.

In the text it stands as ``[295 FLOP/byte](#num-ridge)``; ``make run`` writes what is
between the brackets.
"""

from __future__ import annotations

from typing import Any

from llmserve_lab.formula.latex import Worked
from llmserve_lab.formula.origin import CellRun, Computed, Evidence, Origin, Sourced
from llmserve_lab.formula.text import said
from llmserve_lab.page.banded import band_of
from llmserve_lab.page.cell import predicted, this_argument
from llmserve_lab.page.number_record import Provenance

Number = str | Worked | Computed | Evidence
Gluable = Number | tuple[float, str] | tuple[float, str, Worked | Computed | CellRun]
PREFIX = "application/papermill.record/"


def glue(**numbers: Gluable) -> None:
    """Store numbers in the cell's output, for links such as ``[?](#num-ridge)``.

    A value is a result (``RIDGE.computed(known)``), a cited number, a text, or a pair
    of number and unit that :func:`said` formats; a third part of it, or a ``Sourced``
    text, says where the number is from. What says nothing is from the expression that
    the cell hands in. A prediction is ``banded``. The record is stored beside the
    number; both are compared by the notebook tests.

    Raises:
        TypeError: a value is none of these.
    """
    from IPython.display import display

    for name, value in numbers.items():
        text, origin = _number(name, value)
        origin = origin or this_argument(name)
        data = {f"{PREFIX}text/plain": repr(str(text))}
        if origin is not None:
            book = Provenance()
            book.number(origin, name, band_of(value), predicted=predicted(name))
            data["text/html"] = book.script()  # nothing to see; a front end keeps it
        metadata = {"scrapbook": {"name": name, "mime_prefix": PREFIX}}
        display(data, raw=True, metadata=metadata)  # type: ignore[no-untyped-call]


def _number(name: str, value: Any) -> tuple[str, Origin | None]:
    """The text of a number, and where it says that it is from."""
    if isinstance(value, Sourced):
        return value, value.origin
    if isinstance(value, str):
        return value, None
    if isinstance(value, Worked):
        value = value.of
    if isinstance(value, Computed | Evidence):
        return said(value.value, value.unit), value
    if not (isinstance(value, tuple) and len(value) in (2, 3)):
        raise TypeError(
            f"{name} must be a result, a text or (value, unit), got {value!r}"
        )
    number, unit, *rest = value
    origin = rest[0] if rest else None
    return said(number, unit), origin.of if isinstance(origin, Worked) else origin
