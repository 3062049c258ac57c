"""A line of a drawing ends at something that is drawn, and so do its neighbours.

An end that hangs loose, two arrows that cross on their way into one box, and a machine
without the wire of its likes each look like a picture that nobody has looked at.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import dist
from typing import Any

import pytest

from llmserve_lab.page.live import registry
from llmserve_lab.page.step.figure import StepFigure
from llmserve_lab.page.step.marks import Cells, Links
from tests.page import drawn
from tests.page.lines import Drawing, drawing_of, to_edge
from tests.page.plot import pictured
from tests.page.stills import STILLS
from tests.page.test_arrows import LINKED, alive, edges

NEAR = 3.0  # pixels within which an end is at what it points to
# Lines of each still, each way counted once.
LINES: dict[str, int] = {
    "afd.arrangements.two_ways": 10,
    "deepseek.evidence.predicted_and_measured": 9,
    "deepseek.stills.copies_of_a_row": 8,
    "end_to_end.drawings.bend": 6,
    "end_to_end.drawings.block": 7,
    "end_to_end.drawings.heads": 32,
    "flash_attention.pictures.fused": 11,
    "kv_memory.pictures.chain": 16,
    "kv_memory.pictures.translation": 3,
    "quantization.sharing.shared_heads": 32,
    "roofline.stills.hierarchy": 0,
    "symptoms.figures.arrivals": 2,
}
BEFORE_WORDS = {
    "deepseek.evidence.predicted_and_measured": 9.0, "kv_memory.pictures.chain": 9.0,
}  # fmt: skip
# A stream of rows comes from the block before and goes on to the next.
OPEN = {"end_to_end.drawings.block": 2}
# Arrows from entries of a table to blocks that lie in another order.
MIXED = {"kv_memory.pictures.translation"}
# Of these boxes some have a line and others, as the picture shows, have none.
SOME = {"deepseek.stills.copies_of_a_row": "idle", **dict.fromkeys(MIXED, "grid")}
SMALL = 10.0  # pixels of a box, one of many that no line is meant for
SEAM = {"end_to_end.way", "end_to_end.loop"}  # their lines part, and lead nowhere
EVERY_WAY = {  # each sends to all others
    "a copy for each expert", "a copy for each GPU", "one-shot", "two-shot",
    "two popular experts, E0 and E1",
}  # fmt: skip
BESIDE = 0.45  # of a box's height: between an end and what it belongs to


def drawings(still: str) -> list[tuple[Any, Drawing]]:
    """Panels that have boxes, or arrows, and not only curves."""
    return [
        (panel, drawing_of(panel, arrows=panel.axison))
        for panel in pictured(STILLS[still])[0]
    ]


def frames(figure: StepFigure) -> Iterator[tuple[str, int, Drawing]]:
    """Every frame of a step figure, in the units of its axes."""
    linked = any(isinstance(mark, Links) for mark in figure.scene.marks)
    for log, story in figure.logs.items() if linked else ():
        for frame in range(len(story.frames)):
            found = Drawing()
            for mark in figure.scene.marks:
                for row in alive(figure, log, mark, frame):
                    if isinstance(mark, Links):
                        ends = (row["x"], row["y"]), (row["x2"], row["y2"])
                        found.lines.append(ends)
                    elif isinstance(mark, Cells):
                        (x, x2), (y, y2) = edges(row)
                        found.boxes.append((row["ink"], (x, x2, y, y2)))
                    else:
                        found.dots.append((row["x"], row["y"]))
            yield log, frame, found


def loose(drawing: Drawing, near: float, words: float) -> list[tuple[float, float]]:
    """Ends at which nothing is drawn."""
    return [end for at, end in drawing.ends() if drawing.loose(at, end, near, words)]


@pytest.mark.parametrize("still", LINES)
def test_a_line_of_a_still_ends_at_something(still: str) -> None:
    found = [drawing for _, drawing in drawings(still)]
    words = BEFORE_WORDS.get(still, NEAR)
    hanging = [end for each in found for end in loose(each, NEAR, words)]
    assert len(hanging) == OPEN.get(still, 0), hanging
    assert (
        len({frozenset(line) for each in found for line in each.lines})
        == (LINES[still])
    )


@pytest.mark.parametrize("still", LINES)
def test_no_line_of_a_still_strikes_a_word_out(still: str) -> None:
    for panel, drawing in drawings(still):
        # A label of a chart hides the part of its line that lies behind it.
        assert panel.axison or list(drawing.struck()) == []


@pytest.mark.parametrize("still", LINES)
def test_lines_to_one_box_do_not_cross(still: str) -> None:
    for _, drawing in drawings(still):
        assert still in MIXED or list(drawing.crossed(NEAR)) == []


@pytest.mark.parametrize("still", LINES)
def test_as_many_lines_end_at_a_box_as_at_its_likes(still: str) -> None:
    """Of one size and one ink: four machines, two queries that share a head."""
    near = 1.0 if still == "end_to_end.drawings.heads" else NEAR
    for _, drawing in drawings(still):
        for ink, box in drawing.unlike(near):
            small = box[1] - box[0] < SMALL and still in MIXED
            assert ink == SOME.get(still) or small, (ink, box)


def test_what_has_an_ink_of_its_own_has_a_line() -> None:
    """Squares of a group to which copies go, and the entries of a block table."""
    ((_, copies),) = drawings("deepseek.stills.copies_of_a_row")
    sent = [box for ink, box in copies.boxes if ink not in ("idle", "blue")]
    assert len(sent) > 3
    for left, right, low, high in sent:
        middle = (left + right) / 2, (low + high) / 2
        assert any(dist(middle, end) < NEAR for _, end in copies.ends())
    ((_, table),) = drawings("kv_memory.pictures.translation")
    wide = max(right - left for _, (left, right, *_) in table.boxes)
    entries = [b for _, b in table.boxes if b[1] - b[0] > 0.9 * wide]
    assert len(entries) == len(table.lines) == 3
    for box in entries:
        assert sum(to_edge(box, end) < NEAR for _, end in table.ends()) == 1


@pytest.mark.parametrize("name", [each for each in LINKED if each not in SEAM])
def test_a_line_of_a_step_figure_ends_at_something(name: str) -> None:
    for log, frame, drawing in frames(registry.steps()[name]()):
        assert loose(drawing, BESIDE, BESIDE) == [], (log, frame)


@pytest.mark.parametrize("name", LINKED)
def test_links_of_a_frame_to_one_box_do_not_cross(name: str) -> None:
    for log, frame, drawing in frames(registry.steps()[name]()):
        if log not in EVERY_WAY:
            assert list(drawing.crossed(BESIDE)) == [], (log, frame)


def test_arrows_to_the_far_side_of_a_switch_are_found() -> None:
    figure = registry.steps()["tensor_parallel.collectives_on_four"]()
    log = figure.logs["in the switch"]
    there = [row for row in log.tables["links"] if row["since"] == 1]
    ends = {row["x2"] for row in there}
    turned = [{**row, "x2": min(ends) + max(ends) - row["x2"]} for row in there]
    wrong = replace(log, tables={**log.tables, "links": turned})
    logs = {**figure.logs, "in the switch": wrong}
    crossed = {
        frame
        for name, frame, drawing in frames(replace(figure, logs=logs))
        if name == "in the switch" and list(drawing.crossed(BESIDE))
    }
    assert crossed == {1}


def test_every_drawing_with_lines_is_asked() -> None:
    """By the source: what has no axes, and draws lines or arrows."""
    rooms = {name.rpartition(".")[0] for name in LINES}
    for path in drawn.PACKAGE.glob("*/page/*.py"):
        text = path.read_text("utf8")
        bare = 'axis("off")' in text or "set_axis_off" in text
        if (bare and ".plot(" in text) or "arrowprops" in text:
            assert f"{path.parts[-3]}.{path.stem}" in rooms
