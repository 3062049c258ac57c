"""Where marks stand: those of a live chart in pixels, lines of a still in its units."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llmserve_lab
from llmserve_lab.page.live import registry
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.still import StaticFigure
from tests.page import seen
from tests.page.handed import handed_to
from tests.page.scene import scene_of

Points = list[tuple[float, float]]
PACKAGE = Path(llmserve_lab.__file__).parent


def steps_of(drawing: re.Pattern[str]) -> list[str]:
    """Names of the step figures of chapters whose pages draw so, by their source."""
    rooms = {
        path.parts[-3]
        for path in PACKAGE.glob("*/page/*.py")
        if drawing.search(path.read_text("utf8"))
    }
    return [name for name in registry.steps() if name.split(".")[0] in rooms]


def _items(figure: LiveFigure, **changes: Any) -> list[tuple[Any, ...]]:
    """What Vega draws at a setting: role, kind, place and the rest of each item."""
    known = figure.values(**changes)
    params = [
        each | {"value": known[each["name"]]} if "value" in each else each
        for each in figure.spec["params"]
    ]
    scene = scene_of({**figure.spec, "params": params})
    return list(seen._items(scene["scenegraph"]))


def marks(figure: LiveFigure, kind: str, /, **changes: Any) -> list[dict[str, Any]]:
    """Marks of one kind at a setting: left and top in pixels, ink, and the rest."""
    return [
        {**item, "x": x, "y": y, "ink": seen._ink(item)}
        for role, is_a, x, y, item in _items(figure, **changes)
        if is_a == kind and not role.startswith(seen.BESIDE)
    ]


def titles(figure: LiveFigure) -> list[str]:
    """Titles of the axes of a live chart."""
    return [
        str(item.get("text", ""))
        for role, kind, *_, item in _items(figure)
        if kind == "text" and role.startswith("axis-title")
    ]


def legend(figure: LiveFigure, **changes: Any) -> dict[str, str]:
    """What the legend of a live chart calls each ink that it shows."""
    items = _items(figure, **changes)
    words = [
        str(item["text"]) for role, *_, item in items if role.startswith("legend-label")
    ]
    inks = [
        seen._ink(item) for role, *_, item in items if role.startswith("legend-symbol")
    ]
    return dict(zip(inks, words, strict=True))


def texts(figure: LiveFigure, **changes: Any) -> list[str]:
    """Words that stand in the drawing at a setting."""
    found = [str(each.get("text", "")) for each in marks(figure, "text", **changes)]
    return [text for text in found if text]


def panels(make: Callable[[], StaticFigure]) -> list[Any]:
    """Matplotlib's panels of a picture, as they are handed to the page."""
    found: list[Any] = []
    with handed_to(lambda figure: found.extend(figure.axes)):
        make()
    return found


def lines(panel: Any) -> dict[str, list[Points]]:
    """Lines and dots of a panel by ink, each as points in the units of its axes."""
    found: dict[str, list[Points]] = {}
    for line in panel.lines:
        points = [(float(x), float(y)) for x, y in line.get_xydata()]
        found.setdefault(seen._name(line.get_color()), []).append(points)
    return found


def inks(panel: Any) -> dict[str, str]:
    """The ink of each word that is written into a panel."""
    return {text.get_text(): seen._name(text.get_color()) for text in panel.texts}
