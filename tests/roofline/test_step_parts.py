"""The product in tiles, part by part: times by a closed form, inks by what was used.

With up to as many rows as the ridge has, tile n comes at n and is done a share of a
tick later; with more, the products of all tiles follow each other without a pause.
"""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from tests.page.test_counters import drawn
from tests.page.test_step_legends import made

Row = Mapping[str, Any]
RIDGE, TILES = 4, 16
LOGS = {"1 row": 1, "2 rows": 2, "4 rows": 4, "8 rows": 8}
UNITS = {"memory reads": "weights", "tensor cores compute": "compute"}


def fetched(count: int, n: int) -> float:
    """When the n-th tile has come: two have room, so it waits for the last but one."""
    return n if count <= RIDGE or n <= 2 else done(count, n - 2) + 1


def done(count: int, n: int) -> float:
    """When all rows have met n tiles."""
    each = count / RIDGE
    return n + each if each <= 1 else 1 + n * each


def inside(row: Row, y: float) -> bool:
    return bool(row["y"] < y < row["y2"])


def named() -> dict[str, Row]:
    fixed = made("roofline.reuse").scene.fixed
    assert fixed is not None
    return {row["text"]: row for row in fixed["words"]}


@pytest.mark.parametrize("name", LOGS)
def test_each_number_of_a_frame(name: str) -> None:
    figure, count = made("roofline.reuse"), LOGS[name]
    assert set(figure.logs) == set(LOGS)
    assert [c.label for c in figure.counters] == [
        "tiles used", "ticks per row, so far", "tensor cores busy",
    ]  # fmt: skip
    assert "ticks; reading a tile takes one" in figure.scene.x.title
    frames = figure.logs[name].frames
    assert len(frames) == TILES
    for n, frame in enumerate(frames, start=1):
        ticks = done(count, n)
        assert frame.at == ticks
        assert frame.counters == (
            n, f"{ticks / count:.2f}", f"{n * count / RIDGE / ticks:.0%}",
        )  # fmt: skip
        tiles, rows = ("" if k == 1 else "s" for k in (n, count))
        assert frame.sentence == (
            f"{ticks:.2f} ticks: {n} tile{tiles} used for {count} row{rows}."
        )


@pytest.mark.parametrize("name", LOGS)
def test_each_bar_of_both_units(name: str) -> None:
    """Below the unit's name, in its ink; what is no work is waiting, to the end."""
    log, count = made("roofline.reuse").logs[name], LOGS[name]
    assert set(log.tables) == {"cells", "words", "lanes", "idle"}
    spans = {
        "weights": [(fetched(count, n) - 1, fetched(count, n)) for n in range(1, 17)],
        "compute": [
            (done(count, n) - count / RIDGE, done(count, n)) for n in range(1, 17)
        ],
    }
    lanes, idle = log.tables["lanes"], log.tables["idle"]
    for unit, ink in UNITS.items():
        below = named()[unit]["y"] + 1.0
        bars = sorted((r["x"], r["x2"]) for r in lanes if inside(r, below))
        assert bars == spans[ink]
        assert {r["ink"] for r in lanes if inside(r, below)} == {ink}
        assert [(r["x"], r["x2"], r["ink"]) for r in idle if inside(r, below)] == [
            (0, done(count, TILES), "idle")
        ]
    assert len(lanes) == 2 * TILES and len(idle) == 2


@pytest.mark.parametrize("name", LOGS)
def test_each_bar_of_the_number_of_rows_beside(name: str) -> None:
    """As long as that number takes, and as much work as it has."""
    log = made("roofline.reuse").logs[name]
    (said,) = log.tables["words"]
    found = re.fullmatch(r"(\d) rows? takes? ([\d.]+) ticks", said["text"])
    assert found
    other, end = int(found[1]), float(found[2])
    assert other != LOGS[name] and end == done(other, TILES)
    for frame in (0, TILES - 1):
        bars = [r for r in drawn(log, frame, "cells") if r["y"] > said["y"]]
        tops = sorted({r["y"] for r in bars})
        assert len(tops) == 2
        for top, ink, work in zip(
            tops, UNITS.values(), (TILES, TILES * other / RIDGE), strict=True
        ):
            lane = [r for r in bars if r["y"] == top]
            (waits,) = (r for r in lane if r["ink"] == "idle")
            assert (waits["x"], waits["x2"]) == (0, end)
            works = [r for r in lane if r is not waits]
            assert {r["ink"] for r in works} == {ink}
            assert sum(r["x2"] - r["x"] for r in works) == pytest.approx(work)
            assert min(r["x"] for r in works) == (0 if ink == "weights" else 1)
            if ink == "compute":
                assert max(r["x2"] for r in works) == end


def column(row: Row, left: float) -> int:
    return int((row["x"] - left) // (row["x2"] - row["x"]))


@pytest.mark.parametrize("name", LOGS)
def test_each_cell_of_the_product(name: str) -> None:
    """Tiles so far are read, the last is in use; a result has its four or is pale."""
    log, count = made("roofline.reuse").logs[name], LOGS[name]
    words = named()
    left = {what: words[what]["x"] for what in ("rows", "weights", "result")}
    top = words["memory reads"]["y"]
    before: set[tuple[int, int]] = set()
    for frame in range(TILES):
        cells = [r for r in drawn(log, frame, "cells") if r["y"] < top]
        parts: dict[str, list[Row]] = {what: [] for what in left}
        for cell in cells:
            what = max((w for w in left if left[w] <= cell["x"]), key=left.__getitem__)
            parts[what].append(cell)
        assert len(parts["weights"]) == TILES
        assert len(parts["result"]) == 4 * count
        high = sorted({r["y"] for r in parts["weights"]})
        place = {
            (high.index(r["y"]), column(r, left["weights"])): r
            for r in parts["weights"]
        }
        used = {at for at, r in place.items() if r["ink"] == "weights"}
        assert {r["ink"] for r in parts["weights"]} <= {"weights", "empty"}
        (now,) = used - before
        assert len(used) == frame + 1 and before < used
        assert {at for at in used if place[at]["faint"] == 1} == {now}
        # The row meets the tile with its piece of the same number.
        bright = [r for r in parts["rows"] if r["faint"] == 1]
        assert {column(r, left["rows"]) for r in bright} == {now[0]}
        assert len(bright) == count and len(parts["rows"]) == 5 * count
        assert {r["ink"] for r in parts["rows"]} == {"new"}
        for row in parts["result"]:
            met = sum(j == column(row, left["result"]) for _, j in used)
            assert row["ink"] == ("compute" if met else "empty")
            assert (row["faint"] == 1) == (met in (0, 4))
        before = used


def test_the_legend_calls_each_ink_as_it_is_counted_above() -> None:
    legend = made("roofline.reuse").legend
    assert set(legend) == {"weights", "new", "compute", "idle"}
    assert legend["weights"] == "weights" and legend["new"] == "input rows"
    assert legend["compute"].startswith("result (pale: not yet complete), computing")
    assert legend["idle"] == "waiting"
