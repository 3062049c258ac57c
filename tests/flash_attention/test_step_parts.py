"""Both step figures, part by part: plain softmax over the keys that were met so far."""

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from llmserve_lab.flash_attention.example import KEYS, TOKENS, head
from llmserve_lab.page.step.figure import StepFigure
from tests.page.test_counters import drawn
from tests.page.test_step_legends import made

Row = Mapping[str, Any]
Rows = Sequence[Row]
SIDE, WIDTH, WIDTH_V = 2, 4, 2


def minus(number: float, digits: int) -> str:
    return f"{number:.{digits}f}".replace("-", "−")


@cache
def numbers(tokens: int) -> tuple[Any, Any]:
    """Scores [n, n] and values [n, 2] of the example."""
    query, key, value = (each[:, 0] for each in head(tokens))
    return query @ key.T / math.sqrt(WIDTH), value


def state(scores: Any, values: Any) -> tuple[float, float, Any]:
    """Maximum, sum and mixture of some scores, none kept from before."""
    powers = np.exp(scores - scores.max())
    return float(scores.max()), float(powers.sum()), powers @ values


def words(figure: StepFigure) -> dict[str, Row]:
    assert figure.scene.fixed is not None
    return {row["text"]: row for row in figure.scene.fixed["words"]}


def covers(row: Row, x: float, y: float) -> bool:
    return bool(row["x"] < x < row["x2"] and row["y"] < y < row["y2"])


def under(cells: Rows, x: float, y: float) -> Row:
    (found,) = (r for r in cells if covers(r, x, y))
    return found


# Six tokens in tiles.
VISITS = [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]  # tile of queries, of keys
FRAMES = [  # the visits done, the one on chip, tiles of queries that are written
    *((1, VISITS[0], 0), (1, None, 1)),
    *((2, VISITS[1], 1), (3, VISITS[2], 1), (3, None, 2)),
    *((4, VISITS[3], 2), (5, VISITS[4], 2), (6, VISITS[5], 2), (6, None, 3)),
]


