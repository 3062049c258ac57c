"""Drawings and tables, part by part: each found a second time."""

import math
import re
from typing import Any

import pytest

from llmserve_lab import running_example
from llmserve_lab.catalog import MODELS
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.end_to_end import measured
from llmserve_lab.end_to_end.arguments import block_table
from llmserve_lab.end_to_end.example import VECTORS, example
from llmserve_lab.end_to_end.page import drawings, stills
from llmserve_lab.end_to_end.stability import growth
from llmserve_lab.end_to_end.story import SENTENCE, WORDS, tokenize
from llmserve_lab.end_to_end.toy import TEXT, toy
from llmserve_lab.end_to_end.toy import tokenize as toy_ids
from llmserve_lab.formula.text import si
from tests.end_to_end.test_step_parts import looks
from tests.page import drawn, seen

LLAMA = MODELS["llama-3.1-8b"]
# One layer and both tables, by the published shape; 16 bits a number.
ATTENTION = 2 * 4096 * 128 * (32 + 8)
FFN, TABLE, LAYERS = 3 * 4096 * 14_336, 128_256 * 4096, 32
READ = LAYERS * (ATTENTION + FFN) + TABLE
PAIR, KAPPA = 4 * LAYERS * 32 * 128, 2 * LAYERS * 8 * 128 * 2
PEAK, RATE = 989.4e12, 3.35e12


# What a pass waits for.
def test_each_bar_of_the_passes_and_its_number() -> None:
    (panel,) = drawn.panels(stills.waiting)
    cached, full = 1000, 131_072
    want = {  # read weights, read cache, compute, in ms
        "prefill\nof 1,000 tokens": (
            0.0,
            2 * ((READ - TABLE) * cached + TABLE) + PAIR * cached * (cached + 1) / 2,
        ),
        "decode\nof token 1,001": (cached, 2 * READ + PAIR * (cached + 1)),
        "decode\nof token 131,072": (full - 1, 2 * READ + PAIR * full),
    }
    legend = {
        ink: text.removeprefix("■ ")
        for text, ink in drawn.inks(panel).items()
        if text.startswith("■")
    }
    assert legend == {"blue": "read weights", "green": "read cache", "gold": "compute"}
    bars = [
        (seen._name(p.get_facecolor()), p.get_x(), p.get_width(), p.get_y() + 0.4)
        for p in panel.patches
    ]
    texts = {t.get_text(): t.get_position() for t in panel.texts}
    for place, (name, (tokens, flops)) in enumerate(want.items()):
        weights, cache_ = 2e3 * READ / RATE, 1e3 * KAPPA * tokens / RATE
        work = 1e3 * flops / PEAK
        found = bars[3 * place : 3 * place + 3]
        assert [ink for ink, *_ in found] == ["blue", "green", "gold"]
        assert [x for _, x, *_ in found] == pytest.approx([0, weights, 0], rel=1e-3)
        widths = [wide for _, _, wide, _ in found]
        assert widths == pytest.approx([weights, cache_, work], rel=1e-3)
        assert found[0][3] == found[1][3] < found[2][3]
        x, y = texts[name]
        assert x < 0 and found[0][3] < y < found[2][3]
        beside = {
            t.get_position()[1]: t.get_text()
            for t in panel.texts
            if t.get_position()[0] > 0 and not t.get_text().startswith("■")
        }
        assert beside[3.0 * place] == f"{weights + cache_:.3g}"
        assert beside[3.0 * place + 0.9] == f"{work:.3g}"
    assert len(bars) == 9 and panel.get_xlabel() == "milliseconds, at least"
    said = stills.waiting().sentence
    assert said.startswith("Llama-3.1-8B on one H100 SXM, by the datasheet: ")


def test_each_stretch_of_the_bar_of_parameters() -> None:
    (panel,) = drawn.panels(lambda: drawings.parameters(LLAMA))
    want = {  # in the order of a row's way
        "embedding": ("idle", TABLE),
        "attention": ("vermillion", LAYERS * ATTENTION),
        "FFNs": ("blue", LAYERS * FFN),
        "LM head": ("green", TABLE),
    }
    left, texts = 0.0, panel.texts
    assert len(panel.patches) == len(texts) == len(want)
    for bar, text, (name, (ink, count)) in zip(
        panel.patches, texts, want.items(), strict=True
    ):
        assert text.get_text() == f"{name}\n{count / 1e9:.2f}"
        assert seen._name(bar.get_facecolor()) == ink
        assert bar.get_width() == pytest.approx(count / 1e9)
        assert bar.get_x() == pytest.approx(left)
        middle = bar.get_x() + bar.get_width() / 2
        assert text.get_position()[0] == pytest.approx(
            -0.15 if name == "embedding" else middle
        )
        left += count / 1e9
    total = left + (2 * LAYERS + 1) * 4096 / 1e9
    parts = LAYERS * FFN / total / 1e9, LAYERS * ATTENTION / total / 1e9
    assert drawings.parameters(LLAMA).sentence == (
        f"Of {total:.2f} billion parameters, {parts[0]:.0%} are in the FFNs of its 32 "
        f"blocks, {parts[1]:.0%} in attention."
    )


