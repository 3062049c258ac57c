"""Bars of one row: each begins where the one before ends, and none lies over another.

A second part that begins at zero hides in the first; one that begins late leaves a
white gap that stands for nothing.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from llmserve_lab.page.live import registry
from llmserve_lab.page.live.figure import LiveFigure
from tests.page import drawn
from tests.page.plot import pictured
from tests.page.stills import STILLS

Span = tuple[float, float]
Bar = tuple[Span, Span]  # across the row, and along it
# Rows of which all bars follow each other: they are parts of one whole.
WHOLE = {
    "capacity.one_step.one_step",
    "end_to_end.drawings.parameters", "flash_attention.pictures.rooms",
    "flash_attention.stills.moved", "how_wrong.pictures.token",
    "kv_memory.playground.memory", "kv_memory.stills.waste", "moe.overlap.traces",
    "quantization.stills.layouts", "speculative.stills.passes",
    "varlen.stills.bill",
}  # fmt: skip
# Parts of a whole beside rows, or lanes, in which something else waits.
PARTS = {
    "afd.timeline.both_ways", "end_to_end.stills.waiting",
    "speculative.stills.timeline", "kv_memory.kinds.kept", "kv_memory.pictures.chain",
    "kv_memory.pictures.translation", "kv_memory.strips.reserved",
    "afd.pictures.looked_at", "parallelism.triangle.triangle",
}  # fmt: skip
# A bar of what there would be without a window lies, pale, below that of what is.
BELOW = {"kv_memory.stills.layers"}
NEAR = 1e-6


def bars(panel: Any) -> list[Bar]:
    """Bars with a length, as spans across and along their row."""
    found = []
    for patch in panel.patches:
        x, y = patch.get_x(), patch.get_y()
        wide, high = patch.get_width(), patch.get_height()
        if abs(wide) > NEAR and abs(high) > NEAR:
            found.append((tuple(sorted((y, y + high))), tuple(sorted((x, x + wide)))))
    return [((*across,), (*along,)) for across, along in found]


def overlap(one: Span, other: Span) -> float:
    return min(one[1], other[1]) - max(one[0], other[0])


def covered(found: list[Bar], near: float = NEAR) -> Iterator[tuple[Bar, Bar]]:
    """Every two bars of which one lies over the other."""
    for at, one in enumerate(found):
        for other in found[:at]:
            if all(overlap(a, b) > near for a, b in zip(one, other, strict=True)):
                yield one, other


def gaps(found: list[Bar]) -> Iterator[tuple[Span, Span]]:
    """Neighbours of a row between which there is room, and first bars not at zero."""
    rows = defaultdict[Span, list[Span]](list)
    for across, along in found:
        rows[across[0], across[1]].append(along)
    for row in rows.values():
        row.sort()
        yield from ((a, b) for a, b in pairwise(row) if abs(a[1] - b[0]) > NEAR)
        if abs(row[0][0]) > NEAR:
            yield (0.0, 0.0), row[0]


@pytest.mark.parametrize("still", sorted(WHOLE | PARTS))
def test_no_bar_of_a_still_lies_over_another(still: str) -> None:
    panels = [panel for panel in pictured(STILLS[still])[0] if panel.containers]
    assert panels or still in {"parallelism.triangle.triangle"}
    for panel in panels:
        assert list(covered(bars(panel))) == []


@pytest.mark.parametrize("still", sorted(WHOLE))
def test_parts_of_a_whole_follow_each_other(still: str) -> None:
    count = 0
    for panel in pictured(STILLS[still])[0]:
        if panel.containers and panel.get_xlabel() != CUTS:
            found = bars(panel)
            assert list(gaps(found)) == []
            count += len(found) - len({across for across, _ in found})
    assert count >= 2, "of one part nothing can follow"


CUTS = "numbers, the largest = 1"  # two bars on a line of numbers, with room between


def test_every_still_with_stacked_bars_is_asked() -> None:
    """By the source: what begins where something else ends."""
    rooms = {name.rpartition(".")[0] for name in (*WHOLE, *PARTS, *BELOW)}
    elsewhere = {"deepseek.playground", "kv_memory.strips", "end_to_end.playground"}
    for path in drawn.PACKAGE.glob("*/page/*.py"):
        text = path.read_text("utf8")
        if "barh(" in text and "left=" in text.replace("tick_params(left=", ""):
            assert f"{path.parts[-3]}.{path.stem}" in rooms | elsewhere


def test_a_part_that_begins_at_zero_or_late_is_found() -> None:
    row = (-0.4, 0.4)
    good: list[Bar] = [(row, (0.0, 3.0)), (row, (3.0, 4.0))]
    over: list[Bar] = [(row, (0.0, 3.0)), (row, (0.0, 1.0))]
    late: list[Bar] = [(row, (0.0, 3.0)), (row, (3.5, 4.5))]
    assert not any(covered(good)) and not any(gaps(good))
    assert any(covered(over)) and any(gaps(over)) and any(gaps(late))
    first: list[Bar] = [(row, (1.0, 2.0))]
    assert any(gaps(first)) and not any(covered(late))


def rows_of(figure: LiveFigure) -> list[Bar]:
    """Bars of a live figure as it opens, in pixels."""
    found = []
    for item in drawn.marks(figure, "rect"):
        x, y = item["x"], item["y"]
        wide, high = item.get("width", 0.0), item.get("height", 0.0)
        if item.get("opacity", 1) > FAINT and min(wide, high) > HALF:
            found.append(((y, y + high), (x, x + wide)))
    return found


FAINT, HALF = 0.3, 0.5  # of what is drawn behind, and of a pixel
LIVE = (
    "how_wrong.ladder", "moe.route", "quantization.few_bits", "roofline.iteration_time",
)  # fmt: skip


@pytest.mark.parametrize("name", LIVE)
def test_no_bar_of_a_live_figure_lies_over_another(name: str) -> None:
    found = rows_of(registry.figures()[name]())
    assert len(found) > 5 and list(covered(found, HALF)) == []


@pytest.mark.parametrize("name", ["kv_memory.capacity"])
def test_parts_of_the_memory_fill_its_bar(name: str) -> None:
    found = rows_of(registry.figures()[name]())
    (across,) = {row for row, _ in found if row[1] < 40}
    row = sorted(along for each, along in found if each == across)
    assert len(row) == 3 and row[0][0] == pytest.approx(0)
    for one, other in pairwise(row):
        assert one[1] == pytest.approx(other[0], abs=HALF)
