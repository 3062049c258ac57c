"""Lines, arrows and boxes of a drawing by where they stand, in its units or pixels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import dist, hypot, inf, isfinite
from typing import Any

from tests.page import seen

Place = tuple[float, float]
Box = tuple[float, float, float, float]  # left, right, least and largest height
Segment = tuple[Place, Place]


def to_edge(box: Box, at: Place) -> float:
    """From a place, within a box or beside it, to the box's nearest edge."""
    (left, right, low, high), (x, y) = box, at
    beside = hypot(max(left - x, 0, x - right), max(low - y, 0, y - high))
    return beside or min(x - left, right - x, y - low, high - y)


def to_middle(box: Box, at: Place) -> float:
    """From a place to the middle of a box."""
    left, right, low, high = box
    return dist(at, ((left + right) / 2, (low + high) / 2))


def to_line(line: Segment, at: Place) -> float:
    """From a place to the nearest place of a line."""
    (x, y), (x2, y2) = line
    long = (x2 - x) ** 2 + (y2 - y) ** 2
    share = ((at[0] - x) * (x2 - x) + (at[1] - y) * (y2 - y)) / long if long else 0.0
    share = min(1.0, max(0.0, share))
    return dist(at, (x + share * (x2 - x), y + share * (y2 - y)))


def touch(one: Box, other: Box, near: float = 1e-6) -> bool:
    """Whether two boxes have a place in common."""
    return all(
        one[at] <= other[at + 1] + near and other[at] <= one[at + 1] + near
        for at in (0, 2)
    )


def cross(one: Segment, other: Segment) -> bool:
    """Whether two lines cross, and do not only touch each other's ends."""

    def side(line: Segment, at: Place) -> float:
        (x, y), (x2, y2) = line
        return (x2 - x) * (at[1] - y) - (y2 - y) * (at[0] - x)

    ways = [side(a, b[0]) * side(a, b[1]) for a, b in ((one, other), (other, one))]
    return all(way < -1e-9 for way in ways)


@dataclass
class Drawing:
    """What a drawing consists of: boxes with ink, words, dots, lines and curves."""

    boxes: list[tuple[str, Box]] = field(default_factory=list)
    words: list[Box] = field(default_factory=list)
    dots: list[Place] = field(default_factory=list)
    lines: list[Segment] = field(default_factory=list)
    curves: list[Segment] = field(default_factory=list)

    def ends(self) -> Iterator[tuple[int, Place]]:
        """Both ends of each line, with the line's number."""
        for number, line in enumerate(self.lines):
            yield from ((number, end) for end in line)

    def loose(self, number: int, end: Place, near: float, words: float) -> bool:
        """Whether nothing else that is drawn, and no word, is near an end."""
        boxes = [box for _, box in self.boxes]
        others = [each for at, each in enumerate(self.lines) if at != number]
        found = [
            *(to_edge(box, end) for box in boxes),
            *(to_middle(box, end) for box in boxes),
            *(dist(dot, end) for dot in self.dots),
            *(to_line(line, end) for line in (*others, *self.curves)),
        ]
        beside = [to_edge(box, end) for box in self.words]
        return min(found, default=inf) > near and min(beside, default=inf) > words

    def struck(self) -> Iterator[Segment]:
        """Lines whose middle lies in a word."""
        for line in self.lines:
            x, y = (sum(each) / 2 for each in zip(*line, strict=True))
            for left, right, low, high in self.words:
                if left < x < right and low < y < high:
                    yield line

    def wholes(self) -> list[int]:
        """Of each box the first that it hangs together with: a row of cells is one."""
        first = list(range(len(self.boxes)))
        for at, (_, box) in enumerate(self.boxes):
            for other, (_, beside) in enumerate(self.boxes[:at]):
                if first[at] != first[other] and touch(box, beside):
                    old, new = first[at], first[other]
                    first = [new if each == old else each for each in first]
        return first

    def whole_at(self, wholes: list[int], end: Place, near: float) -> int | None:
        """The box, or the row of boxes, at whose edge a line ends."""
        found = [(to_edge(box, end), at) for at, (_, box) in enumerate(self.boxes)]
        gap, at = min(found, default=(inf, -1))
        return wholes[at] if gap <= near else None

    def crossed(self, near: float) -> Iterator[tuple[Segment, Segment]]:
        """Lines that cross each other, and have both ends at the same two boxes."""
        wholes = self.wholes()
        into = [
            {self.whole_at(wholes, end, near) for end in line} - {None}
            for line in self.lines
        ]
        for at, one in enumerate(self.lines):
            for other, at_boxes in zip(self.lines[:at], into[:at], strict=True):
                if at_boxes & into[at] and cross(one, other):
                    yield one, other

    def unlike(self, near: float) -> Iterator[tuple[str, Box]]:
        """Boxes of one size and ink at which fewer lines end than at their likes."""
        count = [0] * len(self.boxes)
        for _, end in self.ends():
            for at, (_, box) in enumerate(self.boxes):
                count[at] += to_edge(box, end) <= near
        sizes = [
            (ink, round(right - left), round(high - low))
            for ink, (left, right, low, high) in self.boxes
        ]
        for size in set(sizes):
            alike = [at for at, each in enumerate(sizes) if each == size]
            most = max(count[at] for at in alike)
            yield from (self.boxes[at] for at in alike if count[at] < most)


def _box(corners: Any) -> Box:
    (x, y), (x2, y2) = corners.min(axis=0), corners.max(axis=0)
    return float(x), float(x2), float(y), float(y2)


def _boxes(panel: Any) -> Iterator[tuple[str, Box]]:
    """Each rectangle of a panel; several that are drawn as one path are several."""
    for patch in panel.patches:
        path = patch.get_transform().transform_path(patch.get_path())
        colour = patch.get_facecolor() if patch.get_fill() else patch.get_edgecolor()
        for corners in path.to_polygons(closed_only=False):
            yield seen._name(colour), _box(corners)
    for group in panel.collections:
        for path in group.get_paths():
            corners = group.get_transform().transform(path.vertices)
            yield seen._name(group.get_facecolor()[0]), _box(corners)


def _pieces(points: Iterable[Place]) -> Iterator[Segment]:
    """The strokes of a line, which may be lifted in between."""
    whole = [(float(x), float(y)) for x, y in points]
    for one, other in pairwise(whole):
        if all(map(isfinite, (*one, *other))) and one != other:
            yield one, other


def drawing_of(panel: Any, *, arrows: bool = False) -> Drawing:
    """Everything that stands in a panel, in pixels; as its own lines ``arrows`` alone.

    Curves of a chart are something to point to, and end where their data do.
    """
    from matplotlib.text import Text

    found = Drawing([*_boxes(panel)])
    pixels = panel.transData.transform
    for line in panel.lines:
        if line.get_transform() == panel.transData:
            points = pixels(line.get_xydata())
            if line.get_linestyle() not in ("None", ""):
                strokes = [*_pieces(points)]
                (found.curves if arrows else found.lines).extend(strokes)
            if line.get_marker() not in ("None", "", None):
                found.dots += [(float(x), float(y)) for x, y in points]
    for text in panel.texts:
        if getattr(text, "arrow_patch", None) is not None:
            text.get_window_extent()  # with the arrow; the words are put in their place
            (x, y), (x2, y2) = (pixels(at) for at in (text.xyann, text.xy))
            found.lines.append(((float(x), float(y)), (float(x2), float(y2))))
        if text.get_text():
            words = Text.get_window_extent(text)
            found.words.append((words.x0, words.x1, words.y0, words.y1))
    return found
