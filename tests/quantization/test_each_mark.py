"""Every bar, point, word and part of the chapter's stills and its live figure.

A word beside a point is nearer to it than to any other of its line; a curve has the
speed of the format that is written in its ink; a part of the live bar lasts as long as
its signal, at its place, in the ink that the legend names.
"""

import re
from math import log
from typing import Any

import numpy as np
import pytest

from llmserve_lab.quantization import decision, measured, outliers
from llmserve_lab.quantization.codecs import FORMATS
from llmserve_lab.quantization.page import figures, sharing, stills
from llmserve_lab.quantization.page.controls import (
    BATCHES,
    CACHE_NAMES,
    CONTEXTS,
    WEIGHTS,
)
from llmserve_lab.quantization.page.questions import gain
from llmserve_lab.quantization.speed import Bits
from tests.page import drawn, seen

# Bits of a code from the left: sign, exponent, mantissa; or a whole number.
BITS = {
    "FP16": (1, 5, 10),
    "BF16": (1, 8, 7),
    "FP8 E4M3": (1, 4, 3),
    "FP8 E5M2": (1, 5, 2),
    "FP4 E2M1": (1, 2, 1),
    "INT8": (8,),
    "INT4": (4,),
}
POSITIVE: dict[
    str, list[float]
] = {  # not below zero, of formats that can be written down
    "FP4 E2M1": [0, 0.5, 1, 1.5, 2, 3, 4, 6],
    "INT4": list(range(8)),
}


def ink(bar: Any) -> str:
    return seen._name(bar.get_facecolor())


def test_each_code_has_its_bits_in_the_inks_of_the_legend() -> None:
    bits, line = drawn.panels(stills.layouts)
    (legend,) = bits.figure.legends
    named = {
        text.get_text(): ink(patch)
        for text, patch in zip(legend.get_texts(), legend.get_patches(), strict=True)
    }
    assert len(set(named.values())) == 4
    names = [label.get_text() for label in bits.get_yticklabels()]
    assert set(names) == set(BITS)
    strokes = {round(path[0][1] + 0.31): path for path in paths(line)}
    for row, name in enumerate(names):
        bars = [b for b in bits.patches if round(b.get_y() + b.get_height() / 2) == row]
        fields = (
            ("sign", "exponent", "mantissa") if len(BITS[name]) > 1 else ("integer",)
        )
        left = 0
        for bar, field, wide in zip(bars, fields, BITS[name], strict=True):
            assert (bar.get_x(), bar.get_width()) == (left, wide), name
            assert ink(bar) == named[field], (name, field)
            left += wide
        dense = [t for t in line.texts if t.get_position()[1] == row]
        assert bool(dense) is (name in ("FP16", "BF16"))
        if row in strokes:
            x = sorted({float(p[0]) for p in strokes[row]})
            assert x[0] == 0 and x[-1] == 1
            if name in POSITIVE:
                most = max(POSITIVE[name])
                assert x == pytest.approx([each / most for each in POSITIVE[name]])
    assert len(strokes) == len(FORMATS) - 2


def paths(panel: Any) -> list[Any]:
    """Points of each line of a panel that has more than two, without gaps."""
    found = []
    for line in panel.lines:
        points = line.get_xydata()
        points = points[~np.isnan(points).any(axis=1)]
        if len(points) > 2:
            found.append(points.tolist())
    return found


def near(text: Any, points: list[tuple[float, float]]) -> int:
    """Which of some points is nearest to a word, on an axis of ratios."""
    x, y = text.get_position()
    far = [abs(px - x) + abs(log(py / y)) for px, py in points]
    return far.index(min(far))