@pytest.mark.parametrize("frame", range(len(FRAMES)))
def test_each_cell_of_the_walk(frame: int) -> None:
    figure = made("flash_attention.tiles_walked")
    (log,) = figure.logs.values()
    assert len(log.frames) == len(FRAMES) and set(log.tables) == {"cells"}
    done, now, _ = FRAMES[frame]
    cells, said = drawn(log, frame, "cells"), words(figure)
    scores, _ = numbers(TOKENS)
    text = {r["text"]: r for r in cells if r["text"]}
    left = text["q1"]["x2"]
    named = 0
    for i in range(TOKENS):
        q, y = text[f"q{i + 1}"], text[f"q{i + 1}"]["y"] + 0.4
        on = now is not None and i // SIDE == now[0]
        assert q["ink"] == ("new" if on else "empty") and q["x2"] == left
        for letter in "kv":
            cell = text[f"{letter}{i + 1}"]
            met = now is not None and i // SIDE == now[1]
            assert cell["ink"] == ("cache" if met else "empty")
            beside = said[{"k": "keys", "v": "values"}[letter]]
            assert cell["y"] < beside["y"] < cell["y2"]
        for j in range(TOKENS):
            here, at = (i // SIDE, j // SIDE), text[f"k{j + 1}"]["x"] + 0.5
            pair = under(cells, at, y)
            if here[1] > here[0]:
                want = ("idle", "", 1)
            elif here == now:
                shown = minus(scores[i, j], 1) if j <= i else "−∞"
                want = ("compute", shown, 1)
            elif here in VISITS[:done]:
                want = ("compute", "", pair["faint"])
                assert pair["faint"] < 0.5
            else:
                want = ("empty", "", 1)
            assert (pair["ink"], pair["text"], pair["faint"]) == want, (i, j)
        named += _of_a_row(cells, said, i, y, frame)
    assert len(cells) == 3 * TOKENS + TOKENS**2 + named


def _of_a_row(cells: Rows, said: dict[str, Row], i: int, y: float, frame: int) -> int:
    """Factor, maximum, sum and mixture of a row, or its output; how many cells."""
    _, now, written = FRAMES[frame]
    scores, values = numbers(TOKENS)
    found = sorted(
        (r for r in cells if r["y"] < y < r["y2"] and r["x"] >= 13.4),
        key=lambda r: r["x"],
    )
    first = under(cells, said["factor"]["x"], y)
    if i // SIDE < written:
        *_, total, mixed = state(scores[i, : i + 1], values[: i + 1])
        shown = [f"{x:.2f}" for x in mixed / total]
        assert [r["text"] for r in found] == ["output = mixture ÷ sum", *shown]
        assert {r["ink"] for r in found} == {"other"} and found[0] is first
        return len(found)
    want = [""] * 5
    if now is not None and i // SIDE == now[0]:
        seen = min(i + 1, SIDE * (now[1] + 1))
        top, total, mixed = state(scores[i, :seen], values[:seen])
        factor = "first"
        if now[1]:
            before = scores[i, : SIDE * now[1]].max()
            factor = f"{math.exp(before - top):.3f}"
        want = [factor, minus(top, 1), f"{total:.2f}", *(f"{x:.2f}" for x in mixed)]
    assert [r["text"] for r in found] == want
    assert {r["ink"] for r in found} == ({"compute"} if want[0] else {"empty"})
    heads = ("factor", "max", "sum")
    assert [under(cells, said[name]["x"], y) for name in heads] == found[:3]
    assert found[3]["x"] < said["mixture"]["x"] < found[4]["x2"]
    return len(found)


@pytest.mark.parametrize("frame", range(len(FRAMES)))
def test_each_number_below_the_walk_and_in_its_sentence(frame: int) -> None:
    figure = made("flash_attention.tiles_walked")
    (log,) = figure.logs.values()
    assert [c.label for c in figure.counters] == [
        "numbers read", "numbers written", "scores on chip",
    ]  # fmt: skip
    done, now, written = FRAMES[frame]
    rows = {tile for tile, _ in VISITS[:done]}
    read = len(rows) * SIDE * WIDTH + done * SIDE * (WIDTH + WIDTH_V)
    on_chip = 0 if now is None else SIDE**2
    said = log.frames[frame]
    assert said.counters == (read, written * SIDE * WIDTH_V, on_chip)
    scores, values = numbers(TOKENS)
    tile, keys = VISITS[done - 1]
    last = SIDE * tile + SIDE - 1
    if now is None:
        *_, total, mixed = state(scores[last, : last + 1], values[: last + 1])
        out = ", ".join(f"{x:.2f}" for x in mixed / total)
        assert said.sentence == (
            f"Queries {last}–{last + 1} have met all their keys: mixture over sum is "
            f"their output ({out} for query {last + 1}), and only that is written."
        )
        return
    begin = f"Queries {last}–{last + 1} meet keys {2 * keys + 1}–{2 * keys + 2}. "
    assert said.sentence.startswith(begin)
    rest, risen = said.sentence.removeprefix(begin), list[str]()
    for i in (last - 1, last):
        seen = min(i + 1, SIDE * (keys + 1))
        top, total, _ = state(scores[i, :seen], values[:seen])
        factor = math.exp(scores[i, : SIDE * keys].max() - top) if keys else 0.0
        if 0 < factor < 1:
            risen.append(
                f"query {i + 1} finds a larger score, {minus(top, 1)}: sum and mixture "
                f"are multiplied by {factor:.3f}"
            )
    if not keys:
        assert rest == (
            f"It is their first tile, so nothing is rescaled yet. Query {last + 1} has "
            f"the maximum {minus(top, 1)} and the sum {total:.2f}."
        )
    elif factor == 1:
        assert rest == (
            f"For query {last + 1} no score is above its maximum, {minus(top, 1)}: "
            f"nothing is rescaled, and the sum grows to {total:.2f}."
        )
    else:
        joined = "; ".join(risen) + ", before the new scores are added."
        assert rest[0].lower() + rest[1:] == joined


# A decode in three splits, and as one block.
SPLITS, TICKS, MERGE = 3, 6, 3


def of_keys(first: int, after: int) -> list[str]:
    """Maximum, sum, log-sum-exp and output of the last query over some keys."""
    scores, values = numbers(KEYS)
    top, total, mixed = state(scores[-1, first:after], values[first:after])
    whole = math.log(math.fsum(math.exp(s) for s in scores[-1, first:after]))
    out = [minus(x, 2) for x in mixed / total]
    return [minus(top, 1), f"{total:.2f}", minus(whole, 2), *out]


@pytest.mark.parametrize("tick", range(1, TICKS + 1))
def test_each_lane_of_a_decode(tick: int) -> None:
    figure = made("flash_attention.split_decoding")
    (log,) = figure.logs.values()
    cells, said = drawn(log, tick - 1, "cells"), words(figure)
    assert figure.scene.fixed is not None and len(log.frames) == TICKS
    names = [r for r in figure.scene.fixed["words"] if r["text"].startswith("SM ")]
    assert [r["text"] for r in names] == ["SM 1", "SM 2", "SM 3"] * 2
    assert said["in three splits"]["y"] < said["as one block"]["y"]
    found = 0
    for name in names:
        lane = int(name["text"][-1]) - 1
        alone = name["y"] > said["as one block"]["y"]
        for at in range(1, TICKS + 1):
            x = said[f"tick {at}"]["x"]
            there = [r for r in cells if covers(r, x, name["y"])]
            first = SIDE * (at - 1) + (0 if alone else KEYS // SPLITS * lane)
            read = ("cache", f"{first + 1}–{first + 2}")
            want = [read if lane == 0 or not alone else ("idle", "")]
            if not alone and at >= MERGE:
                want = [("communication", "merge") if lane == 0 else ("idle", "")]
            if at > tick or (not alone and at > MERGE):
                want = []
            assert [(r["ink"], r["text"]) for r in there] == want, (name, at)
            found += len(there)
    table = [r for r in cells if r["y"] > said["max"]["y"]]
    assert len(cells) == found + len(table)


@pytest.mark.parametrize("tick", range(1, TICKS + 1))
def test_each_number_of_a_decode_s_table(tick: int) -> None:
    figure = made("flash_attention.split_decoding")
    (log,) = figure.logs.values()
    said = words(figure)
    table = [r for r in drawn(log, tick - 1, "cells") if r["y"] > said["max"]["y"]]
    lines: dict[float, list[Row]] = {}
    for row in sorted(table, key=lambda r: (r["y"], r["x"])):
        lines.setdefault(row["y"], []).append(row)
    own, want = KEYS // SPLITS, list[list[str]]()
    for split in range(SPLITS):
        first, after = split * own, split * own + min(SIDE * tick, own)
        want.append([f"{first + 1}–{after}", *of_keys(first, after)])
    if tick >= MERGE:
        want.append(["merged", "–", "–", *of_keys(0, KEYS)[2:]])
    if tick == TICKS:
        want.append(["one block", *of_keys(0, KEYS)])
    assert [[r["text"] for r in line] for line in lines.values()] == want
    for number, line in enumerate(lines.values()):
        handed = tick >= MERGE and number < SPLITS
        inks = ["communication" if handed and i >= 3 else "compute" for i in range(6)]
        assert [r["ink"] for r in line] == inks
        for at, head_ in enumerate(("keys", "max", "sum", "log-sum-exp")):
            assert line[at]["x"] < said[head_]["x"] < line[at]["x2"]
        assert line[4]["x"] < said["output"]["x"] < line[5]["x2"]


@pytest.mark.parametrize("tick", range(1, TICKS + 1))
def test_each_number_below_a_decode_and_in_its_sentence(tick: int) -> None:
    figure = made("flash_attention.split_decoding")
    (log,) = figure.logs.values()
    assert [c.label for c in figure.counters] == [
        "ticks", "keys read by three splits", "keys read by one block",
    ]  # fmt: skip
    frame = log.frames[tick - 1]
    split, alone = min(KEYS, SPLITS * SIDE * tick), SIDE * tick
    assert frame.counters == (tick, split, alone)
    scores, _ = numbers(KEYS)
    parts = np.exp(scores[-1]).reshape(SPLITS, -1).sum(axis=1)
    shares = [f"{x:.1%}" for x in parts / parts.sum()]
    assert re.findall(r"[\d.]+%", frame.sentence) == (shares if tick == MERGE else [])
    begin = f"The three splits were merged in tick {MERGE}; "
    if tick < MERGE:
        begin = f"After tick {tick} the three splits have read {split} of {KEYS} keys; "
    elif tick == MERGE:
        begin = "Each split has written 3 numbers, and the merge reads all 9. The "
    assert frame.sentence.startswith(begin)
    end = f"one block alone has read {alone} of {KEYS}."
    if tick == TICKS:
        out = ", ".join(of_keys(0, KEYS)[3:])
        end = f"one block alone has now found the same output, {out}."
    assert frame.sentence.endswith(f"; {end}")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tiles_walked", {
            "new": "queries on", "cache": "values on chip", "compute": "computed on",
            "idle": "of the future", "empty": "in memory, or not", "other": "output",
        }),
        ("split_decoding", {
            "cache": "keys and values, read", "compute": "maximum, sum and output",
            "communication": "merge, and what it reads", "idle": "without work",
        }),
    ],
)  # fmt: skip
def test_a_legend_calls_each_ink_as_it_is_counted_above(
    name: str, words: dict[str, str]
) -> None:
    legend = made(f"flash_attention.{name}").legend
    assert set(legend) == set(words)
    assert all(said in legend[ink] for ink, said in words.items())
