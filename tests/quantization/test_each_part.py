"""Every cell, counter, bar and sentence of the step figures, worked out by hand.

A group: from its weights as printed. GPTQ: the columns that still may move lie where
the squared error of the outputs is least. Forgetting: from queries, keys and values.
"""

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from llmserve_lab.page.live import registry
from llmserve_lab.page.step.figure import StepFigure, StepLog
from llmserve_lab.quantization.page import forgetting, steps
from tests.page.seen import alive

Row = dict[str, Any]
Numbers = np.ndarray
HALF = 0.0051  # of the last digit that is printed


@cache
def figure(name: str) -> StepFigure:
    return registry.steps()[f"quantization.{name}"]()


def seen(log: StepLog, table: str, frame: int) -> list[Row]:
    return [dict(row) for row in log.tables[table] if alive(row, frame)]


def plain(text: str) -> float:
    return float(text.replace("−", "-"))


def numbers(text: str) -> list[float]:
    found = re.findall(r"(?<![\w.])−?\d+(?:\.\d+)?", text)
    return [plain(each) for each in found]


def counted(name: str, log: StepLog, frame: int) -> dict[str, str]:
    labels = [counter.label for counter in figure(name).counters]
    values = map(str, log.frames[frame].counters)
    return dict(zip(labels, values, strict=True))


# One group of weights.
GROUPS = ("an ordinary group", "a group with an outlier")


def two(x: float) -> str:
    """Two digits, halves as Python has them, and no minus before nothing."""
    return f"{x:.2f}".replace("-0.00", "0.00").replace("-", "−")


def by_hand(weights: list[float]) -> dict[str, list[str]]:
    """Of each row its six cells, by the name that stands before it."""
    scale = max(map(abs, weights)) / 7
    codes = [round(x / scale) for x in weights]
    return {
        "weight": [two(x) for x in weights],
        "over scale": [two(x / scale) for x in weights],
        "code": [str(n).replace("-", "−") for n in codes],
        "bits": [f"{n % 16:04b}" for n in codes],  # two's complement
        "used as": [two(n * scale) for n in codes],
        "off by": [two(n * scale - x) for n, x in zip(codes, weights, strict=True)],
    }


# The ink of a row, and the frame of the sentence that makes it.
MADE = {
    "weight": ("weights", "Six weights"),
    "over scale": ("compute", "Each weight is divided"),
    "code": ("new", "Round to the nearest"),
    "bits": ("new", "Round to the nearest"),
    "used as": ("cache", "To use a weight"),
    "off by": ("other", "The worst is off"),
}


@pytest.mark.parametrize("name", GROUPS)
def test_each_row_of_a_group_is_what_it_is_called_from_its_sentence_on(
    name: str,
) -> None:
    shown = figure("group_quantized")
    log, fixed = shown.logs[name], (shown.scene.fixed or {})["names"]
    weights = [plain(r["text"]) for r in seen(log, "cells", 0) if r["y"] == 0]
    want, called = by_hand(weights), {row["text"]: row for row in fixed}
    assert set(called) == set(want) == set(MADE)
    top = max(range(6), key=lambda i: abs(weights[i]))
    for frame in range(len(log.frames)):
        cells: dict[int, dict[int, Row]] = {}
        for row in seen(log, "cells", frame):  # what is drawn later lies above
            cells.setdefault(int(row["y"]), {})[int(row["x"])] = row
        for line, (ink, words) in MADE.items():
            begins = [f.sentence.startswith(words) for f in log.frames].index(True)
            row = called[line]
            assert row["since"] == begins, line
            found = cells.get(int(row["y"]), {})
            assert bool(found) is (frame >= begins), (line, frame)
            if found:
                assert [found[i]["text"] for i in range(6)] == want[line], line
            for i, cell in found.items():
                largest = line == "weight" and i == top and frame >= 1
                assert cell["ink"] == ("communication" if largest else ink)


