"""Splits of a decode: how many there are, by the page's rule and by a library's."""

from fractions import Fraction
from itertools import product

import pytest

from llmserve_lab.catalog.evidence import attention as evidence
from llmserve_lab.flash_attention import formulas as f
from llmserve_lab.flash_attention import measured
from llmserve_lab.flash_attention.arguments import (
    BOOK,
    decode,
    library_splits,
    request_splits,
    rule_splits,
    wave_splits,
    waves_filled,
)


def test_splits_stop_to_matter_where_requests_are_many() -> None:
    gain = [float(r.unsplit_s) / float(r.split_s) for r in evidence.DECODE_RUNS]
    assert gain[-2] > 35 and gain[0] < 7


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
    assert 1.4 < times[0] / times[1] < 1.5
    one = [float(f.DECODE_ATTN_S.at(decode(BOOK, n_split=n))) for n in (16, 33)]
    assert one[1] == pytest.approx(one[0], rel=0.005)  # two full waves: no better


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


@pytest.mark.long
@pytest.mark.parametrize("context", [8_000, 16_000, 32_000, 64_000, BOOK])
def test_the_rule_for_splits_comes_near_the_best_for_every_batch(context: int) -> None:
    """One wave of splits alone takes up to 45 % longer, at 17 requests."""
    tiles, worst = -(-context // 128), dict[str, float]()
    for batch in range(1, 65):
        times = [
            float(f.DECODE_ATTN_S.at(decode(context, batch=batch, n_split=n)))
            for n in range(1, min(tiles, 64) + 1)
        ]
        for name, rule in (("wave", wave_splits), ("rule", rule_splits)):
            chosen = times[rule(8 * batch, 132, key_tiles=tiles) - 1]
            worst[name] = max(worst.get(name, 1.0), chosen / min(times))
    assert worst["rule"] < 1.04 and worst["wave"] > 1.4


def test_neither_rule_of_the_library_splits_where_a_second_wave_is_nearly_empty() -> (
    None
):
    """17 requests of 16,000 tokens: 136 blocks for 132 multiprocessors, 125 tiles."""
    assert library_splits(17 * 8, 132, key_tiles=125) == 1
    all_tiles = 17 * 125 * 8
    each = -(-all_tiles * 11 // (10 * 132))  # tiles of a split, by the second rule
    assert each == 142 and -(-125 // each) == 1
    assert rule_splits(17 * 8, 132, key_tiles=125) == 5


def test_the_rule_for_splits_as_the_page_works_it_out() -> None:
    assert rule_splits(8, 132, key_tiles=766) == 16
    assert rule_splits(8, 132, key_tiles=8) == 8  # a tile each, though few are busy
    assert rule_splits(72, 132, key_tiles=125) == 5
    assert waves_filled(72, 5, 132) == pytest.approx(360 / (3 * 132))
    assert rule_splits(136, 132, key_tiles=125) == 5
    assert library_splits(136, 132, key_tiles=125) == 1
    with pytest.raises(ValueError, match="blocks must be at least 1, got 0"):
        rule_splits(0, 132, key_tiles=9)


def by_the_page(blocks: int, tiles: int, sms: int = 132) -> int:
    """The page's four steps, one after another, in whole numbers."""
    number = max(1, sms // blocks)  # steps 1 and 2
    number = min(number, tiles)  # step 3

    def filled(n: int) -> Fraction:
        return Fraction(blocks * n, sms * -(-blocks * n // sms))

    if 1 - filled(number) <= Fraction(1, 5):
        return number
    found = [n for n in range(1, tiles + 1) if filled(n) >= Fraction(85, 100)]
    return min(found, default=number)  # step 4


def test_the_steps_of_the_rule_never_collide() -> None:
    """One request of 98,000 and of 1,000 tokens, nine of 16,000: the page's three."""
    assert [by_the_page(8, 766), by_the_page(8, 8), by_the_page(72, 125)] == [16, 8, 5]
    assert f"{waves_filled(8, 8, 132):.0%}" == "48%"  # too little for step 4
    assert by_the_page(8, 15) == 15 and waves_filled(8, 15, 132) > 0.85
    for blocks, tiles in product(range(1, 300), (1, 2, 3, 8, 15, 16, 125)):
        found = by_the_page(blocks, tiles)
        assert rule_splits(blocks, 132, key_tiles=tiles) == found <= tiles


def test_the_librarys_second_rule_costs_nothing_beside_one_full_wave() -> None:
    """52 tiles in a split, not 48: memory is the limit; with a cap, 24, not 7."""
    ours, theirs = (
        float(f.DECODE_ATTN_S.at(decode(BOOK, n_split=n)))
        for n in (16, request_splits(BOOK, 8, 132, most=32))
    )
    assert theirs == pytest.approx(ours, rel=1e-3)
    assert [-(-766 // n) for n in (15, 16, 32, 110)] == [52, 48, 24, 7]
    capped, free = (
        float(f.SPLIT_READ_S.at(decode(BOOK, n_split=n) | {"n_kv_heads": 1}))
        for n in (32, 110)
    )
    assert capped / free == pytest.approx(3.1, abs=0.05)


def test_a_split_is_of_whole_tiles_of_keys() -> None:
    """Past a tile for each split nothing is gained: 8 tiles, 8 splits."""
    times = [float(f.SPLIT_READ_S.at(decode(1000, n_split=n))) for n in (7, 8, 16)]
    assert times[0] == pytest.approx(2 * times[1]) and times[1] == times[2]


def test_taking_turns_alone_does_not_explain_flash_attention_two() -> None:
    """It would allow nearly twice what was measured."""
    seen = evidence.CAUSAL_SPEED[evidence.FLASH_TWO][measured.LONGEST]
    assert measured.in_turns_bound() > 1.9 * float(seen)
