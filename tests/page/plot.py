"""Lines, bars, points and rules of a live chart in the units of its axes, by name.

A mark is called what the legend, or the words in its ink, call it. Where it stands is
read off the labels of the axes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from math import isclose, isfinite, log10
from typing import Any

from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.still import StaticFigure
from tests.page import drawn, seen
from tests.page.seen import BESIDE

NUMBER = re.compile(r"(\d[\d,]*\.?\d*)\s?([kMGTmµ]?)")
SCALES = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "m": 1e-3, "µ": 1e-6, "": 1.0}
HALF = 0.5  # of a pixel, by which axes are moved so that their lines are sharp
Points = list[tuple[float, float]]


@dataclass
class Axis:
    """Labels of an axis, numbers or words, and where they stand in pixels."""

    labels: list[tuple[str, float]] = field(default_factory=list)

    def near(self, place: float) -> str:
        """The label that is nearest."""
        return min(self.labels, key=lambda label: abs(label[1] - place))[0]

    def at(self, place: float) -> float:
        """What the axis says of a place; it is logarithmic where its labels are."""
        known = list[tuple[float, float]]()
        for text, where in self.labels:
            if found := NUMBER.fullmatch(text.strip()):
                number = float(found[1].replace(",", ""))
                known.append((number * SCALES[found[2]], where))
        known.sort()
        (one, first), (two, last) = known[0], known[-1]
        middle, there = known[len(known) // 2]
        share = (there - first) / (last - first)
        if isclose(one + (two - one) * share, middle, rel_tol=0.01, abs_tol=1e-9):
            return one + (two - one) * (place - first) / (last - first)
        found_log = log10(one) + (log10(two) - log10(one)) * (place - first) / (
            last - first
        )
        return float(10**found_log)


class Plot:
    """A figure at a setting, as Vega lays it out."""

    def __init__(self, figure: LiveFigure, **changes: Any) -> None:
        self.x, self.y = Axis(), Axis()
        self.marks = list[tuple[str, float, float, dict[str, Any]]]()
        words, symbols = list[str](), list[str]()
        inks = dict[str, str]()
        for role, kind, x, y, item in drawn._items(figure, **changes):
            if role.startswith("axis-label"):
                axis, place = (self.y, y) if x < 0 else (self.x, x)
                axis.labels.append((str(item["text"]), place - HALF))
            elif role.startswith("legend-label"):
                words.append(str(item["text"]))
            elif role.startswith("legend-symbol"):
                symbols.append(seen._ink(item))
            elif not role.startswith(BESIDE):
                self.marks.append((kind, x, y, item | {"ink": seen._ink(item)}))
        at_rules = [(x, y) for x, y, _ in self.of("rule")]
        for beside in (
            False,
            True,
        ):  # words at a rule are of that rule, if there is one
            for x, y, item in self.of("text"):
                if item.get("text") and beside == any(
                    x == a or y == b for a, b in at_rules
                ):
                    inks.setdefault(item["ink"], str(item["text"]))
        self.legend = dict(zip(symbols, words, strict=True))
        self.named = inks | self.legend

    def of(self, kind: str) -> list[tuple[float, float, dict[str, Any]]]:
        return [(x, y, item) for is_a, x, y, item in self.marks if is_a == kind]

    def lines(self) -> dict[str, Points]:
        """Every line by its name."""
        found: dict[str, Points] = {}
        for x, y, item in self.of("line"):
            if item.get("defined", True) and isfinite(y):
                name = self.named.get(item["ink"], item["ink"])
                found.setdefault(name, []).append((self.x.at(x), self.y.at(y)))
        return found

    def points(self) -> list[tuple[str, float, float]]:
        """Every dot: what its ink is called, and where it stands."""
        return [
            (self.named.get(item["ink"], item["ink"]), self.x.at(x), y)
            for x, y, item in self.of("symbol")
        ]

    def rules(self) -> dict[str, float]:
        """Where the line stands that a text is written at."""
        found = dict[str, float]()
        for x, y, rule in self.of("rule"):
            level = rule.get("x2") is not None
            for a, b, item in self.of("text"):
                same = item["ink"] == rule["ink"] and (b == y if level else a == x)
                if item.get("text") and same:
                    found[str(item["text"])] = self.y.at(y) if level else self.x.at(x)
        return found


@cache
def pictured(make: Callable[[], StaticFigure]) -> tuple[list[Any], str]:
    """Panels of a still and its sentence; it is made once."""
    said = list[StaticFigure]()

    def once() -> StaticFigure:
        said.append(make())
        return said[0]

    return drawn.panels(once), said[0].sentence
