"""Article 05, section 3.2: a short prompt in the company of a long one."""

from __future__ import annotations

from functools import partial

from llmserve_lab.claims.article_05.sections_1_3 import LARGE, SMALL, alone, packed
from llmserve_lab.claims.article_05.setting import ROUNDS
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number
from llmserve_lab.claims.printed import parse
from llmserve_lab.claims.verdict import Ruling

in_section_3_2 = partial(Claim, section="§3.2")
UNIT = "A prefix was lost: it is a thousand times as much, as the times beside it say."


def small_linear() -> float:
    """FLOPs of the linear layers for the short prompt."""
    return alone(SMALL)[0]


def small_attn() -> float:
    """FLOPs of attention for the short prompt."""
    return alone(SMALL)[1]


def printed_sum_s() -> float:
    """Seconds from the two FLOP counts that the table prints for both prompts."""
    flops = parse("~141 TF").low + parse("~26 TF").low
    linear, attention, seconds = alone(LARGE)
    return flops * seconds / (linear + attention)


CLAIMS = (
    in_section_3_2(
        id="05-29",
        says="A prompt of 100 alone: FLOPs of the linear layers",
        parts=(Number("~1.4 GF", "FLOP", small_linear),),
        verdict=Ruling.WRONG,
        why=UNIT,
    ),
    in_section_3_2(
        id="05-30",
        says="A prompt of 100 alone: FLOPs of attention",
        parts=(Number("~3 MF", "FLOP", small_attn),),
        verdict=Ruling.WRONG,
        why=UNIT,
    ),
    in_section_3_2(
        id="05-31",
        says="A prompt of 100 alone: time",
        parts=(Number("~4 ms", "s", lambda: alone(SMALL)[2]),),
        verdict=Ruling.WITHIN_ROUNDING,
        why="It rounds to the digit printed: the weights are read, that is all.",
    ),
    in_section_3_2(
        id="05-32",
        says="A prompt of 10 k alone: FLOPs of the linear layers",
        parts=(Number("~140 TF", "FLOP", lambda: alone(LARGE)[0]),),
        verdict=Ruling.EXACT,
        why="With the round parameter count.",
    ),
    in_section_3_2(
        id="05-33",
        says="A prompt of 10 k alone: FLOPs of attention",
        parts=(Number("~26 TF", "FLOP", lambda: alone(LARGE)[1]),),
        verdict=Ruling.WITHIN_ROUNDING,
        why=ROUNDS,
    ),
    in_section_3_2(
        id="05-34",
        says="A prompt of 10 k alone: time",
        parts=(Number("~320 ms", "s", lambda: alone(LARGE)[2]),),
        verdict=Ruling.WRONG,
        why="Its own FLOPs over its own 500 TFLOP/s take longer.",
    ),
    in_section_3_2(
        id="05-35",
        says="Both prompts packed: FLOPs of the linear layers",
        parts=(Number("~141 TF", "FLOP", lambda: packed()[0]),),
        verdict=Ruling.WITHIN_ROUNDING,
        why=ROUNDS,
    ),
    in_section_3_2(
        id="05-36",
        says="Both prompts packed: time",
        parts=(
            Number(
                "~330 ms",
                "s",
                lambda: packed()[1],
                readings={"the sum of its rounded cells": printed_sum_s},
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="It adds cells that were rounded down before.",
    ),
    in_section_3_2(
        id="05-37",
        says="How much longer the short prompt takes in this company",
        parts=(Number("~80×", "dimensionless", lambda: packed()[1] / alone(SMALL)[2]),),
        verdict=Ruling.WITHIN_ROUNDING,
        why=ROUNDS,
    ),
)
