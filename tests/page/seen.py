"""What a reader sees in a picture: words, axes, and marks by their ink and place.

A picture is read once more, as a second reader would note it down: which words stand
where and in which ink, what the axes are called, how many marks of an ink there are
and where their middle is, what the counters of each frame say. The notes stand in
``tests/data/seen``, and no target of the Makefile writes them: stored outputs follow a
slip in a chart, the notes do not. Who has changed a picture looks at it, and then takes
its new note: ``python -m tests.page.seen CHAPTER.NAME``.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from llmserve_lab.page.live import registry
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.palette import MEANINGS, SERIES, Ink
from llmserve_lab.page.step.figure import StepFigure
from llmserve_lab.page.still import StaticFigure
from tests.page.handed import handed_to
from tests.page.scene import scene_of

NOTES = Path(__file__).parents[1] / "data" / "seen"
BESIDE = ("axis", "legend", "title", "frame")  # what stands beside the marks
LONG = 16  # frames, of which all are looked at
LINE = 14.0  # pixels that one line of text is high
Note = dict[str, Any]
Place = tuple[float, float]  # from the left and from the top, in percent
INKS: tuple[Ink, ...] = (*MEANINGS.values(), *SERIES)


def _plain(text: Any) -> str:
    """A text without its numbers: those are data, and the chapters' tests count them.

    The digits of a name stay: an H100 is no H200.
    """
    words = " ".join(map(str, text)) if isinstance(text, list) else str(text)
    number = r"([A-Za-z]\d+)|[\d.,×⁰-⁹⁻¹²³]*\d[\d.,]*"
    return re.sub(number, lambda m: m[1] or "#", words.replace("\n", " ")).strip()


def _in_order(words: Iterable[tuple[float, float, str]]) -> list[str]:
    """Texts line by line, from left to right."""
    found = sorted((round(y / LINE), x, text) for x, y, text in words if text)
    return [text for _, _, text in found]


def _middles(marks: Mapping[str, list[Place]]) -> dict[str, list[int]]:
    """Of each kind and ink: how many marks, and where their middle is, in percent."""
    return {
        kind: [
            len(places),
            *(round(sum(axis) / len(places)) for axis in zip(*places, strict=True)),
        ]
        for kind, places in sorted(marks.items())
    }


# A live figure, as Vega lays it out.
def _items(
    node: dict[str, Any], x: float = 0, y: float = 0, role: str = ""
) -> Iterator[tuple[str, str, float, float, dict[str, Any]]]:
    """Every drawn item: its role, kind and place."""
    role = node.get("role", role)
    for child in node.get("items", ()):
        if "marktype" not in node:
            yield from _items(child, x + node.get("x", 0), y + node.get("y", 0), role)
        elif node["marktype"] == "group":
            yield from _items(child, x, y, role)
        else:
            at = x + child.get("x", 0), y + child.get("y", 0)
            yield role, node["marktype"], *at, child


def _ink(item: Mapping[str, Any]) -> str:
    colours = [str(item[side]) for side in ("fill", "stroke") if item.get(side)]
    named = (re.search(r"--(?:fig|book)-(\w+)", colour) for colour in colours)
    return next((match[1] for match in named if match), "?")


def _opacity(item: Mapping[str, Any]) -> float:
    side = "fillOpacity" if item.get("fill") else "strokeOpacity"
    return round(float(item.get("opacity", 1)) * float(item.get(side, 1)), 1)


def _chart(spec: dict[str, Any]) -> Note:
    scene = scene_of(spec)
    width, height = float(scene["width"]), float(scene["height"])
    words, beside, marks = [], [], defaultdict[str, list[Place]](list)
    for role, kind, x, y, item in _items(scene["scenegraph"]):
        if kind == "text":
            text = _plain(item.get("text", ""))
            if role.startswith(BESIDE):
                beside.append((x, y, text))
            elif item.get("opacity", 1):
                words.append((x + item.get("dx", 0), y + item.get("dy", 0), text, item))
        elif not role.startswith(BESIDE):
            middle = x + item.get("width", 0) / 2, y + item.get("height", 0) / 2
            name = f"{kind} {_ink(item)} {_opacity(item):g}"
            marks[name].append((100 * middle[0] / width, 100 * middle[1] / height))
    return {
        "words": _in_order((x, y, f"{_ink(i)}: {t}") for x, y, t, i in words if t),
        "beside": [text for text in _in_order(beside) if text.strip("#-−%— ")],
        "marks": _middles(marks),
    }


def live(figure: LiveFigure) -> Note:
    """As it opens, and at a setting that reaches its goal."""
    found = {"opens": _chart(figure.spec)}
    if figure.goal:
        known = figure.values(**figure.goal.example)
        params = [
            each | {"value": known[each["name"]]} if "value" in each else each
            for each in figure.spec["params"]
        ]
        found["at its goal"] = _chart({**figure.spec, "params": params})
    return found


# A step figure: its rows, frame by frame.
def alive(row: Mapping[str, Any], frame: int) -> bool:
    """Whether a row of a step figure is drawn in a frame."""
    since, until = row.get("since") or 0, row.get("until")
    return bool(since <= frame and (until is None or frame < until))


def _rows(figure: StepFigure, log: str, frame: int) -> Note:
    """Texts line by line in one frame, and how many rows each ink has."""
    tables = (*figure.logs[log].tables.values(), *(figure.scene.fixed or {}).values())
    rows = [row for table in tables for row in table if alive(row, frame)]
    inks = [str(row.get("ink", "")) for row in rows]
    places = [
        [str(row.get(at, "")) for at in ("y", "slot", "x", "start")] for row in rows
    ]
    texts = [
        (*place, str(row["text"]))
        for place, row in zip(places, rows, strict=True)
        if row.get("text")
    ]
    return {
        "inks": {ink: inks.count(ink) for ink in sorted(set(inks)) if ink},
        "texts": " | ".join(text for *_, text in sorted(texts)),
    }


def _looked_at(frames: int) -> list[int]:
    """All frames of a short log; of a long one a dozen, and the last."""
    every = -(-frames // LONG)
    return sorted({*range(0, frames, every), frames - 1})


def step(figure: StepFigure) -> Note:
    """Axes, lanes, legend, counters of all frames, its stills and what it opens on."""
    counters = {
        f"{log}: {counter.label}": " | ".join(
            counter.shown(each.frames[place].counters[at])
            for place in _looked_at(len(each.frames))
        )
        for log, each in figure.logs.items()
        for at, counter in enumerate(figure.counters)
    }
    opens = (next(iter(figure.logs)), figure.start)
    looks = {f"{log}, {at}": _rows(figure, log, at) for log, at in figure.stills}
    looks |= {f"{opens[0]}, {opens[1]}": _rows(figure, *opens)}
    ways = (figure.scene.x, figure.scene.y)
    lanes = [name for each in ways if each.named for name in each.domain]
    axes = {"axes": [each.title for each in ways], "lanes": lanes}
    said = {"title": _plain(figure.title), **axes, "legend": dict(figure.legend)}
    return {**said, "counters": counters, "frames": looks}


# A still: what matplotlib has been told to draw.
def _name(colour: Any) -> str:
    from matplotlib.colors import to_hex

    known = {to_hex(ink.light): ink.name for ink in reversed(INKS)}
    code = to_hex(colour)
    return known.get(code, code)


def _lines(axes: Any) -> Iterator[tuple[str, str, Place]]:
    """Kind and ink, label, and middle of every line, bar and area of a panel."""
    import numpy as np

    for line in axes.lines:
        kind = "line" if line.get_linestyle() not in ("None", "") else "points"
        places = line.get_transform().transform(line.get_xydata())
        yield f"{kind} {_name(line.get_color())}", line.get_label(), _at(axes, places)
    for patch in axes.patches:
        corners = patch.get_transform().transform(patch.get_path().vertices)
        colour = patch.get_facecolor() if patch.get_fill() else patch.get_edgecolor()
        yield f"patch {_name(colour)}", patch.get_label(), _at(axes, corners)
    for group in axes.collections:
        colours = group.get_facecolor() if len(group.get_facecolor()) else None
        colours = group.get_edgecolor() if colours is None else colours
        paths = [np.asarray(path.vertices) for path in group.get_paths()]
        offsets = np.asarray(group.get_offsets())
        moved = group.get_offset_transform().transform(offsets)
        points = (
            moved
            if len(offsets) and np.any(offsets)
            else group.get_transform().transform(np.concatenate(paths))
        )
        if len(colours):
            yield f"group {_name(colours[0])}", group.get_label(), _at(axes, points)


def _at(axes: Any, points: Any) -> Place:
    """The middle of points given in pixels, in percent of their panel."""
    import numpy as np

    x, y = np.nanmean(axes.transAxes.inverted().transform(points), axis=0)
    return 100 * float(x), 100 * (1 - float(y))


def _panel(axes: Any) -> Note:
    marks, names = defaultdict[str, list[Place]](list), {}
    for kind, label, place in _lines(axes):
        marks[kind].append(place)
        if label and not str(label).startswith("_"):
            names[_plain(label)] = kind
    words = []
    for text in axes.texts:
        x, y = text.get_transform().transform((text._x, text._y))
        said = _plain(text.get_text())
        words.append((x, -y, f"{_name(text.get_color())}: {said}" if said else ""))
    ticks = [
        _plain(each.get_text())
        for axis in (axes.xaxis, axes.yaxis)
        for each in axis.get_ticklabels()
    ]
    return {
        "axes": [axes.get_title(), axes.get_xlabel(), axes.get_ylabel()],
        "ticks": [text for text in ticks if text.strip("#-−%")],
        "names": names,
        "words": _in_order(words),
        "marks": _middles(marks),
    }


def still(make: Callable[[], StaticFigure]) -> Note:
    """Panels of the picture that ``make`` hands to the page, and its legend."""
    seen: list[Note] = []

    def look(figure: Any) -> None:
        figure.draw_without_rendering()
        seen.extend(_panel(axes) for axes in figure.axes)

    with handed_to(look):
        made = make()
    return {"panels": seen, "title": made.title, "says": made.sentence}


def notes(chapter: str) -> dict[str, Note]:
    """What has been noted down about the pictures of a chapter."""
    path = NOTES / f"{chapter}.json"
    found: dict[str, Note] = json.loads(path.read_text("utf8")) if path.exists() else {}
    return found


def makers() -> dict[str, Callable[[], Note]]:
    """How every picture of the book is looked at, by its name."""
    from tests.page.stills import STILLS

    def looks(look: Any, make: Any) -> Callable[[], Note]:
        return lambda: dict(look(make()))

    return {
        **{name: looks(live, make) for name, make in registry.figures().items()},
        **{name: looks(step, make) for name, make in registry.steps().items()},
        **{name: partial(still, make) for name, make in STILLS.items()},
    }


def main(asked: list[str]) -> None:
    """Write the notes of the pictures that are named, or of all that there are."""
    found = makers()
    for path in () if asked else NOTES.glob("*.json"):
        path.unlink()
    for name in asked or sorted(found):
        chapter = name.split(".")[0]
        now = notes(chapter) | {name: found[name]()}
        text = json.dumps(dict(sorted(now.items())), ensure_ascii=False, indent=1)
        text = re.sub(r"\[\s+(-?\d+),\s+(-?\d+),\s+(-?\d+)\s+\]", r"[\1, \2, \3]", text)
        (NOTES / f"{chapter}.json").write_text(text + "\n", "utf8")


if __name__ == "__main__":
    main(sys.argv[1:])
