"""The live figures, part by part: bytes, tiles, blocks and waves counted by hand."""

import math
import re
from functools import cache
from itertools import product

import pytest

from llmserve_lab.catalog.evidence.kernels import GRAPH_STEP_S
from llmserve_lab.flash_attention.page import figures
from llmserve_lab.formula.text import si
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.running_example import device, model, share
from tests.flash_attention.test_drawn import (
    PEAK,
    RATE,
    WIDTH,
    flops,
    once_bytes,
    plain_bytes,
    stored,
    tiled_bytes,
)
from tests.page import drawn, plotted, seen

INKS = {"plain": "vermillion", "tiled": "blue", "each once": "green"}
KV_HEADS, HEADS, SMS, KAPPA = 8, 32, 132, 131_072


@cache
def made(name: str) -> LiveFigure:
    found: LiveFigure = getattr(figures, name)()
    return found


def whole(number: int) -> str:
    return f"{number:,}" if number >= 10_000 else f"{number}"


# Bytes of a head.
TILES = [(98_000, 128, 128), (8000, 256, 64), (250, 512, 192)]


@pytest.mark.parametrize(("tokens", "rows", "keys"), TILES)
def test_each_readout_of_the_bytes_of_a_head(tokens: int, rows: int, keys: int) -> None:
    figure = made("traffic")
    size = dict(zip(("prompt_len", "tile_rows", "tile_keys"),
                    map(float, (tokens, rows, keys)), strict=True))  # fmt: skip
    known = figure.values(**size)
    shared = 2 * WIDTH * (rows + 2 * 2 * keys)
    registers = rows * (4 * WIDTH + 4 * keys + 2 * keys)
    moved = {
        "plain": plain_bytes(tokens),
        "tiled": 2 * WIDTH * (2 * tokens + 2 * _keys(tokens, rows)),
        "each once": once_bytes(tokens),
    }
    assert plotted.readings(figure, known) == pytest.approx({
        "Plain: bytes moved": moved["plain"],
        "Tiled: bytes moved": moved["tiled"],
        "Shared memory, of 232 kB (227 KiB)": shared,
        "Registers, of 262 kB (256 KiB)": registers,
    })  # fmt: skip
    does = {way: flops(tokens) / each for way, each in moved.items()}
    assert figure.caption(**size) == (
        f"One head, {whole(tokens)} tokens, queries of a tile {rows} tokens, keys "
        f"{keys} tokens: plain attention does {si(does['plain'], 'FLOP/byte')}, tiled "
        f"{si(does['tiled'], 'FLOP/byte')}; the ridge of the H100 is at "
        f"{si(PEAK / RATE, 'FLOP/byte')}."
    )
    fits = shared <= 227 * 1024 and registers <= 256 * 1024
    inks, points = plotted.called(figure, **size), plotted.points(figure, **size)
    for way, ink in INKS.items():
        gone = way == "tiled" and not fits
        assert inks[f"{way} (no room)" if gone else way] == ink
        ((x, y),) = points[ink]
        assert x == pytest.approx(does[way], rel=0.02)
        assert 1e12 * y == pytest.approx(min(PEAK, RATE * does[way]), rel=0.02)
    faint = {
        m["ink"]
        for m in drawn.marks(figure, "symbol", **size)
        if m.get("opacity", 1) < 1
    }
    assert faint == (set() if fits else {"blue"})


def _keys(tokens: int, rows: int) -> float:
    """Whole tiles before each, and the last one's end, as if it were whole before."""
    count = math.ceil(tokens / rows)
    return rows * count * (count - 1) / 2 + tokens


def test_the_keys_of_whole_tiles_are_counted_one_by_one() -> None:
    assert 4 * WIDTH * (8192 + _keys(8192, 256)) == tiled_bytes(8192, 256)


def test_each_line_of_the_roof_of_a_head() -> None:
    figure = made("traffic")
    for x, y in plotted.lines(figure)["grey"]:
        assert 1e12 * y == pytest.approx(min(PEAK, RATE * x), rel=0.03)
    ((ink, x, _, _),) = plotted.plotted(figure, "rule")
    assert ink == "grey" and x == pytest.approx(PEAK / RATE, rel=0.02)
    assert plotted.called(figure)["ridge"] == "grey"


# Splits of a decode.
@cache
def pace() -> float:
    """Bytes a second of a block that reads alone: 131,072 tokens, 8 blocks."""
    (run,) = (
        r for r in stored("decode attention")
        if (r["heads"], r["batch"], r["context"], r["splits"]) == (32, 1, 131_072, 1)
    )  # fmt: skip
    return float(2 * 131_072 * WIDTH * 2 / run["seconds"])


def least_s(batch: int, context: int) -> float:
    head = 2 * context * WIDTH * 2
    return batch * KV_HEADS * head / (RATE * float(share().memory))


def merge_s(batch: int, splits: int) -> float:
    """Two passes over an output and a log-sum-exp, in 32 bits, a split and head."""
    moved = 2 * 4 * splits * batch * HEADS * (WIDTH + 1)
    whole_s = float(GRAPH_STEP_S) + moved / (RATE * float(share().memory))
    return whole_s if splits > 1 else 0.0


