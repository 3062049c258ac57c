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
    library_splits,
    request_splits,
    rule_splits,
    tile,
    wave_splits,
    waves_filled,
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


def test_waves_tell_unsplit_decodes_apart() -> None:
    """One constant would do: the model is off by much the same in every row."""
    ratios = [
        measured.decode_bound_s(run, split=False) / float(run.unsplit_s)
        for run in evidence.DECODE_RUNS
    ]
    assert max(ratios) / min(ratios) < 1.25
    times = [float(run.unsplit_s) for run in evidence.DECODE_RUNS]
    assert max(times) / min(times) > 13


def test_splits_stop_to_matter_where_requests_are_many() -> None:
    gain = [float(r.unsplit_s) / float(r.split_s) for r in evidence.DECODE_RUNS]
    assert gain[-2] > 35 and gain[0] < 7


def test_what_grows_with_the_cache_is_below_the_datasheet() -> None:
    speed, rest = measured.slope_and_rest()
    assert 0.7 < speed / float(accelerator("a100-80-sxm").hbm_bw) < 0.9
    assert 1e-5 < rest < 4e-5


def test_an_unknown_code_is_refused() -> None:
    with pytest.raises(ValueError, match=r"code must be one of standard .*got 'x'"):
        measured.bound("x", 512)


def test_tables_print_every_row() -> None:
    assert len(measured.speed_table().rows) == len(evidence.FIGURE_LENGTHS)
    assert len(measured.decode_table().rows) == len(evidence.DECODE_RUNS)
    assert "out of memory" in str(measured.speed_table())


@pytest.mark.parametrize("width", evidence.LIMITED_TILES)
def test_the_room_on_chip_is_that_of_the_library(width: int) -> None:
    """Its largest tiles fit; sixteen keys more do not."""
    rows, keys = (int(float(each)) for each in evidence.LIMITED_TILES[width])
    assert fits(rows, keys, width) and not fits(rows, keys + 16, width)


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


def test_the_gain_of_splits_is_two_factors_of_which_one_is_packing() -> None:
    """At one request keys are read again and the GPU idles; at many only the first."""
    by_batch = {run.batch: run for run in evidence.DECODE_RUNS}
    one = next(r for r in evidence.DECODE_RUNS if r.context == 65_536)
    assert measured.unsplit_factors(one) == pytest.approx((8, 108 / 16))
    again, idle = measured.unsplit_factors(by_batch[256])
    assert again == 8 and idle == pytest.approx(1, abs=0.02)
    gain = float(by_batch[256].unsplit_s) / float(by_batch[256].split_s)
    assert 6 < gain < again


def test_the_library_takes_the_fewest_splits_that_fill_waves_well() -> None:
    assert library_splits(8, 132, key_tiles=766) == 15  # at best 33, two full waves
    assert library_splits(8, 132, key_tiles=766, most=32) == 14  # in vLLM's graphs
    assert library_splits(8, 132, key_tiles=8) == 7 and waves_filled(8, 8, 132) < 0.5
    assert library_splits(8, 132, key_tiles=4) == 1
    assert waves_filled(8, 14, 132) < 0.85 < waves_filled(8, 15, 132)
    assert waves_filled(8, 33, 132) == 1
    assert library_splits(132, 132, key_tiles=9) == 1
    assert library_splits(106, 132, key_tiles=9) == 1
    assert library_splits(4, 132, key_tiles=99) == 29  # one head of four requests
    with pytest.raises(ValueError, match="blocks must be at least 1, got 0"):
        library_splits(0, 132, key_tiles=9)


def test_one_wave_holds_at_least_one_split() -> None:
    found = [wave_splits(8 * n, 132, key_tiles=766) for n in (1, 2, 16, 17, 64)]
    assert found == [16, 8, 1, 1, 1]
    assert wave_splits(8, 132, key_tiles=8) == 8  # 1,000 tokens: a tile each
    with pytest.raises(ValueError, match="blocks must be at least 1, got 0"):
        wave_splits(0, 132, key_tiles=9)


def test_splits_gain_in_the_model_where_a_second_wave_is_nearly_empty() -> None:
    times = [
        float(f.DECODE_ATTN_S.at(decode(16_000, batch=17, n_split=n))) for n in (1, 16)
    ]
    assert 1.8 < times[0] / times[1] < 1.9
    one = [float(f.DECODE_ATTN_S.at(decode(BOOK, n_split=n))) for n in (16, 33)]
    assert one[1] == pytest.approx(one[0], rel=0.005)  # two full waves: no better


def test_products_and_exponentials_in_turns_are_faster_than_what_was_measured() -> None:
    best = float(evidence.CAUSAL_SPEED[evidence.FLASH_THREE][measured.LONGEST])
    assert best < measured.in_turns_bound() < 0.7 * measured.once_bound(16_384)


