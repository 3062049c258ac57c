"""The three kernels' squares, pair by pair: who may see whom, said once more.

A pair is useful where one request's own later token looks at its earlier one or at
itself; tiles are taken row by row of tiles, request after request.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from llmserve_lab.page.step.figure import StepFigure
from tests.page.test_counters import drawn
from tests.page.test_step_legends import made

Row = Mapping[str, Any]
LENGTHS = {"A": 3, "B": 8, "C": 5}
SIDE, LONGEST = 4, 8
LOGS = {"every tile": False, "the future skipped": True}
PANELS = {"padded": 0.0, "masked": 12.6, "varlen": 33.2}  # left edges of the strips
STRIP = 1.4
WORDS = {"padded": "Padding", "masked": "Masking", "varlen": "Varlen"}
Place = tuple[str, int]  # a request and one of its tokens; "" is no token


def figure() -> StepFigure:
    return made("varlen.tiles_visited")


def stack(way: str) -> list[Place]:
    """What stands in each line of a panel, from the top."""
    found = list[Place]()
    for letter, length in LENGTHS.items():
        room = {"padded": LONGEST, "masked": length}.get(way, -(-length // SIDE) * SIDE)
        found += [(letter, i) if i < length else ("", -1) for i in range(room)]
    return found


def tiles(way: str, *, skip: bool) -> Iterator[tuple[int, int]]:
    """First line and first column of each tile, in the order of the visits."""
    lines = stack(way)
    if way == "masked":
        blocks = [(0, len(lines))]
    else:
        rooms = [LONGEST if way == "padded" else -(-n // SIDE) * SIDE
                 for n in LENGTHS.values()]  # fmt: skip
        blocks = [(sum(rooms[:i]), room) for i, room in enumerate(rooms)]
    for start, room in blocks:
        for row in range(0, room, SIDE):
            for key in range(0, room, SIDE):
                if not (skip and key > row):
                    yield start + row, start + key


def ink(way: str, row: int, key: int) -> str:
    """Whose useful pair it is; idle where it is for nothing."""
    (letter, at), (other, before) = (stack(way)[i] for i in (row, key))
    return letter if letter and letter == other and before <= at else "idle"


def shown(way: str, row: int, key: int) -> tuple[float, float]:
    """Left and top of a pair: padded keys stand below each other."""
    across = key % LONGEST if way == "padded" else key
    return round(PANELS[way] + STRIP + across, 1), float(row)


def units(rows: list[Any]) -> dict[tuple[float, float], str]:
    """Ink of each place of side one that some rows cover, none of them twice."""
    found: dict[tuple[float, float], str] = {}
    for row in rows:
        for y in range(round(row["y2"] - row["y"])):
            for x in range(round(row["x2"] - row["x"])):
                at = round(row["x"] + x, 1), float(row["y"] + y)
                assert at not in found
                found[at] = row["ink"]
    return found


@pytest.mark.parametrize("name", LOGS)
def test_each_pair_of_each_frame(name: str) -> None:
    log = figure().logs[name]
    assert set(figure().logs) == set(LOGS) and set(log.tables) == {"pairs", "words"}
    ways = {way: list(tiles(way, skip=LOGS[name])) for way in PANELS}
    assert len(log.frames) == max(map(len, ways.values())) + 1
    assert [c.label for c in figure().counters] == [f"tiles, {way}" for way in ways]
    total = sum(n * (n + 1) // 2 for n in LENGTHS.values())
    for frame, said in enumerate(log.frames):
        want, have = dict[tuple[float, float], str](), dict[str, int]()
        for way, visits in ways.items():
            done = [
                (row + i, key + j)
                for row, key in visits[:frame]
                for i in range(SIDE)
                for j in range(SIDE)
            ]
            inks = {shown(way, *pair): ink(way, *pair) for pair in done}
            have[way] = sum(each != "idle" for each in inks.values())
            want |= inks
        assert units(drawn(log, frame, "pairs")) == want
        assert said.counters == tuple(
            f"{min(frame, len(v))} of {len(v)}" for v in ways.values()
        )
        sentence = (
            f"{3 * LONGEST} rows with padding, {sum(LENGTHS.values())} without; no "
            "pair is computed yet."
        )
        if frame:
            counts = ", ".join(f"{way} {count}" for way, count in have.items())
            plural = "step" if frame == 1 else "steps"
            sentence = f"After {frame} {plural}, of {total} useful pairs: {counts}."
            for way, visits in ways.items():
                if frame == len(visits):
                    sentence += f" {WORDS[way]} is done."
        assert said.sentence == sentence
    assert have == dict.fromkeys(ways, total)


@pytest.mark.parametrize("name", LOGS)
def test_each_word_above_and_below_a_panel(name: str) -> None:
    log = figure().logs[name]
    for frame in range(len(log.frames)):
        texts = {(r["text"], r["x"]) for r in drawn(log, frame, "words")}
        want = set()
        for way, left in PANELS.items():
            width = LONGEST if way == "padded" else len(stack(way))
            middle = round(left + STRIP + width / 2, 1)
            count = len(list(tiles(way, skip=LOGS[name])))
            want.add((way, middle))
            if frame >= count:
                want.add((f"done: {count} tiles", middle))
        assert texts == want
        assert all(
            (row["y"] < 0) == (row["text"] in PANELS)
            for row in drawn(log, frame, "words")
        )


def test_each_row_of_the_strips_has_its_request_s_ink() -> None:
    fixed = figure().scene.fixed
    assert fixed is not None and set(fixed) == {"fields"}
    strips = {
        (row["x"], float(row["y"])): row["ink"]
        for row in fixed["fields"]
        if row["x"] in PANELS.values()
    }
    want = {}
    for way, left in PANELS.items():
        for line, (letter, _) in enumerate(stack(way)):
            if letter or way == "padded":
                want[left, float(line)] = letter or "idle"
    assert strips == want
    legend = figure().legend
    assert legend["idle"] == "computed for nothing"
    assert all(legend[letter].endswith(f"request {letter}") for letter in LENGTHS)


def test_what_is_not_computed_yet_is_what_every_tile_covers() -> None:
    fixed = figure().scene.fixed
    assert fixed is not None
    empty = [r for r in fixed["fields"] if r["ink"] == "empty"]
    log = figure().logs["every tile"]
    assert set(units(empty)) == set(units(drawn(log, len(log.frames) - 1, "pairs")))