def attention_s(batch: int, context: int, splits: int) -> float:
    tiles = math.ceil(context / 128 / splits)  # of a split
    waves = math.ceil(batch * KV_HEADS * splits / SMS)
    block_s = 2 * 128 * tiles * WIDTH * 2 / pace()
    return max(least_s(batch, context), waves * block_s) + merge_s(batch, splits)


DECODES = [(1, 98_000, 1), (4, 32_000, 4), (16, 8000, 17), (64, 98_000, 2)]


@pytest.mark.parametrize(("batch", "context", "splits"), DECODES)
def test_each_readout_of_splits_and_its_sentence(
    batch: int, context: int, splits: int
) -> None:
    figure = made("decode_splits")
    size = {"batch": float(batch), "context": float(context), "n_split": float(splits)}
    known, blocks = figure.values(**size), batch * KV_HEADS * splits
    took = attention_s(batch, context, splits)
    assert plotted.readings(figure, known) == pytest.approx(
        {
            "Thread blocks, for 132 multiprocessors": blocks,
            "Waves of thread blocks": math.ceil(blocks / SMS),
            "Attention, one layer": took,
        },
        rel=1e-3,
    )
    held = model().weight_bytes() + batch * context * KAPPA
    fits = held <= float(device().usable_bytes)
    assert figure.words()["model_held"][round(known["model_held"])] == (
        "fit" if fits else "do not fit"
    )
    shown = [
        si(x, "s") for x in (took, merge_s(batch, splits), least_s(batch, context))
    ]
    plural = "" if batch == 1 else "s"
    assert figure.caption(**size) == (
        f"Decoding {batch} request{plural} with {whole(context)} tokens in cache, "
        f"number of splits {splits}: attention of a layer takes {shown[0]}, {shown[1]} "
        f"of it for the merge; the least time is {shown[2]}."
    )


@pytest.mark.parametrize(("batch", "context", "splits"), DECODES[:3])
def test_each_mark_among_the_splits(batch: int, context: int, splits: int) -> None:
    """The curve, the level below it, waves that are full, and what is chosen."""
    figure = made("decode_splits")
    size = {"batch": float(batch), "context": float(context), "n_split": float(splits)}
    lines, inks = plotted.lines(figure, **size), plotted.called(figure, **size)
    for at, found in lines["green"][::9]:
        want = 1e6 * attention_s(batch, context, round(at))
        assert found == pytest.approx(want, rel=0.02)
    for _, found in lines["grey"]:
        assert found == pytest.approx(1e6 * least_s(batch, context), rel=0.02)
    assert inks["least time"] == "grey"
    assert inks["attention, with its merge"] == "green"
    ((x, y),) = plotted.points(figure, **size)["vermillion"]
    took = 1e6 * attention_s(batch, context, splits)
    assert (x, y) == pytest.approx((splits, took), rel=0.02)
    assert any(
        re.fullmatch(r"[\d.]+ µs", text)
        and float(text.split(" ")[0]) == pytest.approx(took, rel=0.006)
        for text in inks
    )
    named = dict(text.split(": ") for text in inks if re.match(r"\d+: ", text))
    for number, said in named.items():
        blocks = int(number) * KV_HEADS * batch
        waves, over = divmod(blocks, SMS)
        if said == "full":
            assert waves in (1, 2) and over == 0
        elif said == "nearly full":  # one more split begins another wave
            assert over and (blocks + KV_HEADS * batch) // SMS > waves
        else:
            assert said == "next wave"
            assert waves == 1 and blocks - KV_HEADS * batch <= SMS < blocks
    places = sorted(round(x) for x, _ in plotted.points(figure, **size).get("ink", ()))
    assert places == sorted(map(int, named)) and named


def test_a_batch_that_does_not_fit_is_said_to_and_has_no_solid_curve() -> None:
    figure = made("decode_splits")
    for batch, full in ((1.0, False), (8.0, True)):
        size = {"batch": batch, "context": 98_000.0, "n_split": 4.0}
        held = model().weight_bytes() + batch * 98_000 * KAPPA
        assert (held > float(device().usable_bytes)) is full
        assert ("memory full" in drawn.texts(figure, **size)) is full
        solid = [
            m for m in drawn.marks(figure, "line", **size)
            if m["ink"] == "green" and seen._opacity(m) == 1
        ]  # fmt: skip
        assert (not solid) is full


def test_the_goal_is_met_where_a_tile_fits_and_does_enough() -> None:
    figure, met = made("traffic"), set[bool]()
    assert figure.goal is not None and "above 200 FLOP/byte" in str(
        figure.goal.sentence
    )
    for rows, keys in product((64, 128, 256, 512), (16, 64, 128, 192)):
        size = {"prompt_len": 8000.0, "tile_rows": rows * 1.0, "tile_keys": keys * 1.0}
        does = flops(8000) / (2 * WIDTH * (2 * 8000 + 2 * _keys(8000, rows)))
        shared = 2 * WIDTH * (rows + 4 * keys) <= 227 * 1024
        registers = rows * (4 * WIDTH + 6 * keys) <= 256 * 1024
        want = does >= 200 and shared and registers
        assert figure.goal.met(figure.values(**size)) == want
        met.add(want)
    assert met == {True, False}
