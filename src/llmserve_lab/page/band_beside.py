"""An error band beside its number, as HTML."""

from __future__ import annotations

from llmserve_lab.formula.band import Band, ErrorBand
from llmserve_lab.page.html import escape, tag


def shown(band: ErrorBand | None, at: tuple[float, str] | None = None) -> str:
    """An error band as HTML beside its number; empty without one.

    Where the number and its unit are told, a band may say where the truth would lie.
    """
    if band is None:
        return ""
    said = band.beside(*at) if at and isinstance(band, Band) else band.short
    name = tag("span", "error band: ", class_="origin-hidden")
    return " " + tag("small", name + escape(said), class_="band")
