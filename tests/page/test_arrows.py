"""An arrow between boxes has the ink of what it brings: of a box where it ends.

A line without a head has no direction; it has the ink of a box at either end. What is
written beside an arrow is what a box in its ink is called.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from math import hypot
from typing import Any

import pytest

from llmserve_lab.page.live import registry
from llmserve_lab.page.step.figure import StepFigure
from llmserve_lab.page.step.marks import Cells, Labels, Links, Mark
from tests.page.drawn import steps_of
from tests.page.seen import alive as drawn_in

Row = dict[str, Any]
Place = tuple[float, float]
PLAIN = {"communication", "other"}  # that something moves, or stays
BOTH = 2  # boxes that stand side by side where an arrow ends: what stays, what came
LINKED = steps_of(re.compile(r"Links\("))


def alive(figure: StepFigure, log: str, mark: Mark, frame: int) -> Iterator[Row]:
    """Rows of a mark that are drawn in one frame."""
    fixed = (figure.scene.fixed or {}).get(mark.table, ())
    for row in (*fixed, *figure.logs[log].tables.get(mark.table, ())):
        if drawn_in(row, frame):
            yield row


def edges(box: Row) -> tuple[Place, Place]:
    """From left to right and from top to bottom, a unit where a box does not say."""
    right, low = box.get("x2", box["x"] + 1), box.get("y2", box["y"] + 1)
    return (box["x"], right), (box["y"], low)


def gap(box: Row, end: Place) -> float:
    """From a place to the nearest edge of a box."""
    return hypot(
        *(
            max(first - at, 0, at - last)
            for (first, last), at in zip(edges(box), end, strict=True)
        )
    )


def beyond(box: Row, start: Place, end: Place) -> bool:
    """Whether the middle of a box lies on the far side of an arrow's end."""
    ways = zip(edges(box), start, end, strict=True)
    return sum((sum(sides) / 2 - to) * (to - came) for sides, came, to in ways) > 0


def inks_at(boxes: list[Row], start: Place, end: Place) -> set[str]:
    """Inks of the boxes to which an arrow leads."""
    there = [box for box in boxes if beyond(box, start, end)]
    nearest = sorted(there, key=lambda box: gap(box, end))[:BOTH]
    return {box["ink"] for box in nearest}


def named(figure: StepFigure) -> Iterator[tuple[str, int, str, bool]]:
    """What the nearest box's name calls an arrow: log, frame, name, whether of its ink.

    Only of arrows with a head, in frames where words beside them are the name of a box.
    """
    marks = figure.scene.marks
    links = [mark for mark in marks if isinstance(mark, Links) and mark.arrow]
    for log, story in figure.logs.items() if links else ():
        for frame in range(len(story.frames)):
            seen = [
                (mark, row) for mark in marks for row in alive(figure, log, mark, frame)
            ]
            called = {
                row["text"]: row["ink"]
                for mark, row in seen
                if isinstance(mark, Cells) and row.get("text")
            }
            words = [
                row
                for mark, row in seen
                if isinstance(mark, Labels) and row["text"] in called
            ]
            for mark, row in seen:
                if mark in links and words:
                    x, y = ((row[way] + row[f"{way}2"]) / 2 for way in "xy")
                    word = min(words, key=lambda w: hypot(w["x"] - x, w["y"] - y))
                    text = word["text"]
                    yield log, frame, text, called[text] == row["ink"]


def strayed(figure: StepFigure) -> Iterator[tuple[str, int, Row]]:
    """Arrows whose ink no box at their end has: log, frame and row."""
    links = [mark for mark in figure.scene.marks if isinstance(mark, Links)]
    cells = [mark for mark in figure.scene.marks if isinstance(mark, Cells)]
    for log, story in figure.logs.items() if cells else ():
        for frame in range(len(story.frames)):
            boxes = [r for mark in cells for r in alive(figure, log, mark, frame)]
            for mark in links:
                for row in alive(figure, log, mark, frame):
                    start, end = (row["x"], row["y"]), (row["x2"], row["y2"])
                    there = inks_at(boxes, start, end)
                    there |= set() if mark.arrow else inks_at(boxes, end, start)
                    if row["ink"] not in PLAIN | there:
                        yield log, frame, row


@pytest.mark.parametrize("name", LINKED)
def test_an_arrow_has_the_ink_of_what_it_brings(name: str) -> None:
    assert list(strayed(registry.steps()[name]())) == []


def test_an_arrow_in_the_ink_of_what_leaves_next_is_found() -> None:
    """A block that a GPU receives in a hop is not the one that it sends in it."""
    figure = registry.steps()["parallelism.ring"]()
    ((name, log),) = figure.logs.items()
    rows = log.tables["links"]
    turned = [
        {**row, "ink": next_["ink"]}
        for row, next_ in zip(rows, [*rows[1:], rows[0]], strict=True)
    ]
    wrong = replace(log, tables={**log.tables, "links": turned})
    assert list(strayed(replace(figure, logs={name: wrong})))


def test_words_beside_an_arrow_name_a_box_in_its_ink() -> None:
    found = {name: [*named(registry.steps()[name]())] for name in LINKED}
    for name, all_ in found.items():
        assert [each for each in all_ if not each[-1]] == [], name
    assert sum(map(len, found.values())) >= 2 * 3 * 4  # two rings, hops, GPUs


def test_the_name_of_what_arrives_in_place_of_what_is_sent_is_found() -> None:
    figure = registry.steps()["parallelism.ring"]()
    ((name, log),) = figure.logs.items()
    brings = {text for _, _, text, _ in named(figure)}
    words = log.tables["words"]
    (first, *_, last) = texts = [r["text"] for r in words if r["text"] in brings]
    following = iter([*texts[1:], first])
    turned = [
        {**r, "text": next(following) if r["text"] in brings else r["text"]}
        for r in words
    ]
    wrong = replace(log, tables={**log.tables, "words": turned})
    assert first != last
    assert not all(fits for *_, fits in named(replace(figure, logs={name: wrong})))


def test_figures_in_several_chapters_have_arrows_in_the_ink_of_a_box() -> None:
    assert {"moe", "parallelism", "end_to_end"} <= {n.split(".")[0] for n in LINKED}
