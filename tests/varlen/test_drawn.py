"""Tables and stills, part by part: pairs walked over, times as they were published."""

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from llmserve_lab.catalog import MODELS
from llmserve_lab.catalog.evidence.packing import AZURE_PADDING
from llmserve_lab.running_example import cost
from llmserve_lab.transformer import Transformer, tiny_shape
from llmserve_lab.varlen import measured, tile_counts
from llmserve_lab.varlen.arguments import overtaken
from llmserve_lab.varlen.page import playground, stills
from llmserve_lab.varlen.strategies import comparison
from tests.page import drawn, seen

FOUR = [100, 200, 500, 1200]
# FasterTransformer: prompts, rows of each; ms padded, and with the padding removed.
TIMES = {
    **{(1, 32): (0.90, 0.96), (1, 128): (1.00, 1.02), (1, 384): (1.33, 1.20)},
    **{(8, 32): (1.04, 1.04), (8, 128): (1.77, 1.43), (8, 384): (4.39, 2.57)},
    **{(32, 32): (1.77, 1.40), (32, 128): (4.81, 2.75), (32, 384): (14.67, 7.71)},
}


def cells(table: Any) -> list[tuple[str, ...]]:
    return [tuple(map(str, row)) for row in table.rows]


def work(rows: int, length: int) -> float:
    """FLOPs of BERT-base, layer by layer: 12 of 768, 3,072 inside, every pair."""
    per_row = 2 * 12 * (4 * 768**2 + 2 * 768 * 3072)
    return rows * (per_row + 12 * 4 * 768 * length)


