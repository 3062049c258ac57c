"""What a live chart plots, read back in the units of its axes, by ink."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.readout import Readout
from tests.page import drawn, seen

Point = tuple[float, float]
PREFIX = {"µ": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}


def number(text: str) -> float:
    """What stands at a tick: 1,000 and 10k, 50% and 0.1."""
    text = text.replace(",", "").replace("−", "-")
    if text.endswith("%"):
        return float(text[:-1]) / 100
    if text[-1] in PREFIX:
        return float(text[:-1]) * PREFIX[text[-1]]
    return float(text)


def scale(figure: LiveFigure, *, up: bool, **changes: Any) -> Callable[[float], float]:
    """From pixels to the units of an axis, by the labels of its ticks."""
    ticks: list[Point] = []
    for role, _, x, y, item in drawn._items(figure, **changes):
        if role.startswith("axis-label") and (x < 0) == up:
            ticks.append(((y if up else x) - 0.5, number(str(item["text"]))))
    ticks.sort(key=lambda tick: tick[1])
    (low_px, low), (mid_px, mid), (high_px, high) = (
        ticks[i] for i in (0, len(ticks) // 2, -1)
    )
    share = (mid_px - low_px) / (high_px - low_px)
    if low > 0 and abs(low * (high / low) ** share / mid - 1) < 0.02:
        rate = math.log(high / low) / (high_px - low_px)
        return lambda px: low * math.exp(rate * (px - low_px))
    assert abs(low + share * (high - low) - mid) < 0.02 * (high - low)
    return lambda px: low + (px - low_px) * (high - low) / (high_px - low_px)


def plotted(
    figure: LiveFigure, kind: str, **changes: Any
) -> Iterator[tuple[str, float, float, dict[str, Any]]]:
    """Ink, place in units of the axes, and all else of each mark of a kind."""
    across, up = (scale(figure, up=way, **changes) for way in (False, True))
    for role, is_a, x, y, item in drawn._items(figure, **changes):
        if is_a == kind and not role.startswith(seen.BESIDE):
            ends = {"x2_at": across(item["x2"])} if "x2" in item else {}
            ends |= {"y2_at": up(item["y2"])} if "y2" in item else {}
            yield seen._ink(item), across(x), up(y), {**item, **ends}


def lines(figure: LiveFigure, **changes: Any) -> dict[str, list[Point]]:
    """Points of all lines in each ink, from left to right."""
    found: dict[str, list[Point]] = {}
    for ink, x, y, _ in plotted(figure, "line", **changes):
        found.setdefault(ink, []).append((x, y))
    return {ink: sorted(points) for ink, points in found.items()}


def called(figure: LiveFigure, **changes: Any) -> dict[str, str]:
    """The ink of each word in the drawing."""
    return {
        str(item["text"]): ink
        for ink, _, _, item in plotted(figure, "text", **changes)
        if item.get("text")
    }


def points(figure: LiveFigure, **changes: Any) -> dict[str, list[Point]]:
    """Places of all points in each ink."""
    found: dict[str, list[Point]] = {}
    for ink, x, y, _ in plotted(figure, "symbol", **changes):
        found.setdefault(ink, []).append((x, y))
    return found


def readings(figure: LiveFigure, known: dict[str, float]) -> dict[str, float]:
    """Every number below a figure by its label."""
    return {
        str(each.label): known[each.name]
        for each in figure.readouts
        if isinstance(each, Readout)
    }