def test_each_word_of_the_groups_stands_at_its_point() -> None:
    few, eight = drawn.panels(stills.groups)
    lines = {
        num: next(
            [(float(x), float(y)) for x, y in line.get_xydata()]
            for line in few.lines
            if str(line.get_label()).startswith(called)
        )
        for num, called in ((0, "INT4, no"), (4, "INT4, four"))
    }
    order = ["one scale for all", "a scale a row", "groups of 128", "of 32", "of 16"]
    words: dict[str, Any] = {text.get_text(): text for text in few.texts}
    heights = [y for _, y in lines[4]]
    assert heights == sorted(heights, reverse=True)  # and so are the words beside them
    assert sorted(order, key=lambda word: -words[word].get_position()[1]) == order
    assert all(words[word].get_color() == few.lines[0].get_color() for word in order)
    styles = {str(line.get_label()): line for line in few.lines}
    for panel, keys in ((few, ("mxfp4", "nvfp4")), (eight, ("fp8", "int8"))):
        for num in (0, 4):
            made = {key: outliers.by_scheme(key, num_outliers=num) for key in keys}
            colour = next(
                line.get_color()
                for label, line in styles.items()
                if label.startswith("INT4, no" if num == 0 else "INT4, four")
            )
            own = [
                tuple(line.get_xydata()[0])
                for line in panel.lines
                if line.get_marker() == "D" and line.get_color() == colour
            ]
            assert sorted(own) == sorted(made.values())
            for text in panel.texts:
                key = text.get_text().split(",")[0].lower()
                if key in made and text.get_color() == colour:
                    every = list(made.values())
                    assert near(text, every) == list(made).index(key), (key, num)


def test_each_curve_of_the_gains_is_that_of_the_format_in_its_ink() -> None:
    """Above a step on an H100; below, dashed, the formula for the measured run."""
    step, newer, older = drawn.panels(stills.gains)
    formats = {
        "INT4 weights": Bits("int4"),
        "FP8 weights": Bits("fp8"),
        "FP8 cache": Bits("bf16", "fp8"),
    }
    inks, lines = drawn.inks(step), drawn.lines(step)
    assert set(inks) == set(formats)
    for name, bits in formats.items():
        curve = next(dict(line) for line in lines[inks[name]] if len(line) > 2)
        for batch in (1, 16, 256):
            want = decision.step_gain(bits, batch)
            assert curve[batch] == pytest.approx(want, rel=1e-6), (name, batch)
            assert gain(bits, batch) == pytest.approx(want)
    keys = {"INT4": "int4", "FP8": "fp8"}
    for panel in (newer, older):
        inks = {k: v for k, v in drawn.inks(panel).items() if k in keys}
        assert set(inks) == set(keys)
        for name, look in inks.items():
            dashed = [
                line
                for line in panel.lines
                if line.get_linestyle() == "--" and seen._name(line.get_color()) == look
            ]
            assert len(dashed) == (panel is newer)
            for line in dashed:
                for batch, said in line.get_xydata():
                    want = measured.rate_gain(keys[name], int(batch))[1]
                    assert said == want, (name, batch)


# KiB of a token in 32 layers, 16 bits: heads that keep 128 numbers twice, or a latent.
KIB = {
    "MHA": 2 * 32 * 128 * 64 / 1024,
    "GQA": 2 * 8 * 128 * 64 / 1024,
    "MQA": 2 * 1 * 128 * 64 / 1024,
    "MLA": (512 + 64) * 64 / 1024,
}
OF_EIGHT = {
    "MHA": (8, "each its own"),
    "GQA": (2, "four share one"),
    "MQA": (1, "all share one"),
    "MLA": (1, "one short vector z"),
}


