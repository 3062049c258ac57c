"""Published speeds and times beside the bounds: which side each of them is on."""

from itertools import product

import numpy as np
import pytest

from llmserve_lab.catalog import model
from llmserve_lab.catalog.evidence import attention as evidence
from llmserve_lab.catalog.evidence import one_h100
from llmserve_lab.catalog.evidence.kernels import CAUSAL_RUNS
from llmserve_lab.flash_attention import formulas as f
from llmserve_lab.flash_attention import measured
from llmserve_lab.flash_attention.arguments import (
    BOOK,
    block_pace,
    check_fits,
    decode,
    fits,
    head,
    heads,
    tile,
)
from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.running_example import device
from llmserve_lab.transformer import HbmMeter, flash_attention


def test_standard_and_version_two_stay_below_the_bound_of_their_traffic() -> None:
    for code in (evidence.STANDARD, evidence.FLASH_TWO):
        for length, speed in evidence.CAUSAL_SPEED[code].items():
            assert measured.bound(code, length) > float(speed)


def test_version_three_is_above_it_and_below_every_number_once() -> None:
    for length, speed in evidence.CAUSAL_SPEED[evidence.FLASH_THREE].items():
        assert measured.bound(evidence.FLASH_THREE, length) < float(speed)
        assert float(speed) < measured.once_bound(length)


def test_the_figure_is_read_as_elsewhere_in_the_catalog() -> None:
    mine = evidence.CAUSAL_SPEED[evidence.FLASH_THREE]
    assert {length: mine[length] for length in CAUSAL_RUNS} == dict(CAUSAL_RUNS)
    assert set(mine) == set(evidence.FIGURE_LENGTHS)


def test_every_decode_took_longer_than_the_model_but_for_a_hundredth() -> None:
    """Two shapes; one run gave the model its only constant of a block."""
    for n_heads, most in ((32, 0.24), (16, 0.36)):
        found = measured.errors(measured.decode_runs(heads=n_heads))
        assert -most < min(found) < -0.15 and max(found) < 0.01
    late = [r for r in measured.decode_runs() if r.context >= 8192]
    assert min(measured.errors(late)) > -0.19


def test_a_block_draws_the_same_whether_eight_work_or_sixty_four() -> None:
    """So it is not kept from more by the others; and it is above an even share."""
    paces = [
        run.cache_bytes / float(run.seconds) / (8 * run.splits)
        for run in measured.alone()
        if run.splits and run.splits <= 8
    ]
    assert len(paces) == 4 and max(paces) / min(paces) < 1.03
    even = float(device().hbm_bw) / 132
    assert min(paces) > 1.2 * even and float(block_pace()) == pytest.approx(max(paces))
    assert measured.block_speed(1) > 2 * max(paces)


def test_from_one_wave_on_memory_is_the_limit_and_more_splits_cost_little() -> None:
    times = {run.splits: float(run.seconds) for run in measured.alone()}
    assert {1, 2, 4, 8, 16, 32, 66, 128, 256} == set(times)
    full = [times[n] for n in (16, 32, 66, 128, 256)]
    assert times[1] / times[16] == pytest.approx(11.5, abs=0.05)
    assert 0.85 < measured.alone()[0].cache_bytes / times[16] / 3.35e12 < 0.9
    assert max(full) / min(times.values()) < 1.09 < 1.4 < times[8] / min(full)


def test_without_splits_a_token_is_what_was_timed_and_what_layers_add() -> None:
    """By hand: 98,304 keys and values of a head at a block's pace, less all at once."""
    tokens, seconds = measured.step_s()
    head = 4 * 128 * tokens
    one = head / float(block_pace())
    many = 8 * head / (3.35e12 * float(decode(tokens)["eff_mem"])) + 3.9e-6
    assert measured.unsplit_step_s() == pytest.approx(
        seconds + 32 * (one - many), rel=1e-3
    )
    assert 5 < measured.unsplit_step_s() / seconds < 5.5
    faster = measured.unsplit_step_s(measured.block_speed(1))
    assert 2.5 < faster / seconds < 3