def test_a_request_of_a_ragged_batch_gets_its_share_of_the_multiprocessors() -> None:
    assert request_splits(BOOK, 8, 132, most=32) == 15
    assert request_splits(BOOK, 8, 132, most=14) == 14
    assert -(-(766 * 11 * 8) // (10 * 132)) == 52 and -(-766 // 52) == 15
    assert request_splits(BOOK, 4, 132, most=2**22) == 30  # four heads of as many
    assert request_splits(BOOK, 1, 132, most=32) == 32 < 110
    assert request_splits(BOOK, 1, 132, most=2**22) == 110
    assert request_splits(100, 8, 132, most=32) == 1
    with pytest.raises(ValueError, match="context must be at least 1"):
        request_splits(0, 8, 132, most=32)


@pytest.mark.parametrize("context", [8_000, 16_000, 32_000, 64_000, BOOK])
def test_the_rule_for_splits_comes_near_the_best_for_every_batch(context: int) -> None:
    """One wave of splits alone is nearly twice the best time, at 9 requests and 17."""
    tiles, worst = -(-context // 128), dict[str, float]()
    for batch in range(1, 65):
        times = [
            float(f.DECODE_ATTN_S.at(decode(context, batch=batch, n_split=n)))
            for n in range(1, min(tiles, 64) + 1)
        ]
        for name, rule in (("wave", wave_splits), ("rule", rule_splits)):
            chosen = times[rule(8 * batch, 132, key_tiles=tiles) - 1]
            worst[name] = max(worst.get(name, 1.0), chosen / min(times))
    assert worst["rule"] < 1.25 and worst["wave"] > 1.7


def test_the_rule_for_splits_as_the_page_works_it_out() -> None:
    assert rule_splits(8, 132, key_tiles=766) == 16
    assert rule_splits(8, 132, key_tiles=8) == 8  # a tile each, though few are busy
    assert rule_splits(72, 132, key_tiles=125) == 5
    assert waves_filled(72, 5, 132) == pytest.approx(360 / (3 * 132))
    assert rule_splits(136, 132, key_tiles=125) == 5
    assert library_splits(136, 132, key_tiles=125) == 1
    with pytest.raises(ValueError, match="blocks must be at least 1, got 0"):
        rule_splits(0, 132, key_tiles=9)


def test_both_kinds_of_kernel_are_slower_than_the_model_says() -> None:
    """With splits more so; the two requests that stand alone are among the ten."""
    for split, most in ((False, 1.5), (True, 2.4)):
        every, alone = (
            measured.times_the_bound(split=split),
            measured.times_the_model(split=split),
        )
        assert 1.15 < every[0] <= alone[0] <= alone[1] <= every[1] < most
    assert (
        measured.times_the_model(split=True)[0]
        > measured.times_the_model(split=False)[1]
    )


def test_the_long_prompt_lies_between_the_two_requests_measured_alone() -> None:
    short, long = measured.one_request()
    assert short.context < BOOK < long.context and short.batch == long.batch == 1


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


def test_packing_alone_gains_nothing_for_one_request() -> None:
    one = next(r for r in evidence.DECODE_RUNS if r.context == 65_536)
    unpacked = measured.decode_bound_s(one, split=False)
    assert measured.packed_alone_s(one) == pytest.approx(unpacked)


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


def test_a_token_gains_less_than_its_attention() -> None:
    """Seven to eight times, where attention alone gains eleven to thirteen."""
    weights_s = 4.74e-3
    seen = measured.long_decode(63.3e-3, 3.83e-3)
    without, split = seen.token_s(weights_s)
    by_hand = without[0] / split[1], without[1] / split[0]
    assert seen.token_gain(weights_s) == pytest.approx(by_hand)
    assert [f"{each:.0f}" for each in by_hand] == ["7", "8"]
    assert [f"{each:.0f}" for each in seen.gain] == ["11", "13"]
    ours = [float(r.unsplit_s) / float(r.split_s) for r in measured.one_request()]
    bounds = [
        measured.decode_bound_s(r, split=False) / measured.decode_bound_s(r, split=True)
        for r in measured.one_request()
    ]
    less = [own / bound for own, bound in zip(ours, bounds, strict=True)]
    want = sorted(seen.model_s[0] / seen.model_s[1] * each for each in less)
    assert seen.gain == pytest.approx(want, rel=0.005)


def test_192_queries_fit_beside_128_keys_and_256_do_not() -> None:
    assert fits(192, 128, 128) and not fits(256, 128, 128)


def test_a_split_is_of_whole_tiles_of_keys() -> None:
    """Past a tile for each split nothing is gained: 8 tiles, 8 splits."""
    times = [float(f.SPLIT_READ_S.at(decode(1000, n_split=n))) for n in (7, 8, 16)]
    assert times[0] == pytest.approx(2 * times[1]) and times[1] == times[2]
