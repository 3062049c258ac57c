"""Article 05, sections 1 to 3: batches, the cost model, and what an iteration costs."""

from __future__ import annotations

from functools import cache, partial

from llmserve_lab.claims.article_05.section_3 import swing, swing_shown
from llmserve_lab.claims.article_05.setting import (
    LONG,
    ROUNDS,
    K,
    at,
    attn_flops,
    decode_s,
    linear_flops,
    prompt_pairs,
    seconds,
)
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Statement
from llmserve_lab.claims.printed import parse
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.continuous_batching.article_machine import as_printed
from llmserve_lab.continuous_batching.piggyback import Part, packing
from llmserve_lab.engine import IterationCost, Pool, Request, Static, simulate
from llmserve_lab.formula.text import plain, si
from llmserve_lab.roofline import formulas as roofline
from llmserve_lab.varlen import formulas as varlen

in_section_1 = partial(Claim, section="§1")
in_section_3 = partial(Claim, section="§3")
SHORT, LONGEST = 50, 1000  # answers of the two requests of section 1
SEVERAL_THOUSAND = 2000
SMALL, LARGE = 100, 10 * K  # prompts of section 3.2
FIRST = (
    Part(name="A", rows=4096),
    Part(name="B", context=1499),
    Part(name="C", context=1699),
)


def alone(prompt: float) -> tuple[float, float, float]:
    """A prompt in an iteration of its own: FLOPs linear and attention, seconds."""
    pairs = prompt_pairs(prompt)
    time = seconds(n_rows=prompt, attn_pairs=pairs, kv_read_bytes=0)
    return linear_flops(prompt), attn_flops(pairs), time


def packed() -> tuple[float, float]:
    """Both prompts of section 3.2 in one iteration: linear FLOPs, seconds."""
    rows, pairs = SMALL + LARGE, prompt_pairs(SMALL) + prompt_pairs(LARGE)
    return linear_flops(rows), seconds(n_rows=rows, attn_pairs=pairs, kv_read_bytes=0)


def share_at_100k() -> float:
    """Attention's share of the FLOPs of the long prompt."""
    linear, attention, _ = alone(LONG)
    return attention / (linear + attention)


def overtakes() -> float:
    """Length of a prompt whose attention does as many FLOPs as the linear layers."""
    return float(varlen.OVERTAKE_PROMPT.at(as_printed()))


def at_its_steps() -> tuple[float, float]:
    """Tokens per second at the two ends of the step times that the article prints."""
    step = parse("5–7 ms")
    return 1 / step.high, 1 / step.low


@cache
def iterations_of_a_batch() -> int:
    """Iterations of the two requests of section 1 in a static batch, until both end."""
    requests = [
        Request(arrival_s=0.0, prompt_len=1, output_len=answer, id=number)
        for number, answer in enumerate((SHORT, LONGEST))
    ]
    pool = Pool(IterationCost(row_s=1.0), Static(2), kv_blocks=1000)
    return simulate(requests, pool).iterations


CLAIMS = (
    in_section_1(
        id="05-38",
        says="How long the slot of a 50-token answer idles beside one of 1000",
        parts=(Number("~5 s", "s", lambda: (LONGEST - SHORT) * decode_s()),),
        verdict=Ruling.WITHIN_ROUNDING,
        why=ROUNDS,
    ),
    in_section_1(
        id="05-39",
        says="A static scheduler decides once per several thousand iterations",
        parts=(
            Statement(
                "several thousand",
                lambda: iterations_of_a_batch() >= SEVERAL_THOUSAND,
                lambda: f"{iterations_of_a_batch():,} for the batch of its example",
                limit=f"at least {SEVERAL_THOUSAND:,}",
            ),
        ),
        verdict=Ruling.WRONG,
        why="A batch lasts as many iterations as its longest answer has tokens.",
    ),
    Claim(
        id="05-01",
        section="§2",
        says="Rows of an iteration of a prompt of 4096 and two decodes",
        parts=(Number("4098", "token", lambda: float(packing(FIRST).n_rows)),),
        verdict=Ruling.EXACT,
        why="Counted on the stack that the transformer is given.",
    ),
    in_section_3(
        id="05-02",
        says="FLOPs of the linear layers for one row",
        parts=(Number("14 GFLOPs", "FLOP", lambda: linear_flops(1)),),
        verdict=Ruling.EXACT,
        why="With the round parameter count; the shapes make it a little less.",
    ),
    in_section_3(
        id="05-03",
        says="FLOPs of attention for one pair, whole model",
        parts=(Number("≈ 0.52 MFLOPs", "FLOP", lambda: attn_flops(1)),),
        verdict=Ruling.WITHIN_ROUNDING,
        why=ROUNDS,
    ),
    in_section_3(
        id="05-04",
        says="FLOPs of attention over the square of the prompt",
        parts=(
            Number(
                "≈ 260,000",
                "FLOP/pair",
                lambda: attn_flops(prompt_pairs(LONG)) / LONG**2,
            ),
        ),
        verdict=Ruling.WITHIN_ROUNDING,
        why="It rounds to the digits printed; the diagonal adds next to nothing.",
    ),
    in_section_3(
        id="05-05",
        says="A decode step is memory-bound at so much",
        parts=(Number("5–7 ms", "s", decode_s),),
        verdict=Ruling.WITHIN_ROUNDING,
        why=lambda: (
            "So it is with the caches of its eight decodes; the weights alone, which "
            f"the sentence divides by the bandwidth, take {si(_weights_s(), 's')}."
        ),
    ),
    in_section_3(
        id="05-26",
        says="Longest over shortest iteration of the table",
        parts=(
            Number(
                "~1300×",
                "dimensionless",
                swing,
                readings={
                    "its own rounded cells": lambda: (
                        parse("~8 s").low / parse("~6 ms").low
                    )
                },
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="It divides cells that were rounded before.",
    ),
    in_section_3(
        id="05-27",
        says="At these steps a reader sees about 150 tokens a second",
        parts=(Number("~150 tokens/s", "token/s", at_its_steps),),
        verdict=Ruling.WITHIN_ROUNDING,
        why=lambda: (
            "It lies between what the article's own steps of 5 and 7 ms give; a step "
            f"from bytes over bandwidth gives {plain(1 / decode_s())}."
        ),
    ),
    in_section_3(
        id="05-28",
        says="Prompt around which attention starts to dominate",
        parts=(
            Number(
                "~100 k",
                "token/request",
                overtakes,
                readings={"twice the linear layers": lambda: 2 * overtakes()},
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why=lambda: (
            "At about half of that length attention does as much as the linear "
            "layers; at "
            f"100 k it does {100 * share_at_100k():.0f} % of the FLOPs, about twice "
            "as much as they do."
        ),
    ),
    Claim(
        id="05-51",
        section="opening",
        says="The cost of an iteration can swing a thousandfold",
        parts=(Statement("1000×", lambda: swing() >= 1000, swing_shown),),
        verdict=Ruling.EXACT,
        why="Between eight decodes alone and the same with a prompt of 100 k.",
    ),
)


def _weights_s() -> float:
    return at(roofline.WEIGHTS_S)
