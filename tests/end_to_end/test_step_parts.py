"""Step figures, part by part: each text, ink, place and number, found a second time.

By hand, from numbers of the page's examples; the figures' own logs are not asked.
"""

import cmath
import math
import re
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

import pytest

from llmserve_lab.catalog import MODELS
from llmserve_lab.end_to_end import example as by_hand
from llmserve_lab.end_to_end.story import (
    END,
    PROMPT,
    SENTENCE,
    WORDS,
    tokenize,
)
from llmserve_lab.page.step.figure import StepFigure, StepLog
from tests.page.test_counters import drawn
from tests.page.test_step_legends import made
from tests.transformer import loops

Row = dict[str, Any]
LLAMA = MODELS["llama-3.1-8b"]
ANSWER = [" ball", " and", " the", " cat", " the", " fish", ".", END]


def figure(name: str) -> StepFigure:
    return made(f"end_to_end.{name}")


def at(rows: Sequence[Row], x: float, y: float) -> Row:
    """The one cell that covers a place."""
    (found,) = (
        r for r in rows
        if r["x"] < x < r.get("x2", r["x"] + 1) and r["y"] < y < r["y2"]
    )  # fmt: skip
    return found


def minus(number: float, digits: int = 2) -> str:
    return f"{round(number, digits) + 0.0:.{digits}f}".replace("-", "−")


# The dials of RoPE.
@pytest.mark.parametrize("distance", range(5))
def test_each_part_of_a_dial(distance: int) -> None:
    """Key and query as complex numbers, each turned by its position in radians."""
    (log,) = figure("turn").logs.values()
    assert set(log.tables) == {"arc", "arrows", "tips", "names"}
    assert figure("turn").legend == {
        "cache": "key", "new": "query", "other": "angle between them",
    }  # fmt: skip
    back = math.degrees(1.0)
    between = (distance - 1) * back
    score = math.cos(math.radians(between))
    keys = {int(n) for n in re.findall(r"key at (\d)", str(log.tables["names"]))}
    assert keys == {1, 4}
    centres = sorted({row["x"] for row in drawn(log, distance, "arrows")})
    for key_at, centre in zip(sorted(keys), centres, strict=True):
        ends = {"cache": cmath.exp(1j * key_at),
                "new": cmath.exp(1j * (key_at + distance - 1))}  # fmt: skip
        said = {"cache": str(key_at), "new": str(key_at + distance)}
        for ink, end in ends.items():
            (arrow,) = _of(log, distance, "arrows", centre, ink)
            (tip,) = _of(log, distance, "tips", centre, ink)
            for x, y in ((arrow["x2"], arrow["y2"]), (tip["x"], tip["y"])):
                assert complex(x - centre, y) == pytest.approx(end, abs=0.002)
            assert arrow["y"] == 0
        names = [r for r in drawn(log, distance, "names") if abs(r["x"] - centre) < 1.4]
        below = [r["text"] for r in sorted(names, key=lambda r: r["y"])[:2]]
        assert below == [
            "↺ both turn this way", f"key at {key_at}, query at {key_at + distance}",
        ]  # fmt: skip
        for ink, end in ends.items():
            beside = [r for r in names if abs(complex(r["x"] - centre, r["y"])) < 1.3]
            assert said[ink] in {
                r["text"] for r in beside
                if abs(complex(r["x"] - centre, r["y"]) - 1.2 * end) < 0.01
            }  # fmt: skip
        arc = _of(log, distance, "arc", centre, "other")
        points = [complex(r["x"] - centre, r["y"]) for r in arc]
        points.append(complex(arc[-1]["x2"] - centre, arc[-1]["y2"]))
        assert points[0] / abs(points[0]) == pytest.approx(ends["cache"], abs=0.01)
        assert points[-1] / abs(points[-1]) == pytest.approx(ends["new"], abs=0.01)
        turned = sum(cmath.phase(b / a) for a, b in pairwise(points))
        assert math.degrees(turned) == pytest.approx(between, abs=1)
    frame = log.frames[distance]
    assert frame.sentence == (
        f"Keys at positions 1 and 4, queries at {1 + distance} and {4 + distance}: on "
        f"either dial the arrows stand {abs(between):.1f}° apart, and the score is "
        f"{minus(score)}."
    )
    sum_ = f"−{back:.1f}° + {distance} × {back:.1f}° = {minus(between, 1)}°"
    assert frame.counters == (sum_, minus(score))


def _of(log: StepLog, frame: int, table: str, centre: float, ink: str) -> list[Row]:
    rows = drawn(log, frame, table)
    return [r for r in rows if abs(r["x"] - centre) < 1.4 and r["ink"] == ink]


