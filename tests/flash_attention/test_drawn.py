"""Tables and stills, part by part: bytes counted by hand, times read off the store."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llmserve_lab.catalog.evidence import attention as evidence
from llmserve_lab.catalog.evidence import one_h100
from llmserve_lab.flash_attention import measured
from llmserve_lab.flash_attention.page import pictures, playground, stills
from llmserve_lab.running_example import device
from tests.page import drawn, seen

RATE, PEAK = float(device().hbm_bw), float(device().peak("bf16"))
LENGTHS = (512, 1024, 2048, 4096, 8192, 16_384)
# Read off the paper's figure: TFLOP/s, causal, heads of 128.
SPEEDS = {
    "standard": (26, 31, 34, 35, 35),
    "FA-2": (191, 260, 298, 319, 333, 335),
    "FA-3": (292, 423, 521, 579, 602, 616),
}
WIDTH, TILE = 128, 128


def flops(tokens: int) -> float:
    return 4 * WIDTH * tokens * (tokens + 1) / 2


def plain_bytes(tokens: int) -> float:
    """Queries, keys, values and output once; scores and weights written and read."""
    return 2 * (4 * tokens * WIDTH + 4 * tokens**2)


def tiled_bytes(tokens: int, rows: int = TILE) -> float:
    """Keys and values once a tile of queries, up to its last row."""
    keys = sum(min(first + rows, tokens) for first in range(0, tokens, rows))
    return 2 * WIDTH * (2 * tokens + 2 * keys)


def once_bytes(tokens: int) -> float:
    return 2.0 * WIDTH * 4 * tokens


BYTES = {"standard": plain_bytes, "FA-2": tiled_bytes, "FA-3": tiled_bytes}


def limit(code: str, tokens: int) -> float:
    moved = once_bytes if code == "each once" else BYTES[code]
    return min(PEAK, RATE * flops(tokens) / moved(tokens)) / 1e12


def stored(table: str) -> list[dict[str, Any]]:
    found = json.loads(Path(one_h100.DATA).read_text("utf8"))[table]
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]


def number(cell: str) -> float:
    return float(cell.replace(",", "").replace("−", "-"))


def cells(table: Any) -> list[list[str]]:
    return [[str(cell) for cell in row] for row in table.rows]


# Tables.
def test_each_cell_of_the_speeds() -> None:
    table = measured.speed_table()
    assert tuple(table.columns) == (
        "tokens", "standard", "limit ÷", "FA-2", "limit ÷", "FA-3", "limit ÷",
        "each once", "FA-3: limit ÷",
    )  # fmt: skip
    for place, (row, tokens) in enumerate(zip(cells(table), LENGTHS, strict=True)):
        want = [f"{tokens}"]
        for code, speeds in SPEEDS.items():
            if place >= len(speeds):
                want += ["out of memory", "–"]
                continue
            want += [f"{speeds[place]}", f"{limit(code, tokens) / speeds[place]:.2f}"]
        once = limit("each once", tokens)
        want += [f"{once:.0f}", f"{once / SPEEDS['FA-3'][place]:.2f}"]
        assert row == want
    assert "TFLOP/s" in table.caption


def test_each_cell_of_the_splits() -> None:
    """Two tensors of 8 heads, 131,072 tokens, 128 wide, 16 bits; 132 multiprocessors.

    The model: blocks at the pace of the run with one split, or all at the memory's.
    """
    table = measured.splits_table()
    assert tuple(table.columns) == (
        "splits", "blocks", "measured, µs", "model, µs", "error", "GB/s a block",
    )  # fmt: skip
    seconds = {
        run["splits"]: run["seconds"]
        for run in stored("decode attention")
        if (run["kv_heads"], run["batch"], run["context"]) == (8, 1, 131_072)
        and run["splits"]
    }
    cache = 2 * 8 * 131_072 * WIDTH * 2
    least = min(number(row[3]) for row in cells(table))
    assert [int(row[0]) for row in cells(table)] == [1, 4, 8, 16, 32, 66, 256]
    for splits_, blocks_, took, model, error, each in cells(table):
        splits = int(splits_)
        assert blocks_ == f"{8 * splits:,}"
        assert took == f"{1e6 * seconds[splits]:,.0f}"
        by_pace = 1e6 * seconds[1] / splits
        if splits <= 8:  # and a launch of some microseconds for the merge
            assert -1 < number(model) - by_pace < (1 if splits == 1 else 5)
        else:
            assert by_pace < 1.05 * least and number(model) < 1.1 * least
        off = number(model) / 1e6 / seconds[splits] - 1
        assert number(error.rstrip("%")) == pytest.approx(100 * off, abs=0.8)
        assert each == f"{cache / seconds[splits] / (8 * splits) / 1e9:.1f}"
    assert "131,072 tokens" in table.caption


def test_each_cell_of_decodes_on_two_gpus() -> None:
    table, theirs = measured.decode_table(), dict[tuple[int, int], Any]()
    published = (
        *((256, 256, 390.5, 63.4), (64, 1024, 364.8, 77.7), (8, 8192, 529.2, 56.4)),
        *((4, 16_384, 582.7, 58.2), (2, 32_768, 1156.1, 60.3)),
        *((1, 65_536, 2300.6, 64.4), (1, 131_072, 4592.2, 106.6)),
    )
    for requests, tokens, *both in published:
        theirs[int(requests), int(tokens)] = tuple(both)
    mine: dict[tuple[int, int], dict[int, float]] = {}
    for run in stored("decode attention"):
        tiles = run["context"] // TILE
        if run["heads"] == 16 and (run["splits"] or 10**6) <= tiles:
            own = mine.setdefault((run["batch"], run["context"]), {})
            own[run["splits"]] = run["seconds"]
    assert tuple(table.columns) == (
        "requests", "tokens each", "A100: one block, µs", "splits, µs", "gain",
        "H100: one split, µs", "best, µs", "gain of splits",
    )  # fmt: skip
    for row in cells(table):
        size = int(row[0]), int(row[1])
        one, best = 1e6 * mine[size][1], 1e6 * min(mine[size].values())
        assert row[5:] == [f"{one:,.1f}", f"{best:,.1f}", f"{one / best:.1f}"]
        slow, fast = (number(cell) for cell in row[2:4])
        assert row[4] == f"{slow / fast:.1f}"
        assert (slow, fast) == theirs[size]
    assert "16 query and 2 KV heads" in table.caption


# Stills.
def test_each_line_of_the_speeds_and_its_name() -> None:
    (panel,) = drawn.panels(stills.speeds)
    codes = dict(zip(SPEEDS, evidence.CODES, strict=True))
    names = {t.get_text(): (seen._name(t.get_color()), t) for t in panel.texts}
    lines = {
        (seen._name(ln.get_color()), ln.get_linestyle(), i): ln.get_ydata()
        for i, ln in enumerate(panel.lines)
    }
    solid = {ink: y for (ink, style, _), y in lines.items() if style == "-"}
    for (code, name), ink in zip(
        codes.items(), ("vermillion", "green", "blue"), strict=True
    ):
        assert names[name][0] == ink
        assert [round(y, 6) for y in solid[ink]] == list(SPEEDS[code])
    x, y = names["out of memory"][1].get_position()
    assert names["out of memory"][0] == "vermillion"
    assert 4 < x < 5 and y == SPEEDS["standard"][-1]
    dashed = [y for (_, style, _), y in lines.items() if style == "--"]
    above, below = sorted(dashed, key=max, reverse=True)
    for found, code in ((above, "FA-3"), (below, "standard")):
        assert list(found) == pytest.approx([limit(code, n) for n in LENGTHS], rel=1e-4)
    (once,) = (y for (_, style, _), y in lines.items() if style == ":")
    assert list(once) == pytest.approx(
        [limit("each once", n) for n in LENGTHS], rel=1e-4
    )
    # Each name of a limit stands nearest to its own line's right end.
    ends = {
        "limit if all tiles come from HBM": above[-1],
        "limit of plain, from HBM": below[-1],
        "limit if each number passes once": once[-1],
    }
    for name, end in ends.items():
        height = names[name][1].get_position()[1]
        assert min(ends.values(), key=lambda y: abs(y - height)) == end
    ticks = [text.get_text() for text in panel.get_xticklabels()]
    assert ticks == [f"{n:,}" for n in LENGTHS]
    assert panel.get_ylabel() == "TFLOP/s (causal, heads of 128)"
    assert stills.speeds().sentence == (
        "H100, causal, heads of 128, batches of 16,384 tokens in all. At 16,384 tokens "
        f"FlashAttention-3 reaches {SPEEDS['FA-3'][-1]} TFLOP/s; with every tile from "
        f"HBM {limit('FA-3', 16_384):.0f} would be the most, and the peak is "
        f"{PEAK / 1e12:.0f}."
    )


def test_each_bar_of_the_rooms() -> None:
    """KiB: two stages of keys and of values; sums and scores in 32 bits."""
    panels = drawn.panels(pictures.rooms)
    parts: dict[str, dict[str, tuple[str, Callable[[int, int], int]]]] = {
        "shared memory": {
            "queries": ("vermillion", lambda r, k: 2 * r * WIDTH),
            "keys and values": ("green", lambda r, k: 2 * 2 * 2 * k * WIDTH),
        },
        "registers": {
            "output": ("idle", lambda r, k: 4 * r * WIDTH),
            "scores": ("gold", lambda r, k: 4 * r * k),
            "weights": ("blue", lambda r, k: 2 * r * k),
        },
    }  # fmt: skip
    rooms = {"shared memory": 232_448, "registers": 262_144}
    tiles = [(128, 128), (128, 192), (128, 208), (192, 128), (256, 128), (256, 64)]
    names = [text.get_text() for text in panels[0].get_yticklabels()]
    assert names == ["128 × 128 (used)", *(f"{r} × {k}" for r, k in tiles[1:])]
    for panel in panels:
        room = panel.get_title(loc="left")
        handles, labels = panel.get_legend_handles_labels()
        assert labels == list(parts[room])
        left = [0.0] * len(tiles)
        for bars, name in zip(handles, labels, strict=True):
            ink, size = parts[room][name]
            for i, (bar, tile) in enumerate(zip(bars, tiles, strict=True)):
                assert seen._name(bar.get_facecolor()) == ink
                assert bar.get_x() == pytest.approx(left[i])
                assert bar.get_width() == size(*tile) / 1024
                left[i] += size(*tile) / 1024
        most = rooms[room] / 1024
        said = {t.get_position()[1]: t.get_text() for t in panel.texts}
        for i, taken in enumerate(left):
            much = ": too much" if taken > most else ""
            assert said[i] == f"{taken:.0f}{much}"
        assert said[-0.75] == f"{most:.0f}" and "KiB" in panel.get_xlabel()


def test_each_arrow_and_box_of_the_kernels() -> None:
    """What has a number for each pair is thick; what is fused is of another ink."""
    (panel,) = drawn.panels(pictures.fused)
    arrows = [t for t in panel.texts if getattr(t, "arrow_patch", None)]
    words = [t for t in panel.texts if t.get_text()]
    thick = dict[str, float]()
    for arrow in arrows:
        y = arrow.xy[1]
        near = min(
            words,
            key=lambda t: math.dist(t.get_position(), (6.75, y + 0.34)),
        )
        thick.setdefault(near.get_text(), arrow.arrow_patch.get_linewidth())
        ink = seen._name(arrow.arrow_patch.get_edgecolor())
        assert (ink == "green") == (y < 2.36)
    pairs = thick.pop("scores"), thick.pop("weights")
    many = thick.pop("k and v, many times")
    assert pairs[0] == pairs[1] > many > max(thick.values()) == min(thick.values())
    names = [t.get_text() for t in words]
    assert names.index("scores") < names.index("softmax") < names.index("mixing")
    # The boxes: name inside, kernels to the right of the memory.
    boxes = {seen._name(p.get_edgecolor()) for p in panel.patches}
    assert {"idle", "vermillion", "green"} <= boxes
    levels = device().memory_levels
    sizes = dict(zip(("registers", "shared memory", "L2", "HBM"), levels, strict=False))
    said = " ".join(names).replace("\n", " ")
    for name, level in sizes.items():
        assert level.name.startswith(name.split(" ")[0])
        amount = float(level.bytes)
        unit = next(u for u in ("GB", "MB") if amount >= (1e9 if u == "GB" else 1e6))
        shown = f"{amount / (1e9 if unit == 'GB' else 1e6):.2g} {unit}"
        assert f"{name} {shown}" in said or f"{name} cache, {shown}" in said
    assert "in 132 SMs" in said


@pytest.mark.parametrize("loop", playground.LOOPS)
def test_each_bar_and_cell_of_the_bench(loop: str) -> None:
    """Numbers of two bytes, by hand: queries outside read keys once a tile of them."""
    tokens, rows, keys = 256, 64, 64
    tiled, plain, _ = playground.run(tokens, rows, keys, playground.LOOPS[loop])
    (panel,) = drawn.panels(lambda: playground._picture(tokens, tiled, plain))
    handles, labels = panel.get_legend_handles_labels()
    assert labels == ["read", "written"]
    inks = [seen._name(bars[0].get_facecolor()) for bars in handles]
    assert inks == ["blue", "vermillion"]
    read, written = ([bar.get_width() for bar in bars] for bars in handles)
    square, row = 2 * tokens**2 / 1e6, 2 * tokens * WIDTH / 1e6
    assert read[1] == pytest.approx(2 * square + 3 * row)
    assert written[1] == pytest.approx(2 * square + row)
    if loop == "queries outside":
        assert written[0] == pytest.approx(row)
        assert read[0] == pytest.approx(tiled_bytes(tokens, rows) / 1e6 - row)
    table = playground._table(tokens, tiled, plain, (1.0, 2.0), 0.0)
    assert tuple(table.columns) == ("way", "read", "written", "useful FLOP/byte")
    for place, cells_ in enumerate(cells(table)):
        moved = read[place] + written[place]
        assert cells_ == [
            ("tiled", "plain")[place], f"{read[place]:.2f} MB",
            f"{written[place]:.2f} MB", f"{flops(tokens) / moved / 1e6:.1f}",
        ]  # fmt: skip