@pytest.mark.parametrize("name", GROUPS)
def test_each_sentence_of_a_group_and_each_counter_has_its_own_number(
    name: str,
) -> None:
    log = figure("group_quantized").logs[name]
    weights = [plain(r["text"]) for r in seen(log, "cells", 0) if r["y"] == 0]
    want = by_hand(weights)
    largest = round(max(map(abs, weights)), 2)
    scale = round(largest / 7, 2)
    worst = max(abs(plain(each)) for each in want["off by"])
    zeros = sum(code == "0" for code in want["code"])
    assert [numbers(frame.sentence) for frame in log.frames] == [
        [16, 12], [largest], [-7, 7, largest, 7, scale], [scale], [], [scale],
        [worst, scale / 2, zeros, 6],
    ]  # fmt: skip
    for frame in range(len(log.frames)):
        rounded, last = frame >= 4, frame == len(log.frames) - 1
        assert counted("group_quantized", log, frame) == {
            "scale": two(scale) if frame >= 2 else "–",
            "bytes of the group": f"{6 // 2} + scale" if rounded else str(6 * 2),
            "worst is off by": two(worst) if last else "–",
        }


# Columns, rounded one by one.
def least(weight: Numbers, rounded: Numbers, rows: Numbers) -> Numbers:
    """Where the columns that may still move lie, for the first ones as rounded."""
    done = rounded.shape[1]
    moment = 2 * rows.T @ rows / len(rows)
    moment = moment + 0.01 * np.mean(np.diag(moment)) * np.eye(len(moment))  # damping
    moved = rounded - weight[:, :done]
    push = np.linalg.solve(moment[done:, done:], moment[done:, :done] @ moved.T).T
    return np.asarray(weight[:, done:] - push)


def matrix(log: StepLog, frame: int, top: int, wide: int = 6) -> list[list[Row]]:
    """Three rows of cells from a line on."""
    cells = {(r["x"], r["y"]): r for r in seen(log, "cells", frame)}
    return [[cells[x, y] for x in range(wide)] for y in range(top, top + 3)]


def values(rows: list[list[Row]]) -> Numbers:
    return np.array([[plain(cell["text"]) for cell in row] for row in rows])


WAYS = {"GPTQ": "round to nearest", "round to nearest": "GPTQ"}
SHORT = {"GPTQ": "GPTQ", "round to nearest": "RTN"}


@pytest.mark.parametrize("way", WAYS)
def test_each_frame_rounds_a_column_and_moves_the_rest_as_it_says(way: str) -> None:
    shown = figure("gptq_columns")
    log, other = shown.logs[way], shown.logs[WAYS[way]]
    weight, rows = steps.small_layer()
    assert values(matrix(log, 0, 0)) == pytest.approx(weight, abs=HALF)
    end, ends = (values(matrix(each, 6, 0)) for each in (log, other))
    apart = end != ends
    for frame in range(7):
        left, moved = values(matrix(log, frame, 0)), values(matrix(log, frame, 4))
        assert moved == pytest.approx(left - weight, abs=2 * HALF)
        tenths = 10 * left[:, :frame]
        assert tenths == pytest.approx(np.rint(tenths), abs=1e-6)
        assert np.array_equal(left[:, :frame], end[:, :frame])
        free = least(weight, left[:, :frame], rows)
        want = free if way == "GPTQ" else weight[:, frame:]
        assert left[:, frame:] == pytest.approx(want, abs=HALF)
        for y, line in enumerate(matrix(log, frame, 0)):
            for x, cell in enumerate(line):
                done = "B" if apart[y, x] else "new"
                assert cell["ink"] == (done if x < frame else "weights")
        for y, line in enumerate(matrix(log, frame, 4)):
            for x, cell in enumerate(line):
                marked = bool(apart[y, x]) and x < frame
                assert cell["ink"] == ("B" if marked else "empty")
        sums = [r for r in seen(log, "cells", frame) if r["ink"] == "other"]
        found = {r["y"] - 4: plain(r["text"]) for r in sums}
        assert [found[y] for y in range(3)] == pytest.approx(list(moved.sum(axis=1)))
        by = np.hstack([left[:, :frame], want]) - weight
        error = np.linalg.norm(rows @ by.T) / np.linalg.norm(rows @ weight.T)
        counters = counted("gptq_columns", log, frame)
        assert counters["columns rounded"] == f"{frame} of 6"
        said = float(counters["error of the outputs so far"].rstrip("%"))
        assert said == pytest.approx(100 * error, abs=0.06)
        if 0 < frame < 6:
            assert numbers(log.frames[frame].sentence) == [frame]
    differ = [apart.sum(), apart.size] if way == "GPTQ" else []
    assert numbers(log.frames[6].sentence) == [*differ, said]
    (beside,) = seen(log, "beside", 6)
    assert beside["text"] == SHORT[WAYS[way]]  # the sums of the other way
    assert not seen(log, "beside", 5)


