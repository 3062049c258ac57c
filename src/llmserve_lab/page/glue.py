"""Prose states a number only after a cell has computed it: ``glue`` hands it over.

In the text it stands as ``[295 FLOP/byte](#num-ridge)``; ``make run`` writes what is
between the brackets.
"""

from __future__ import annotations

from llmserve_lab.formula.text import said

Gluable = str | tuple[float, str]
PREFIX = "application/papermill.record/"


def glue(**numbers: Gluable) -> None:
    """Store numbers in the cell's output, for links such as ``[?](#num-ridge)``.

    A value is a text, or a pair of number and unit that :func:`said` formats. The
    output is stored, compared by the notebook tests, and shown only in the text.

    Raises:
        TypeError: a value is neither a text nor a pair.
    """
    from IPython.display import display

    for name, value in numbers.items():
        data = {f"{PREFIX}text/plain": repr(_text(name, value))}
        metadata = {"scrapbook": {"name": name, "mime_prefix": PREFIX}}
        display(data, raw=True, metadata=metadata)  # type: ignore[no-untyped-call]


def _text(name: str, value: Gluable) -> str:
    if isinstance(value, str):
        return value
    if not (isinstance(value, tuple) and len(value) == 2):
        raise TypeError(f"{name} must be a text or (value, unit), got {value!r}")
    return said(value[0], value[1])
