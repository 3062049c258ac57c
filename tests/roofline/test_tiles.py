"""A product in tiles: the numbers are right, fetches are counted, time is kept."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.roofline.page import reuse
from llmserve_lab.roofline.tiles import (
    TiledWeights,
    example_rows,
    example_weights,
    multiply,
    multiply_row_by_row,
    timeline,
)
from tests.page.test_written import BY_NAME, paragraphs


@given(
    down=st.integers(1, 4),
    across=st.integers(1, 4),
    tile=st.integers(1, 5),
    count=st.integers(1, 6),
    seed=st.integers(0, 99),
)
def test_both_orders_multiply_and_one_fetches_each_tile_once(
    down: int, across: int, tile: int, count: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(down * tile, across * tile))
    rows = rng.normal(size=(count, down * tile))
    for product, times in ((multiply, 1), (multiply_row_by_row, count)):
        weights = TiledWeights(matrix, tile)
        assert np.allclose(product(rows, weights), rows @ matrix)
        assert weights.count("fetch") == times * down * across
        assert weights.bytes_read == 2 * times * matrix.size
        assert weights.flops == 2 * count * matrix.size


def slow(log: list[tuple[str, int, int]], per_tile: int, buffers: int) -> int:
    """The same machine, one small tick after another: one product a tick.

    A fetch takes ``per_tile`` ticks, and begins when there is room for its tile.
    """
    work = [0]
    for what, *_ in log:
        if what == "fetch":
            work.append(0)
        else:
            work[-1] += 1
    left, ticks, fetched, done, under_way = work[1:], 0, 0, 0, 0
    while done < len(left):
        if fetched < len(left) and (under_way or fetched - done < buffers):
            under_way += 1
        has = done < fetched
        if has:
            left[done] -= 1
        if under_way == per_tile:
            fetched, under_way = fetched + 1, 0
        if has and left[done] == 0:
            done += 1
        ticks += 1
    return ticks


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 8])
@pytest.mark.parametrize("per_tile", [1, 3, 4])
def test_the_timeline_is_that_of_a_machine_played_out(
    count: int, per_tile: int
) -> None:
    weights = example_weights()
    multiply(example_rows(count), weights)
    fetched, computed = timeline(weights.log, per_tile=per_tile)
    assert computed[-1].end * per_tile == pytest.approx(slow(weights.log, per_tile, 2))
    assert len(fetched) == len(computed) == len(weights.places)
    for lane in (fetched, computed):
        ends = [each.end for each in lane]
        starts = [each.start for each in lane]
        assert all(b >= a for a, b in zip(ends, starts[1:], strict=False))


def test_the_figure_shows_what_ran() -> None:
    figure = reuse.reuse()
    for name, count in reuse.BATCHES.items():
        weights, _, computed = reuse.run(count)
        frames = figure.logs[name].frames
        assert len(frames) == len(weights.places) == len(computed)
        read, each_row, share = frames[-1].counters
        assert read == len(weights.places)
        assert weights.count("multiply") == count * len(weights.places)
        assert each_row == f"{computed[-1].end / count:.2f}"
        assert share == f"{count * len(computed) / 4 / computed[-1].end:.0%}"
    assert figure.goal is not None
    runs = {name: reuse.run(count)[2] for name, count in reuse.BATCHES.items()}
    works = {
        name: reuse.BATCHES[name] * len(run) / 4 / run[-1].end
        for name, run in runs.items()
    }
    enough = [name for name, share in works.items() if share > 0.9]
    assert enough[0] == figure.goal.example["log"] == "4 rows"


INKS = {"memory": "weights", "tensor cores": "compute"}  # of the lanes of both units
SAID = re.compile(
    r"[Ww]ith (one row|\w+ rows) the (memory|tensor cores) (?:has|have) to wait "
    r"for the (memory|tensor cores)"
)
COUNTS = {"one row": "1 row", "four rows": "4 rows", "eight rows": "8 rows"}


def pauses(log: str, unit: str) -> bool:
    """Whether a unit stands still between its first work and its last, as drawn."""
    lanes = reuse.reuse().logs[log].tables["lanes"]
    bars = sorted((r["x"], r["x2"]) for r in lanes if r["ink"] == INKS[unit])
    return any(start > end for (_, end), (start, _) in pairwise(bars))


def test_who_waits_in_the_text_has_the_pauses_in_the_figure() -> None:
    text = " ".join(paragraphs(BY_NAME["roofline"]))
    waits = SAID.findall(text)
    assert waits
    for count, waiter, busy in waits:
        assert pauses(COUNTS[count], waiter) and not pauses(COUNTS[count], busy)
    assert "With one row the memory reads without a pause" in text
    assert pauses("1 row", "tensor cores") and not pauses("1 row", "memory")
    assert "reading a tile and multiplying it then take equally long" in text
    assert not any(pauses("4 rows", unit) for unit in INKS)


@pytest.mark.parametrize(
    ("tile", "message"), [(0, "tile must be at least 1"), (3, "tile must divide")]
)
def test_a_bad_tile_is_named(tile: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TiledWeights(np.zeros((4, 8)), tile)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"per_tile": 0}, "per_tile must be positive, got 0"),
        ({"per_tile": 1, "buffers": 0}, "buffers must be at least 1, got 0"),
    ],
)
def test_a_bad_machine_is_named(keywords: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        timeline([], **keywords)


def test_the_other_number_of_rows_takes_as_long_as_where_it_is_stepped() -> None:
    """Its words beside, its waiting, and the last sentence of its own log."""
    logs = reuse.reuse().logs
    ends = {
        name: log.frames[-1].sentence.split(" ticks")[0] for name, log in logs.items()
    }
    told = 0
    for log in logs.values():
        for row in log.tables["words"]:
            said = re.fullmatch(r"(\d+ rows?) takes? ([\d.]+) ticks", row["text"])
            assert said, row["text"]
            if said[1] in ends:
                assert said[2] == ends[said[1]]
                told += 1
    assert told >= 2
