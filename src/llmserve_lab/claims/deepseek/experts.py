"""Section 3.1.2: how many experts a batch touches, and on the busiest GPU."""

from __future__ import annotations

import math
from functools import cache

from llmserve_lab.claims.deepseek.setting import (
    EXACT,
    MIXED,
    PLACE,
    RACK,
    ROUNDED,
    SMALL,
    WRONG,
    number,
    size,
    statement,
)
from llmserve_lab.claims.parts import Size
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.executed.routing import draw
from llmserve_lab.formula.text import plain

SECTION = "§3.1.2"
E, K = PLACE.experts.n_experts, PLACE.experts.top_k
ROWS = 128
DEPLOYED = ((72, 32), (144, 32))  # GPUs and redundant experts, SGLang and DeepSeek


def touched(rows: int) -> float:
    """Distinct experts of a layer that ``rows`` rows touch."""
    return float(
        f.READ_EXPERTS(local_experts=E, top_k=K, n_experts=E, n_rows=rows, ep=1)
    )


def in_full() -> int:
    """Rows after which less than half an expert is missing on average."""
    rows = 1
    while E - touched(rows) >= 0.5:
        rows += 1
    return rows


def uncut() -> float:
    """The printed estimate with every expert active, on 32 GPUs."""
    gpus = SMALL.n_gpus
    return E / gpus + math.sqrt(2 * E * math.log(gpus) / gpus)


@cache
def over_drawn() -> float:
    """The estimate over what is drawn, where a GPU has all of its experts touched."""
    drawn = draw(n_rows=512, n_experts=E, top_k=K, n_gpus=SMALL.n_gpus, times=5)
    return uncut() / drawn.busiest


def few_rows() -> tuple[float, float]:
    """What the line would be, both ends, if it went on as it does up to four rows."""
    slope = touched(4) / 4
    return 8 * slope, 32 * slope


CLAIMS = (
    statement(
        "004-36",
        SECTION,
        "Chance that N rows all miss an expert",
        "(31/32)^N",
        lambda: 1 - K / E == 31 / 32,
        lambda: f"1 − {K}/{E} each",
        EXACT,
        "Rows choose on their own, and evenly by assumption.",
    ),
    size(
        "004-37",
        SECTION,
        "Beyond 128 rows all experts are loaded",
        Size(
            "loaded in full",
            lambda: float(E),
            lambda: touched(ROWS),
            label="experts:",
        ),
        ROUNDED,
        lambda: (
            "Nearly: on average so many are touched, and less than half an expert is "
            f"missing from {in_full()} rows on."
        ),
    ),
    statement(
        "004-38",
        SECTION,
        "The sum of 1/M from M − k to M is k/M",
        "Σ 1/M = k/M",
        lambda: sum(1 for _ in range(E - K, E + 1)) == K,
        lambda: f"{sum(1 for _ in range(E - K, E + 1))} terms for k = {K}",
        WRONG,
        "The result is right; the sum has one term too many.",
    ),
    statement(
        "004-39",
        SECTION,
        "Touched experts on the busiest GPU, as balls in bins",
        "n/g + √(2 n log(g)/g)",
        lambda: uncut() <= E / SMALL.n_gpus,
        lambda: f"{plain(uncut())} on a GPU that holds {E // SMALL.n_gpus}",
        WRONG,
        "Balls may share a place, experts do not; it has to be cut off.",
    ),
    size(
        "004-40",
        SECTION,
        "That estimate works well with many active experts",
        Size(
            "fairly well", over_drawn, lambda: 1.0, label="drawn, and estimate over it:"
        ),
        WRONG,
        "With many it is at its worst; in between it is off by less.",
    ),
    number(
        "004-56",
        "§3.4",
        "Rows at the GPU with the shared expert over those elsewhere, 16 GPUs",
        "≈ 2.7",
        "dimensionless",
        lambda: (1 + K / 16) / (K / 16),
        MIXED,
        lambda: (
            "All rows come for the shared expert, and an even share of the routed "
            "choices. Over the mean of all GPUs instead of the others, with the shared "
            "one counted among the choices, it is as printed; over the others so "
            f"counted {plain((1 + (K + 1) / 16) / ((K + 1) / 16))}."
        ),
        over_the_mean_of_all_GPUs=lambda: (1 + K / 16) / ((K + 1) / 16),
    ),
    statement(
        "004-57",
        "§3.4",
        "One GPU with all the load has balancedness one over their number",
        "1/n",
        lambda: math.isclose((K / RACK.n_gpus) / K, 1 / RACK.n_gpus),
        lambda: f"mean over largest is 1/{RACK.n_gpus} for {RACK.n_gpus}",
        EXACT,
        "It is what the definition says.",
        by_definition=True,
    ),
    statement(
        "004-58",
        "§3.4",
        "Routed and additional experts divide by the GPUs",
        "mod ep = 0",
        lambda: all((E + extra) % gpus == 0 for gpus, extra in DEPLOYED),
        lambda: ", ".join(f"{E + x} on {gpus}" for gpus, x in DEPLOYED),
        EXACT,
        "So it is in both published deployments.",
    ),
    size(
        "004-59",
        SECTION,
        "Experts of a GPU: shared, routed and additional over the GPUs, rounded up",
        Size(
            "⌈(shared + routed + additional)/n⌉",
            lambda: tuple(math.ceil((E + x + 1) / gpus) for gpus, x in DEPLOYED),
            lambda: tuple((E + x) / gpus for gpus, x in DEPLOYED),
            label="on 72 and on 144 GPUs:",
            exactly=True,
            readings={
                "a shared expert on every GPU": lambda: tuple(
                    (E + x) / gpus + 1 for gpus, x in DEPLOYED
                )
            },
        ),
        MIXED,
        "By section 3.4 the routed and additional ones divide evenly; the ceiling is "
        "right where every GPU has a shared expert besides.",
    ),
    size(
        "004-75",
        "§1",
        "Loaded experts grow nearly linearly with the batch",
        Size(
            "nearly linearly",
            lambda: (8.0 * K, 32.0 * K),
            lambda: (touched(8), touched(32)),
            label="experts for 8 and for 32 rows:",
            readings={"up to four rows": few_rows},
        ),
        MIXED,
        lambda: (
            "While the choices are few beside the experts; then rows meet: of the "
            f"line, {plain(touched(8) / 8 / K, 3)} is left at 8 rows and "
            f"{plain(touched(32) / 32 / K, 3)} at 32."
        ),
    ),
)