def test_each_way_to_share_has_its_boxes_its_lines_and_its_bytes() -> None:
    panels = drawn.panels(sharing.shared_heads)
    above, below = panels[:4], panels[4:]
    for heads, size in zip(above, below, strict=True):
        kind = heads.get_title()
        boxes, words = OF_EIGHT[kind]
        assert len(heads.patches) == boxes
        assert [t.get_text() for t in heads.texts] == [words]
        (bar,) = size.patches
        assert bar.get_height() == pytest.approx(KIB[kind])
        assert [t.get_text() for t in size.texts] == [f"{KIB[kind]:.0f} KiB"]
        links = [
            line.get_xydata() for line in heads.lines if len(line.get_xdata()) == 2
        ]
        assert [start[0] for start, _ in links] == list(range(8))
        middles = sorted(b.get_x() + b.get_width() / 2 for b in heads.patches)
        for head, (_, end) in enumerate(links):
            assert end[0] == pytest.approx(middles[head * boxes // 8])
    said = dict(re.findall(r"(M[HQL]A|GQA) (\d+) KiB", sharing.shared_heads().sentence))
    assert said == {kind: f"{size:.0f}" for kind, size in KIB.items()}


def test_each_point_of_the_forgotten_is_at_the_share_that_is_kept() -> None:
    (panel,) = drawn.panels(stills.forgotten)
    assert panel.get_xlabel() == "share of the cache that is kept"
    assert panel.get_ylabel() == "error of the output (log)"
    shares = [24 / 256, 32 / 256, 48 / 256, 64 / 256, 96 / 256, 128 / 256]
    names = {str(line.get_label()) for line in panel.lines}
    assert names == {"window", "window with sinks", "observed attention"}
    for line in panel.lines:
        assert list(line.get_xdata()) == shares


# The live figure: signals of a part, and where it begins, in seconds.
def spans(known: dict[str, Any], lane: str) -> dict[str, tuple[float, float]]:
    """Reading and computing overlap in part; then the cache; what is left, last."""
    prefix = "wide_" if lane == "16 bits" else ""
    read, made, cache, whole = (
        float(known[f"{prefix}{name}"])
        for name in ("weights_s", "linear_s", "kv_s", "few_bits_step_s")
    )
    hidden = float(known["overlap"]) * min(read, made)
    after = read + made - hidden
    return {
        "read weights": (0.0, read),
        "compute the layers": (read - hidden, after),
        "read cache": (after, after + cache),
        "time for the rest": (after + cache, whole),
    }


@pytest.mark.parametrize(
    ("weights", "cache"),
    [("FP8", "bf16"), (WEIGHTS["int4"], "bf16"), (WEIGHTS["int4"], "fp8")],
)
def test_each_part_of_a_step_lasts_as_long_as_its_signal(
    weights: str, cache: str
) -> None:
    """In the ink of the legend; its number, and that at the lane's end, are its ms.

    The lane of 16 bits keeps its cache in 16, whatever is chosen for the other.
    """
    figure = figures.few_bits()
    known: dict[str, Any] = {
        "weights": weights,
        "cache": CACHE_NAMES[cache],
        "batch": 64.0,
        "context": 1104.0,
    }
    values, named = figure.values(**known), drawn.legend(figure, **known)
    words = {text: look for look, text in named.items()}
    bars = [r for r in drawn.marks(figure, "rect", **known) if r["ink"] in named]
    texts = [t for t in drawn.marks(figure, "text", **known) if t.get("text")]
    lanes = {"16 bits": min(b["y"] for b in bars), "as chosen": 65.0}
    scales = []
    for lane in lanes:
        upper = [b for b in bars if (b["y"] < 65 - 2) is (lane == "16 bits")]
        assert len(upper) == 4
        for part, (start, end) in spans(values, lane).items():
            (bar,) = (b for b in upper if b["ink"] == words[part])
            scales.append((bar["x"] + bar["width"]) / end)
            assert bar["x"] == pytest.approx(start * scales[0], abs=0.5), part
            inside = [
                t["text"]
                for t in texts
                if bar["x"] < t["x"] < bar["x"] + bar["width"]
                and bar["y"] < t["y"] < bar["y"] + bar["height"]
            ]
            assert set(inside) <= {f"{1e3 * (end - start):.1f}"}, (lane, part)
        whole = spans(values, lane)["time for the rest"][1]
        (said,) = (
            t["text"]
            for t in texts
            if t["text"].endswith(" ms") and (t["y"] < 65) is (lane == "16 bits")
        )
        assert float(said.split()[0]) == pytest.approx(1e3 * whole, rel=6e-3)
    assert scales == pytest.approx([scales[0]] * 8, rel=5e-3)


def test_a_lane_without_room_says_so_and_no_time() -> None:
    known: dict[str, Any] = {"batch": max(BATCHES), "context": max(CONTEXTS)}
    figure = figures.few_bits()
    assert figure.values(**known)["held"] == 0
    texts = [t["text"] for t in drawn.marks(figure, "text", **known) if t.get("text")]
    assert texts.count("no room") == 2
    assert not [text for text in texts if text.endswith(" ms")]