def test_each_head_hangs_on_the_one_that_it_shares() -> None:
    (panel,) = drawn.panels(lambda: drawings.heads(LLAMA))
    shared, query = sorted(
        panel.collections, key=lambda each: each.get_paths()[0].vertices[:, 1].min()
    )
    inks = {
        seen._name(g.get_facecolor()[0]): len(g.get_paths()) for g in (query, shared)
    }
    words = {text.get_text(): seen._name(text.get_color()) for text in panel.texts}
    assert inks == {"vermillion": 32, "green": 8}
    assert words == {"32 query heads": "vermillion", "8 key–value heads": "green"}
    above, below = (t.get_position()[1] for t in panel.texts)
    assert above > below
    (line,) = panel.lines
    across, down = line.get_xdata(), line.get_ydata()
    middles = [p.vertices[:, 0].mean() for p in shared.get_paths()]
    hung = dict.fromkeys(range(8), 0)
    for i in range(32):
        start, end = across[3 * i], across[3 * i + 1]
        assert down[3 * i] > down[3 * i + 1] and start == pytest.approx(i + 0.5)
        kv = min(range(8), key=lambda j: abs(middles[j] - end))
        assert kv == i // 4
        hung[kv] += 1
    assert set(hung.values()) == {4}


def test_each_part_of_the_bend() -> None:
    above, panel = drawn.panels(drawings.bend)
    curve, *dots = panel.lines
    for x, y in curve.get_xydata():
        assert y == pytest.approx(x / (1 + math.exp(-x)))
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("what the gate gives", "bent")
    want = {"vermillion": (-4, 3), "green": (2, 2)}  # the gate, and digits
    assert len(dots) == len(panel.texts) == 2
    for dot, text in zip(dots, panel.texts, strict=True):
        ink = seen._name(dot.get_color())
        gate, digits = want.pop(ink)
        bent = gate / (1 + math.exp(-gate))
        ((x, y),) = dot.get_xydata()
        assert (x, y) == pytest.approx((gate, bent))
        said = f"gate {gate} → {bent:.{digits}f}\n× 3 = {3 * bent:.2f}"
        if abs(3 * bent) < 1:
            said = f"gate {gate} → {bent:.{digits}f}\n× 3 = {3 * bent:.3f}"
        assert text.get_text() == said.replace("-", "−")
        assert seen._name(text.get_color()) == ink
    # A row goes into gate and up; what gate gives is bent; both meet in a product.
    boxes = {t.get_text(): t.get_position() for t in above.texts if t.get_text()}
    order = [["row"], ["gate", "up"], ["bend"], ["×"], ["down"]]
    places = [[boxes[name][0] for name in names] for names in order]
    assert [max(each) for each in places] == sorted(max(each) for each in places)
    assert boxes["bend"][1] == pytest.approx(boxes["gate"][1])
    assert boxes["gate"][1] > boxes["up"][1]
    arrows = [(t.xyann, t.xy) for t in above.texts if getattr(t, "arrow_patch", None)]
    ways = {(_near(boxes, tail), _near(boxes, tip)) for tail, tip in arrows}
    assert ways == {
        ("row", "gate"), ("row", "up"), ("gate", "bend"), ("bend", "×"), ("up", "×"),
        ("×", "down"),
    }  # fmt: skip


def _near(boxes: dict[str, tuple[float, float]], at: tuple[float, float]) -> str:
    return min(boxes, key=lambda name: math.dist(boxes[name], at))


def test_each_half_of_a_block_reads_from_the_bypass_and_adds_to_it() -> None:
    (panel,) = drawn.panels(drawings.block)
    words = {
        t.get_text().strip(): t.get_position() for t in panel.texts if t.get_text()
    }
    assert words["rows in"][0] < words["rows out"][0]
    assert words["attention"][0] < words["FFN"][0]
    for name, says in (
        ("attention", "rows look at\neach other"), ("FFN", "each row\nfor itself"),
    ):  # fmt: skip
        assert abs(words[name][0] - words[says][0]) < 0.1
    arrows = [(t.xyann, t.xy) for t in panel.texts if getattr(t, "arrow_patch", None)]
    bypass = max(arrows, key=lambda a: a[1][0] - a[0][0])
    level = bypass[0][1]
    assert bypass[1][1] == level and bypass[1][0] > bypass[0][0]
    down = [a for a in arrows if a[0][1] == level and a[1][1] < level - 1]
    up = [a for a in arrows if a[0][1] < level - 1 < level - 0.3 < a[1][1]]
    assert len(down) == len(up) == 2
    pluses = [t.get_position() for t in panel.texts if t.get_text() == "+"]
    assert sorted(x for x, _ in pluses) == sorted(
        a[1][0] for a in up if a is not bypass
    )


