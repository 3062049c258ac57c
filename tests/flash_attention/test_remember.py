"""The five sentences that a reader keeps, each held in every state that is shown."""

from itertools import product

import numpy as np
import pytest

from llmserve_lab.catalog import model
from llmserve_lab.flash_attention import formulas as f
from llmserve_lab.flash_attention import measured
from llmserve_lab.flash_attention.arguments import BOOK, decode, head, heads
from llmserve_lab.flash_attention.page import figures
from llmserve_lab.flash_attention.pairs_and_bytes import decode_saving, work
from llmserve_lab.running_example import device
from llmserve_lab.transformer import (
    HbmMeter,
    Meter,
    RunningSoftmax,
    causal_mask,
    flash_attention,
    plain_attention,
    tiles_of,
)


def test_the_scores_of_one_layer_fill_nearly_eight_gpus_and_are_never_written() -> None:
    layer = float(f.SQUARE_BYTES.at(head(BOOK)))
    assert layer == 2 * 32 * BOOK**2
    assert 7.5 < layer / float(device().hbm_bytes) < 8
    query, key, value = np.random.default_rng(0).standard_normal((3, 40, 1, 4))
    for outer in ("queries", "keys"):
        hbm = HbmMeter()
        flash_attention(
            query, key, value, tile_rows=8, tile_keys=4, outer=outer, hbm=hbm
        )
        assert {*hbm.reads, *hbm.writes}.isdisjoint({"scores", "weights"})


def test_a_row_keeps_its_width_and_two_numbers() -> None:
    width = int(float(heads()["d_head"]))
    row = RunningSoftmax.empty((1,), width)
    assert row.highest.size + row.total.size + row.mixed.size == width + 2 == 130
    rng = np.random.default_rng(0)
    row.add(rng.standard_normal((1, 3)), rng.standard_normal((3, width)))
    before, total = row.highest.copy(), row.total.copy()
    low = np.full((1, 1), -1e4)
    factor = row.add(low, np.zeros((1, width)))
    assert factor == 1 and row.total == total
    factor = row.add(before[None] + 2.0, np.zeros((1, width)))
    assert factor == pytest.approx(np.exp(-2.0))


@pytest.mark.parametrize("length", [each for each in figures.LENGTHS if each > 30_000])
def test_a_long_prompt_moves_four_times_fewer_bytes(length: float) -> None:
    for keys in figures.KEYS:
        known = head(int(length), 128, int(keys))
        ratio = float(f.PLAIN_BYTES.at(known)) / float(f.TILED_BYTES.at(known))
        assert ratio == pytest.approx(4, rel=0.02)
        tiles = float(f.ROW_TILES.at(known))
        whole = float(f.TILED_BYTES.at(known, keys_read=tiles * length))
        for part in (
            float(f.PLAIN_BYTES.at(known)) / whole,
            whole / float(f.TILED_BYTES.at(known)),
        ):
            assert part == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize(("rows", "width"), [(64, 64), (128, 64), (128, 256)])
def test_the_ratio_is_four_tiles_of_queries_over_the_width(
    rows: int, width: int
) -> None:
    known = head(10_000_000, rows) | {"d_head": width}
    ratio = float(f.PLAIN_BYTES.at(known)) / float(f.TILED_BYTES.at(known))
    assert ratio == pytest.approx(4 * rows / width, rel=1e-3)


def test_the_kernel_itself_moves_as_many_fewer() -> None:
    """Two numbers per key for every tile, four per pair for the square: 4 n_q / d."""
    query, key, value = np.random.default_rng(0).standard_normal((3, 512, 1, 4))
    tiled, plain = HbmMeter(), HbmMeter()
    flash_attention(query, key, value, tile_rows=4, tile_keys=4, hbm=tiled)
    mask = causal_mask(512, 512)
    plain_attention(query[:, 0], key[:, 0], value[:, 0], mask, hbm=plain)
    assert plain.numbers / tiled.numbers == pytest.approx(4, rel=0.03)


def test_one_decode_keeps_eight_multiprocessors_busy_splits_nearly_all() -> None:
    alone, split = decode(BOOK), decode(BOOK, n_split=16)
    assert float(f.WORK_BLOCKS.at(alone)) == 8 and float(alone["n_sms"]) == 132
    assert float(f.BUSY_SHARE.at(split)) > 0.96
    times = {run.splits: run.seconds for run in measured.alone()}
    assert measured.alone()[0].context == 131_072
    assert f"{float(times[1]) / float(times[16]):.1f}" == "11.5"
    model_s = [float(f.DECODE_ATTN_S.at(each)) for each in (alone, split)]
    assert 11 < model_s[0] / model_s[1] < 12.5
    for context in figures.LENGTHS:
        assert float(f.BUSY_SHARE.at(decode(int(context)))) < 0.07


def test_flops_stay_and_a_short_decode_saves_next_to_nothing() -> None:
    saving = decode_saving(1000)
    assert saving.of_step < 0.0006 < 0.05 < saving.of_attention < 0.07
    for length, side in product((1000, BOOK), (16, 128)):
        done = work(length, side)
        assert done.computed >= done.useful and done.computed < 2.1 * length**2
    query, key, value = np.random.default_rng(0).standard_normal((3, 32, 1, 4))
    meter = Meter()
    flash_attention(query, key, value, tile_rows=8, tile_keys=8, run=meter.on())
    assert meter.useful_pairs == work(32, 8).useful
    assert meter.pairs == tiles_of([32], 8) * 64 == work(32, 8).computed


def test_whole_tiles_cost_an_eighth_where_they_divide_the_prompt() -> None:
    """At 1,000 tokens a third of the excess is padding, not the diagonal."""
    assert f"{work(1024, 128).extra:.0%}" == "12%"
    assert f"{work(1000, 128).extra:.0%}" == "18%"
    ends = [*range(128, 1000, 128), 1000]
    rows = [128] * 7 + [104]
    unpadded = (
        sum(a * b for a, b in zip(ends, rows, strict=True)) / work(1000, 128).useful
    )
    assert f"{unpadded - 1:.0%}" == "12%"


def test_the_cache_is_what_it_was() -> None:
    """Keys and values are read by both kernels, and nothing else of a token is kept."""
    shape = model("llama-3.1-8b")
    assert shape.kv_bytes_per_token(2) == 128 * 1024