# Tokens that are forgotten.
KEPT = ("window", "window with sinks", "observed attention")


def looked(at: Numbers) -> Numbers:
    """Attention of the last query, by the definition."""
    head = forgetting.small_head()
    scores = head.keys[at] @ head.queries[-1] / np.sqrt(head.keys.shape[1])
    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum())


def stays(name: str) -> Numbers:
    """Places that stay: the last ones, four first ones, or those looked at most."""
    head, every = forgetting.small_head(), np.arange(48)
    if name == "window":
        return every[-16:]
    if name == "window with sinks":
        return np.concatenate([every[:4], every[-12:]])
    scores = head.queries @ head.keys.T / np.sqrt(head.keys.shape[1])
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    votes = shares.sum(axis=0)
    older = sorted(range(44), key=lambda i: -votes[i])[:12]
    return np.array(sorted([*older, *range(44, 48)]))


def off(name: str, again: bool) -> float:
    """Error of the output without the others; shares as before, or adding up."""
    head, kept, every = forgetting.small_head(), stays(name), np.arange(48)
    whole = looked(every) @ head.values
    shares = looked(kept) if again else looked(every)[kept]
    error = np.linalg.norm(shares @ head.values[kept] - whole) / np.linalg.norm(whole)
    return float(error)


def errors(name: str, frame: int) -> dict[str, float]:
    """Of each choice that is shown in a frame, by how much the output is off."""
    own = (0.0, off(name, again=False), off(name, again=True))[frame]
    others = {other: off(other, again=True) for other in KEPT} if frame == 2 else {}
    return others | {name: own}


@pytest.mark.parametrize("name", KEPT)
def test_each_token_has_its_attention_and_the_ink_of_what_it_is(name: str) -> None:
    head, log = forgetting.small_head(), figure("forgetting").logs[name]
    kept, every = stays(name), np.arange(48)
    for frame in range(3):
        shares = looked(every)
        if frame == 2:
            shares = np.zeros(48)
            shares[kept] = looked(kept)
        cells = seen(log, "cells", frame)
        for place in every:
            x, y = place % 16, place // 16
            own = [r for r in cells if (r["x"], r["y"]) == (x, y)]
            was = "communication" if place in head.facts else "cache"
            was = "new" if place == 0 else was
            gone = frame > 0 and place not in kept
            inks = ["idle", *([was] if was != "cache" else [])] if gone else [was]
            assert [row["ink"] for row in own] == inks, (frame, place)
            share = shares[place]
            said = f"{100 * share:.0f}" if share >= 0.005 and not gone else ""
            assert own[0]["text"] == said, (frame, place)


@pytest.mark.parametrize("name", KEPT)
def test_each_frame_of_forgetting_counts_and_draws_its_own_error(name: str) -> None:
    head, log = forgetting.small_head(), figure("forgetting").logs[name]
    kept, every = stays(name), np.arange(48)
    share = looked(every)[kept].sum()
    lost = len(set(head.facts) - set(kept.tolist()))
    first = round(100 * looked(every)[0])
    before, end = (round(100 * off(name, again)) for again in (False, True))
    assert [numbers(frame.sentence) for frame in log.frames] == [
        [48, first], [16, lost, len(head.facts), before],
        [100, round(1 / share, 2), end],
    ]  # fmt: skip
    assert log.frames[1].sentence.startswith(f"{name.capitalize()}: ")
    for frame in range(3):
        want = errors(name, frame)
        assert counted("forgetting", log, frame) == {
            "tokens kept": "48" if not frame else "16",
            "attention kept": f"{share:.0%}" if frame else "100%",
            "error of the output": f"{want[name]:.0%}",
        }
        words, bars = seen(log, "names", frame), seen(log, "bars", frame)
        assert len(bars) == len(want)
        longest = max(off(other, again=True) for other in KEPT)
        for called in words:
            if called["text"] not in KEPT:
                continue
            (bar,) = (b for b in bars if b["y"] < called["y"] < b["y2"])
            error = want.pop(called["text"])
            wide = bar["x2"] - bar["x"]
            assert wide == pytest.approx(max(0.04, 7.0 * error / longest), abs=2e-3)
            (said,) = (
                w["text"] for w in words if w["y"] == called["y"] and w is not called
            )
            assert said == f"{error:.0%}", called["text"]
        assert not want