# Tables.
def test_each_number_of_the_example_s_tables() -> None:
    words = SENTENCE.split()
    rows = [VECTORS[WORDS[i]] for i in tokenize(SENTENCE)]
    seek = {  # what a row of each feature looks for, in words of the page
        **{"article": (0, 1, 0, 0), "noun": (0, 3, 2, 0)},
        **dict.fromkeys(("verb", "alive"), (0, 0, 0, 0)),
    }
    features = ("alive", "verb", "article", "noun")
    queries = [
        [sum(row[i] * seek[f][k] for i, f in enumerate(features)) for k in range(4)]
        for row in rows
    ]
    weights = looks("as by hand")
    shown: dict[str, list[list[str]]] = {
        "vectors": [
            [_list(q), _list([2 * x for x in row]), _list(row)]
            for q, row in zip(queries, rows, strict=True)
        ],
        "scores": [
            [_short(sum(a * 2 * b for a, b in zip(q, rows[j], strict=True)))
             if j <= i else "" for j in range(5)]
            for i, q in enumerate(queries)
        ],
        "weights": [[*map(_short, w), *[""] * (5 - len(w))] for w in weights],
        "mixed": [
            [_short(sum(w * rows[j][k] for j, w in enumerate(ws))) for k in range(4)]
            for ws in weights
        ],
    }  # fmt: skip
    heads: dict[str, tuple[str, ...]] = {
        "vectors": ("query", "key", "value"),
        "scores": tuple(words), "weights": tuple(words), "mixed": features,
    }  # fmt: skip
    one = example()
    for name, cells in shown.items():
        table = getattr(one, f"{name}_table")()
        assert tuple(str(c).strip() for c in table.columns) == ("row", *heads[name])
        assert [str(row[0]).strip() for row in table.rows] == words
        assert [list(row[1:]) for row in table.rows] == cells, name


def _short(number: float) -> str:
    return f"{number:.2f}".removesuffix(".00")


def _list(numbers: Any) -> str:
    return " ".join(f"{x:g}" for x in numbers)


def test_each_number_of_the_measured_loops() -> None:
    """Raschka's tokens a second; rows counted pass by pass."""
    passes = [4 + done for done in range(200)]
    table = measured.table()
    assert tuple(table.columns) == ("loop", "measured", "rows, counted")
    rows = [tuple(map(str, row)) for row in table.rows]
    counts = (sum(passes), 4 + 199)
    assert rows == [
        ("everything again", si(27, "token/s"), f"{counts[0]:,}"),
        ("with a cache", si(110, "token/s"), f"{counts[1]:,}"),
        ("ratio", f"{110 / 27:.1f}", f"{counts[0] / counts[1]:.0f}"),
    ]
    for cached, speed, count in zip((False, True), (27, 110), counts, strict=True):
        each = 2 * 124e6 * count / 200 * speed
        assert measured.flops_per_s(cached=cached) == pytest.approx(each)
    assert measured.bytes_per_s() == 124e6 * 4 * 110


def test_each_row_of_the_table_of_a_block() -> None:
    rows = block_table(LLAMA).rows
    want = {
        "attention": ATTENTION, "FFN": FFN, "norm": 2 * 4096,
        "block": ATTENTION + FFN + 2 * 4096,
    }  # fmt: skip
    for (what, closed, counted), (name, number) in zip(rows, want.items(), strict=True):
        assert name in str(what).split(",")[0] and closed == counted == number
    kept = growth(toy(), toy_ids(TEXT) * 2, prefix=5, lengths=(5, 6))
    assert tuple(kept.columns)[1:] == ("causal mask", "no mask")
    assert [row[1:] for row in kept.rows] == [
        ("the same bits", "the same bits"), ("the same bits", "changed"),
    ]  # fmt: skip


def test_the_numbers_above_are_those_of_the_running_example() -> None:
    known = running_example.ideal()
    assert (float(known["peak_flops"]), float(known["hbm_bw"])) == (PEAK, RATE)
    assert LLAMA.params_read == pytest.approx(READ, rel=1e-4)


@pytest.mark.parametrize("key", ["llama-3.1-8b", "llama-3.1-70b"])
def test_a_cache_is_as_much_smaller_as_heads_share(key: str) -> None:
    """In the sentence and the title of the still: 32 heads of 8 are 4 times."""
    shape = MODELS[key]
    assert isinstance(shape.attention, GroupedQueryAttention)
    query, shared = shape.attention.n_heads, shape.attention.n_kv_heads
    made = drawings.heads(shape)
    assert re.findall(r"\d+", made.sentence) == [
        str(query),
        str(shared),
        str(query // shared),
    ]
    assert made.title.endswith(
        f": {query // shared} query heads share one key–value head"
    )