def test_a_decode_unlike_those_timed_has_no_band() -> None:
    """Where the last of several waves is nearly empty, or a split would have no key."""
    for run in measured.decode_runs():
        waves = run.batch * run.kv_heads * int(run.splits or 1) / 132
        assert waves <= 1 or waves / -(-waves // 1) > measured.FILLED
        of = measured.band(run.context, run.batch, int(run.splits or 1))
        assert isinstance(of, Band)
        (error,) = measured.errors([run])
        assert of.low <= error <= of.high
    assert isinstance(measured.band(BOOK, 1, 17), Unmeasured)
    assert isinstance(measured.band(1_000, 1, 9), Unmeasured)
    assert isinstance(measured.band(1_000, 1, 8), Band)


def test_what_was_not_timed_is_refused() -> None:
    with pytest.raises(ValueError, match="blocks must be a number that was timed"):
        measured.block_speed(3)
    library = next(r for r in one_h100.decode_attention() if r.splits is None)
    with pytest.raises(ValueError, match="splits must be known, got None"):
        measured.model_s(library)


def test_splits_gain_nothing_where_blocks_are_many_and_as_much_on_both_gpus() -> None:
    """Old and new kernel on an A100 differ in packing, too; ours packs always."""
    rows = {theirs.context: (theirs, one, best) for theirs, one, best in
            measured.two_gpus()}  # fmt: skip
    theirs, one, best = rows[256]
    assert one is best and float(theirs.unsplit_s) > 6 * float(theirs.split_s)
    theirs, one, best = rows[65_536]
    gains = [theirs.unsplit_s, theirs.split_s, one.seconds, best.seconds]
    slow, fast, mine, least = map(float, gains)
    assert f"{slow / fast:.0f}" == f"{mine / least:.0f}" == "36"


def test_the_prompt_that_was_timed_takes_longer_than_its_products() -> None:
    tokens, seconds = measured.prompt_s()
    assert tokens == 98_304 and 6.5 < seconds < 6.8


def test_an_unknown_code_is_refused() -> None:
    with pytest.raises(ValueError, match=r"code must be one of standard .*got 'x'"):
        measured.bound("x", 512)


def test_tables_print_every_row() -> None:
    assert len(measured.speed_table().rows) == len(evidence.FIGURE_LENGTHS)
    assert len(measured.decode_table().rows) == 6
    assert len(measured.splits_table().rows) == 7
    assert "−0%" not in str(measured.splits_table())
    assert "out of memory" in str(measured.speed_table())


@pytest.mark.parametrize(
    ("sides", "said"),
    [
        ((128, 208), "232,448 bytes of shared memory, got 128 and 208"),
        ((512, 16), "262,144 bytes of registers, got 512 and 16, which take 311,296"),
        ((0, 64), "tile_rows must be at least 1, got 0"),
        ((64, 0), "tile_keys must be at least 1, got 0"),
    ],
)
def test_a_tile_that_does_not_fit_is_refused(sides: tuple[int, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_fits(*sides, 128)


def test_heads_are_those_of_the_shape() -> None:
    assert {name: float(n) for name, n in heads().items()} == {
        "n_heads": 32,
        "n_kv_heads": 8,
        "d_head": 128,
    }
    assert float(decode(1000)["n_sms"]) == 132


def test_products_and_exponentials_in_turns_are_faster_than_what_was_measured() -> None:
    best = float(evidence.CAUSAL_SPEED[evidence.FLASH_THREE][measured.LONGEST])
    assert best < measured.in_turns_bound() < 0.7 * measured.once_bound(16_384)


def test_the_gain_over_standard_attention_is_three_factors() -> None:
    """Neither fewer bytes nor the cache makes most of it: slow standard code counts."""
    fewer, slower, cache = measured.gain_parts()
    length, gain = measured.over_standard()
    assert fewer * slower * cache == pytest.approx(gain)
    known = head(length)
    moved = [float(each.at(known)) for each in (f.PLAIN_BYTES, f.TILED_BYTES)]
    assert fewer == pytest.approx(moved[0] / moved[1])
    assert slower > 2 * cache and cache < 1.5


def test_a_prompt_in_pieces_of_whole_tiles_moves_the_same_keys() -> None:
    query, key, value = np.random.default_rng(0).standard_normal((3, 24, 1, 4))

    def moved(piece: int) -> HbmMeter:
        hbm = HbmMeter()
        for start in range(0, 24, piece):
            end = min(start + piece, 24)
            flash_attention(
                query[start:end], key[:end], value[:end],
                tile_rows=4, tile_keys=2, hbm=hbm,
            )  # fmt: skip
        return hbm

    whole = moved(24).numbers
    assert moved(8).numbers == moved(12).numbers == whole < moved(6).numbers


def test_from_the_square_tile_each_side_overflows_another_room() -> None:
    """More keys the shared memory first, more queries the registers first."""
    for rows_step, keys_step, where in ((0, 16, "shared memory"), (16, 0, "registers")):
        rows = keys = 128
        while fits(rows, keys, 128):
            rows, keys = rows + rows_step, keys + keys_step
        with pytest.raises(ValueError, match=f"bytes of {where}, got {rows}"):
            check_fits(rows, keys, 128)
        known = {**tile(rows, keys), "d_head": 128}
        if where == "shared memory":
            other = (f.REGISTER_BYTES, evidence.REGISTERS_PER_SM)
        else:
            other = (f.SHARED_BYTES, evidence.SHARED_PER_BLOCK)
        assert float(other[0].at(known)) < float(other[1])


def test_maxima_and_sums_leave_nothing_beside_eighty_keys() -> None:
    """Two numbers a row, of 32 bits, in each of four threads."""
    left = {
        (rows, keys): float(evidence.REGISTERS_PER_SM)
        - check_fits(rows, keys, 128)[1]
        - sum(4 for _ in product(range(rows), ("maximum", "sum"), range(4)))
        for rows, keys in ((192, 128), (256, 64), (256, 80))
    }
    assert [each / 1024 for each in left.values()] == [10, 24, 0]


def test_a_prompt_takes_seconds_by_its_bytes_alone() -> None:
    """All heads of all layers, at the full bandwidth; measured speed is in between."""
    gpu, passes = device(), 32 * 32
    known, speed = head(BOOK), float(gpu.hbm_bw)
    plain, tiled = (
        passes * float(each.at(known)) / speed
        for each in (f.PLAIN_BYTES, f.TILED_BYTES)
    )
    assert plain == pytest.approx(23.5, abs=0.05) and tiled == pytest.approx(
        5.9, abs=0.05
    )
    best = float(evidence.CAUSAL_SPEED[evidence.FLASH_THREE][measured.LONGEST])
    seconds = passes * 4 * 128 * BOOK * (BOOK + 1) / 2 / best
    assert seconds == pytest.approx(float(f.HEAD_FLOPS.at(known)) * passes / best)
    assert seconds < tiled
    length, times = measured.over_standard()
    slow = float(evidence.CAUSAL_SPEED[evidence.STANDARD][length])
    standard_s = passes * float(f.HEAD_FLOPS.at(known)) / slow
    assert standard_s > 3 * plain and 17 <= times < standard_s / seconds < 18
    shape = model("llama-3.1-8b")
    per_layer = 2 * 4096 * (4096 + 1024) + 3 * 4096 * 14_336  # q, o; k, v; the FFN
    outside = shape.params_total - 2 * shape.vocab * shape.d_model
    assert outside == pytest.approx(32 * per_layer, rel=1e-4)


def test_192_queries_fit_beside_128_keys_and_256_do_not() -> None:
    assert fits(192, 128, 128) and not fits(256, 128, 128)


@pytest.mark.parametrize("width", evidence.LIMITED_TILES)
def test_the_room_on_chip_is_that_of_the_library(width: int) -> None:
    """Its largest tiles fit; sixteen keys more do not."""
    rows, keys = (int(float(each)) for each in evidence.LIMITED_TILES[width])
    assert fits(rows, keys, width) and not fits(rows, keys + 16, width)