def factors(size: tuple[int, int]) -> tuple[float, float]:
    """How many times as fast without padding: measured, and by FLOPs."""
    (padded, packed), (batch, length) = TIMES[size], size
    halves = work(batch * length, length) / work(batch * length // 2, length // 2)
    return padded / packed, halves


def covered(lengths: list[int], tall: int, wide: int, *, skip: bool) -> int:
    """Places of the tiles that some pair reaches: row by row of tiles."""
    found = 0
    for n in lengths:
        for top, left in product(range(0, n, tall), range(0, n, wide)):
            found += not (skip and left > min(top + tall, n) - 1)
    return found * tall * wide


# Tables.
def test_each_row_of_five_counts() -> None:
    table = tile_counts.counted(FOUR, side=128, group=4)
    assert tuple(table.columns) == ("counted", "by", "pairs", "of them useful")
    useful = sum(n * (n + 1) // 2 for n in FOUR)
    counts = {
        "whole squares": ("the formulas", sum(n * n for n in FOUR)),
        "whole tiles, all of them": (
            "a kernel that skips nothing", covered(FOUR, 128, 128, skip=False),
        ),
        "tiles, the future skipped": (
            "a causal kernel, one head in a tile", covered(FOUR, 128, 128, skip=True),
        ),
        "the same, 4 heads in a tile": (
            "FlashAttention-3 in vLLM", covered(FOUR, 32, 128, skip=True),
        ),
        "useful pairs, the triangles": ("the milliseconds", useful),
    }  # fmt: skip
    assert cells(table) == [
        (what, who, f"{count:,}", f"{useful / count:.0%}")
        for what, (who, count) in counts.items()
    ]
    assert "prompts of 100, 200, 500 and 1,200 tokens, per layer" in table.caption


def test_each_cell_of_the_batches_without_padding() -> None:
    table = measured.unpadded_table()
    assert tuple(table.columns) == (
        "batch", "padded rows", "padded", "packed", "measured factor",
        "predicted factor", "model off by",
    )  # fmt: skip
    want = []
    for size in sorted(TIMES, key=lambda at: at[0] * at[1]):
        (padded, packed), (real, ours) = TIMES[size], factors(size)
        want.append((
            f"{size[0]} × {size[1]}", f"{size[0] * size[1]}", f"{padded:.2f} ms",
            f"{packed:.2f} ms", f"{real:.2f}", f"{ours:.2f}", f"{ours / real - 1:+.0%}",
        ))  # fmt: skip
    assert sorted(cells(table)) == sorted(want)
    rows = [int(row[1]) for row in cells(table)]
    assert rows == sorted(rows)


def test_each_row_of_where_attention_overtakes() -> None:
    """There the pairs do as many FLOPs as the matrices of a prompt's rows."""
    table = overtaken()
    assert tuple(table.columns)[1:] == (
        "width of a row", "causal pairs", "whole squares",
    )  # fmt: skip
    for (name, width, causal, square), model in zip(
        table.rows, MODELS.values(), strict=True
    ):
        assert (name, width) == (model.name, model.d_model)
        pair = model.attn_flops_per_pair(absorbed=False)
        row = 2 * (model.params_active - model.vocab * model.d_model)
        n = int(str(causal))
        assert pair * (n + 1) / 2 == pytest.approx(row, rel=1 / n)
        assert int(str(square)) == pytest.approx(row / pair, abs=1)


def test_each_cell_of_three_ways_of_a_run() -> None:
    lengths = (10, 30)
    table = comparison(Transformer(tiny_shape()), [1] * 40, lengths)
    assert tuple(table.columns) == (
        "way", "rows", "rows wasted", "pairs", "pairs useful", "pairs wasted",
        "same logits",
    )  # fmt: skip
    useful = sum(n * (n + 1) // 2 for n in lengths)
    sizes = {"padded": (60, 2 * 30**2), "masked": (40, 40**2),
             "varlen": (40, 10**2 + 30**2)}  # fmt: skip
    assert cells(table) == [
        tuple(map(str, (way, rows, rows - 40, pairs, useful, pairs - useful, "yes")))
        for way, (rows, pairs) in sizes.items()
    ]


def test_each_cell_and_bar_of_the_bench() -> None:
    lengths, tile = [30, 100, 7], 64
    picture = playground._cost(playground.MODEL_NAMES[0], playground.DEVICE_NAMES[0])
    assert picture.row_s == cost().row_s
    stacks = {"padded": [100] * 3, "masked": [137], "varlen": lengths}
    html = playground.show(
        text="30 100 7", tile=tile, model="Llama-3.1-8B", accelerator="H100 SXM"
    )
    found = re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", html)
    rows = [found[i : i + 6] for i in range(0, len(found), 6)]
    assert rows[0] == [
        "way", "rows", "pairs", "of them useful", "arithmetic", "over varlen",
    ]  # fmt: skip
    useful, times = sum(n * (n + 1) // 2 for n in lengths), dict[str, float]()
    for way, stack in stacks.items():
        pairs = sum(n * (n + 1) // 2 for n in stack)
        times[way] = sum(stack) * cost().row_s + pairs * cost().pair_s
    for row, (way, stack) in zip(rows[1:], stacks.items(), strict=True):
        pairs = sum(n * (n + 1) // 2 for n in stack)
        shown = [cell.replace(",", "") for cell in row]
        assert shown == [
            way, f"{sum(stack)}", f"{pairs}", f"{useful / pairs:.0%}",
            f"{1e3 * times[way]:.1f} ms", f"{times[way] / times['varlen']:.2f}",
        ]  # fmt: skip
    assert "3 requests, Llama-3.1-8B on H100 SXM" in html
    visited = covered(lengths, tile, tile, skip=True) // tile**2
    assert f"visits {visited}; {useful / visited / tile**2:.0%} of their" in html


# Stills.
def test_each_bar_of_the_bill() -> None:
    """Rows in the linear layers, pairs in attention: the four prompts of the page."""
    stacks = {"padded": [1200] * 4, "masked": [2000], "varlen": FOUR}
    times = {
        way: (
            1e3 * sum(stack) * cost().row_s,
            1e3 * sum(n * (n + 1) / 2 for n in stack) * cost().pair_s,
        )
        for way, stack in stacks.items()
    }
    (panel,) = drawn.panels(lambda: stills.bill(times, "title"))
    handles, labels = panel.get_legend_handles_labels()
    assert labels == ["linear layers", "attention"]
    assert [text.get_text() for text in panel.get_yticklabels()] == list(times)
    for place, (bars, ink) in enumerate(
        zip(handles, ("blue", "vermillion"), strict=True)
    ):
        for bar, both in zip(bars, times.values(), strict=True):
            assert seen._name(bar.get_facecolor()) == ink
            assert bar.get_width() == pytest.approx(both[place])
            assert bar.get_x() == pytest.approx(both[0] if place else 0)
    assert panel.get_xlabel() == "time of the arithmetic (ms)"
    said = ", ".join(f"{way} {sum(both):.1f} ms" for way, both in times.items())
    assert stills.bill(times, "title").sentence == f"Arithmetic in all: {said}."
    assert said == "padded 103.2 ms, masked 43.6 ms, varlen 42.8 ms"


def test_each_line_of_the_padding() -> None:
    """Near the shares of batches as they came; its name and end at its own line."""
    (panel,) = drawn.panels(stills.padding)
    names = {
        text.get_text().split(":")[0]: (seen._name(text.get_color()), text)
        for text in panel.texts
    }
    sizes = [int(text.get_text()) for text in panel.get_xticklabels()]
    assert sizes == [2**i for i in range(8)]
    lines = {seen._name(line.get_color()): line.get_ydata() for line in panel.lines}
    assert set(names) == set(AZURE_PADDING) and len(lines) == 2
    for service, (ink, text) in names.items():
        shares = dict(zip(sizes, lines[ink], strict=True))
        assert shares[1] == 0
        for size, share in AZURE_PADDING[service].items():
            assert shares[size] == pytest.approx(float(share), abs=0.03)
        assert text.get_text() == f"{service}: {shares[128]:.0%}"
        assert text.xy == (7, shares[128])
        assert f"{shares[8]:.0%} ({service})" in stills.padding().sentence
    ends = {service: float(at[128]) for service, at in AZURE_PADDING.items()}
    assert ends["conversation"] > ends["code"]
    assert names["conversation"][1].xy[1] > names["code"][1].xy[1]
    assert panel.get_ylabel() == "share of padding"


def test_each_mark_of_the_batches_without_padding() -> None:
    (panel,) = drawn.panels(stills.unpadded)
    inks = drawn.inks(panel)
    found = {
        seen._name(line.get_color()): sorted(map(tuple, np.round(line.get_xydata(), 9)))
        for line in panel.lines
        if len(line.get_xdata()) == len(TIMES)
    }
    for place, name in enumerate(("measured", "predicted from FLOPs")):
        want = sorted((at[0] * at[1], factors(at)[place]) for at in TIMES)
        for one, other in zip(found[inks[name]], want, strict=True):
            assert one == pytest.approx(other)
    (level,) = (line for line in panel.lines if len(line.get_xdata()) == 2)
    assert set(level.get_ydata()) == {1}
    places = {text.get_text(): text.get_position()[1] for text in panel.texts}
    assert places["below 1: slower"] < 1 < places["measured"]
    assert panel.get_ylabel() == "times as fast without padding"
    assert panel.get_xlabel().startswith("rows of the padded batch")
    real, ours = factors((32, 384))
    assert stills.unpadded().sentence == (
        f"With {32 * 384:,} padded rows removing the padding is measured {real:.2f} "
        f"times as fast, predicted {ours:.2f}; with few rows it gains nothing."
    )
