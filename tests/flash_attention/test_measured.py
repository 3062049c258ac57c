"""Published speeds and times beside the bounds: which side each of them is on."""

import numpy as np
import pytest

from llmserve_lab.catalog import accelerator, model
from llmserve_lab.catalog.evidence import attention as evidence
from llmserve_lab.catalog.evidence.kernels import CAUSAL_RUNS
from llmserve_lab.flash_attention import formulas as f
from llmserve_lab.flash_attention import measured
from llmserve_lab.flash_attention.arguments import (
    BOOK,
    check_fits,
    decode,
    fits,
    head,
    heads,
    tile,
)
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


def test_every_decode_took_longer_than_its_bound() -> None:
    for run in evidence.DECODE_RUNS:
        for split, seen in ((False, run.unsplit_s), (True, run.split_s)):
            times = float(seen) / measured.decode_bound_s(run, split=split)
            assert 1.15 < times < 2.5


def test_two_decodes_tell_a_speed_and_a_rest_of_each_kernel() -> None:
    """By hand: twice the cache, so the rest is twice the short time less the long."""
    short, long = measured.one_request()
    assert long.context == 2 * short.context
    for split in (False, True):
        times = [float(r.split_s if split else r.unsplit_s) for r in (short, long)]
        fit = measured.fitted(split=split)
        assert fit.rest_s == pytest.approx(2 * times[0] - times[1])
        assert 0.77 < fit.share < 0.785
        for run, seconds in zip((short, long), times, strict=True):
            least = measured.decode_bound_s(run, split=split)
            assert seconds == pytest.approx(least / fit.share + fit.rest_s)
    moved = 2 * 2 * 65_536 * 128 * 2  # bytes: keys and values, two heads, 16 bits
    speed = moved / (float(long.split_s) - float(short.split_s))
    share = speed / float(accelerator("a100-80-sxm").hbm_bw)
    assert measured.fitted(split=True).share == pytest.approx(share)


def test_the_long_prompt_on_an_h100_is_worked_out_from_one_model() -> None:
    """Both kernels by the wave model: 766 tiles in one block, 48 in each of 16."""
    tile_s = 132 * 128 * 128 * 2 * 2 / 3.35e12  # of one multiprocessor's bandwidth
    for n_split, tiles in ((1, 766), (16, 48)):
        fit = measured.fitted(split=n_split > 1)
        found = measured.expected(n_split)
        want = tiles * tile_s / fit.share + fit.rest_s
        assert found.layer_s == pytest.approx(want, rel=1e-3)
        assert found.layers_s == pytest.approx(32 * want, rel=1e-3)
        assert found.layer_s > 1.2 * found.model_s
        assert found.token_s == pytest.approx(found.layers_s + found.parameters_s)
    full_s = 32 * tile_s
    assert [f"{1e3 * full_s * n:.3g}" for n in (766, 48)] == ["63.3", "3.97"]


def test_the_gain_lies_between_those_measured_and_that_of_the_bandwidth_alone() -> None:
    """A ratio of short caches keeps their rest: it must not be carried to long ones."""
    slow, fast = measured.expected(1), measured.expected(16)
    assert 14 < slow.layer_s / fast.layer_s < 14.5
    assert 8 < slow.token_s / fast.token_s < 8.5
    assert slow.layer_s / fast.layer_s < slow.model_s / fast.model_s
    full_s = fast.model_s * 0.946  # at the datasheet's bandwidth, the merge with it
    for run in measured.one_request():
        over = float(run.split_s) / measured.decode_bound_s(run, split=True)
        assert fast.layer_s < over * full_s


def test_an_unknown_code_is_refused() -> None:
    with pytest.raises(ValueError, match=r"code must be one of standard .*got 'x'"):
        measured.bound("x", 512)


def test_tables_print_every_row() -> None:
    assert len(measured.speed_table().rows) == len(evidence.FIGURE_LENGTHS)
    assert len(measured.decode_table().rows) == len(evidence.DECODE_RUNS)
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


def test_two_tiles_of_queries_leave_few_registers_beside_eighty_keys() -> None:
    spare = [
        float(evidence.REGISTERS_PER_SM) - check_fits(256, n, 128)[1] for n in (64, 80)
    ]
    max_and_sum = 256 * 2 * 4 * 4  # bytes: four threads hold the pair of a row
    assert spare[1] == max_and_sum and spare[0] > 3 * max_and_sum


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
