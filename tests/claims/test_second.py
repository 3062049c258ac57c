"""Verdicts and numbers derived a second time, by hand, without the book's formulas.

The arithmetic below uses plain numbers from public configurations and datasheets; what
it gives has to be what the records give, and the verdicts have to be these.
"""

import math

import pytest

from llmserve_lab.claims import CLAIMS, Number, Ruling, Size, judge

EXACT, ROUNDED = Ruling.EXACT, Ruling.WITHIN_ROUNDING
MIXED, WRONG = Ruling.INCONSISTENT, Ruling.WRONG

# Two flops a parameter and row; 4·128·32·32 flops a pair; 512 KiB of cache a token.
ROW, PAIR, KAPPA = 14e9, 4 * 128 * 32 * 32, 512 * 1024
PEAK, HBM = 500e12, 3.35e12  # article 05: sustained, and the datasheet's bandwidth
READ_S = (14e9 + 8 * 1000 * KAPPA) / HBM
DEEPSEEK = 61 * 2 * 576  # bytes of latent cache a token
HIT = 1 - math.comb(224, 8) / math.comb(256, 8)  # a card of eight, by a token


def touched(rows: int) -> float:
    """Experts of 256 that are met when each row takes eight."""
    return 256 * (1 - (1 - 8 / 256) ** rows)


SECOND = {
    "003-07": 2 * 1_000_000 * 80 * 8 * 128 * 2,
    "003-12": 60 / 0.22,
    "004-11": 61 * (7168 * (1536 + 576 + 128 * 128) + 1536 * 128 * 192 + 512 * 32768),
    "004-13": 2 * 64 * 8 * 128 * 2,
    "004-24": 100 * 58 * 257 * 3 * 7168 * 2048 / 671.026e9,
    "004-29": 3 * 7168 * 61,
    "004-37": touched(128),
    "004-61": 400e9 / 8,
    "004-72": 20e9 * 32 / (DEEPSEEK * 32768),
    "004-78": 60 / 58,
    "04-04": 60 / 40,
    "05-05": READ_S,
    "05-08": 8 * ROW + 8 * 1001 * PAIR,
    "05-16": 4008 * ROW + (4000 * 4001 / 2 + 8 * 1001) * PAIR,
    "05-18": 16_008 * ROW,
    "05-28": 2 * ROW / PAIR,
    "05-29": 100 * ROW,
    "05-30": 100 * 101 / 2 * PAIR,
    "05-34": (10_000 * ROW + 10_000 * 10_001 / 2 * PAIR) / PEAK,
    "05-39": 1000,
    "05-45": 2048**2 * 49 * 50 / 2,
    "05-46": 2048 * 49 * 48 / 2,
    "06-02": 989.4e12 / HBM,
    "06-05": 14e9 / 32 / KAPPA,
    "06-24": 4096 * KAPPA,
    "06-31": 2048 * ROW / (14e9 + 256 * 1024 * KAPPA),
    "06-40": 4096 * KAPPA / 450e9,
    "06-41": 450e9,
    "06-43": 16 * 32e9 / 8 * 128 / 130,
    "06-46": math.log10(450 / 25),
    "07-21": 7168 * 2 * 7 * HIT,
    "07-35": 1,
}


@pytest.mark.parametrize("name", SECOND)
def test_a_number_comes_out_the_same_by_hand(name: str) -> None:
    numbers = [p for p in CLAIMS[name].parts if isinstance(p, Number | Size)]
    if not numbers:
        (part,) = CLAIMS[name].parts
        assert f"{SECOND[name]:,}" in part.right
        return
    value = numbers[0].value()
    assert isinstance(value, int | float)
    assert value == pytest.approx(SECOND[name], rel=2e-3)


def test_ranges_by_hand() -> None:
    for name, ends in (
        ("004-15", (2 * 64 * 8 * 128 * 2 / DEEPSEEK, 2 * 126 * 8 * 128 * 2 / DEEPSEEK)),
        ("05-27", (1 / 0.007, 1 / 0.005)),
        ("004-75", (touched(8), touched(32))),
    ):
        (part,) = CLAIMS[name].parts
        assert isinstance(part, Number | Size)
        assert part.value() == pytest.approx(ends, rel=2e-3)


# Verdicts that a second reader of the sources arrived at, record unseen.
STANDS = {
    EXACT: "00-03 01-03 000-54 003-18 003-19 003-08",
    ROUNDED: """05-08 05-18 06-52 000-34 003-12 004-37 004-72 05-05 05-27 05-46 06-37
        000-07 004-68 003-07""",
    MIXED: """05-09 05-16 05-28 06-31 06-53 07-21 07-35 000-23 000-24 000-47 003-25
        004-11 004-15 004-75 004-78 00-01 00-02 03-15 04-18 05-45 06-48 000-51 000-52
        004-24 004-48 004-53 004-54 004-59 004-67 003-16 003-17 003-20 003-21""",
    WRONG: "04-04 04-11 05-29 05-30 01-03b 01-07 05-39 004-13 004-44",
}


@pytest.mark.parametrize(
    ("name", "verdict"),
    [(name, verdict) for verdict, names in STANDS.items() for name in names.split()],
)
def test_the_verdict_of_a_second_reader(name: str, verdict: Ruling) -> None:
    assert judge(CLAIMS[name]) is verdict