# The loop with a cache and without.
@pytest.mark.parametrize("number", range(len(ANSWER)))
def test_each_part_of_a_pass_of_both_loops(number: int) -> None:
    """Counted by columns: with a cache one is new, without one all are run."""
    (log,) = figure("loop").logs.values()
    prompt = len(tokenize(PROMPT))
    assert set(log.tables) == {"cells", "names"} and len(log.frames) == len(ANSWER)
    text = [WORDS[i] for i in tokenize(PROMPT)] + ANSWER
    n = prompt + number  # tokens there, before this pass writes one
    cells, names = drawn(log, number, "cells"), drawn(log, number, "names")
    above = sorted((c for c in cells if c["y"] < 1), key=lambda c: c["x"])
    words = [c["text"].strip("\u200b") for c in above]
    assert words == [word.strip(" <>") for word in text[: n + 1]]
    assert [c["ink"] for c in above] == ["other"] * n + ["empty"]
    rows = {
        "with a KV cache": [prompt] + [1] * number,
        "no cache": list(range(prompt, n + 1)),
    }
    held = n - 1 if number else 0
    inks = {
        "with a KV cache": ["cache"] * held + ["new"] * (n - held),
        "no cache": ["idle"] * held + ["new"] * (n - held),
    }
    assert len(names) == 2 and len(cells) == n + 1 + 2 * 2 * n
    for name in names:
        called = re.fullmatch(r"blocks 1 and 2, (.+): (\d+) rows", name["text"])
        assert called and int(called[2]) == sum(rows[called[1]])
        for block in (0, 1):  # below the name
            lane = [at(cells, x + 0.5, name["y"] + 0.9 + block) for x in range(n)]
            assert [cell["ink"] for cell in lane] == inks[called[1]]
            assert not any(cell["text"] for cell in lane)
    with_, without = rows.values()
    frame = log.frames[number]
    assert frame.counters == (
        f"{with_[-1]} with, {without[-1]} without",
        f"{sum(with_)} with, {sum(without)} without",
        held * 2 * LLAMA.n_layers * 8 * 128 * 2,
    )
    out = "The end mark" if text[n] == END else f"“{text[n].strip()}”"
    assert frame.sentence.startswith(f"Pass {number + 1}, ")
    assert frame.sentence.endswith(f" {out} comes out.")
    assert ("prefill: 4 rows" in frame.sentence) == (number == 0)
    assert ("decode: with a cache one row" in frame.sentence) == (number > 0)


def test_the_loop_s_columns_stand_on_the_side_of_their_phase() -> None:
    loop, prompt = figure("loop"), len(tokenize(PROMPT))
    assert loop.scene.fixed is not None
    assert {row["x"] for row in loop.scene.fixed["divider"]} == {prompt}
    phases = {r["text"]: r["x"] < prompt for r in loop.scene.fixed["phases"]}
    assert phases == {"prompt: prefill": True, "answer: run by decode": False}
    assert loop.counters[2].unit == "byte" and "8B" in loop.counters[2].label


# Attention of one row.
WAYS = {  # mask, division by the root of the width, positions
    "as by hand": (True, True, False),
    "no mask": (False, True, False),
    "no division": (True, False, False),
    "with RoPE": (True, True, True),
}


@cache
def looks(name: str) -> list[list[float]]:
    """Weights of each row, in loops, from the words' features and three matrices."""
    mask, divide, turn = WAYS[name]
    vectors = [list(map(float, by_hand.VECTORS[WORDS[i]])) for i in tokenize(SENTENCE)]
    w_q, w_k, _ = (each.tolist() for each in by_hand.weights())
    queries, keys = ([loops.times(v, w) for v in vectors] for w in (w_q, w_k))
    if turn:
        queries = [loops.rotated(q, i - 1) for i, q in enumerate(queries)]
        keys = [loops.rotated(k, i) for i, k in enumerate(keys)]
    by = 2.0 if divide else 1.0
    return [
        loops.softmax([loops.dot(q, k) / by for k in keys[: i + 1 if mask else None]])
        for i, q in enumerate(queries)
    ]


@pytest.mark.parametrize("name", WAYS)
def test_each_part_of_a_row_that_looks(name: str) -> None:
    rows, words = figure("attention_rows"), SENTENCE.split()
    log = rows.logs[name]
    assert set(rows.logs) == set(WAYS) and len(log.frames) == len(words)
    assert set(log.tables) == {"lines", "weights", "cells"}
    labels = tuple(c.label for c in rows.counters)
    assert labels == tuple(
        f"receives {f}" for f in ("alive", "verb", "article", "noun")
    )
    for i, frame in enumerate(log.frames):
        weights = looks(name)[i]
        seen, cells = len(weights), drawn(log, i, "cells")
        for j, word in enumerate(words):
            cell = at(cells, j + 0.5, 0.4)
            assert (cell["text"], cell["ink"]) == (word, ["empty", "cache"][j < seen])
            assert (cell["faint"] == 1) == (j < seen)
        (own,) = (c for c in cells if c["ink"] == "new")
        assert (own["x"], own["text"], len(cells)) == (i, words[i], len(words) + 1)
        below = {r["x"]: r["text"] for r in drawn(log, i, "weights") if r["y"] < 2}
        assert below == {j + 0.5: f"{w:.2f}" for j, w in enumerate(weights)}
        (called,) = (r for r in drawn(log, i, "weights") if r["y"] > 2)
        assert (called["text"], called["x"]) == ("its query", i + 0.5)
        lines = sorted(drawn(log, i, "lines"), key=lambda r: r["x"])
        assert [r["x"] for r in lines] == [j + 0.5 for j in range(seen)]
        for line, weight, end in zip(lines, weights, accumulate(weights), strict=True):
            assert line["ink"] == "cache" and line["y"] < 2 < line["y2"] == own["y"]
            assert line["x2"] == pytest.approx(i + end - weight / 2, abs=0.001)
            assert line["width"] == pytest.approx(14 * weight, abs=0.06)
        values = [by_hand.VECTORS[WORDS[k]] for k in tokenize(SENTENCE)]
        assert frame.counters == tuple(
            f"{sum(w * v[k] for w, v in zip(weights, values, strict=False)):.2f}"
            for k in range(len(labels))
        )
        assert frame.sentence == _looking(words, i, weights)


def _looking(words: list[str], i: int, weights: list[float]) -> str:
    if len(weights) == 1:
        return f"“{words[i]}” is the first row: it can look only at itself."
    most = max(weights)
    end = "Later words are hidden from it."
    if len(weights) == len(words):
        end = "No word is hidden from it."
    said = f"looks most at “{words[weights.index(most)]}”, with weight {most:.2f}"
    if max(weights) - min(weights) < 1e-12:
        said = f"looks at all words alike, with weight {most:.2f}"
    return f"“{words[i]}” (row {i + 1}) {said}. {end}"
