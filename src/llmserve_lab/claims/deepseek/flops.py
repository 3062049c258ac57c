"""Section 3.2: FLOPs as printed, and as counted on the attention that was executed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from llmserve_lab.catalog import workload
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.deepseek.setting import (
    EXACT,
    MIXED,
    PLACE,
    ROUNDED,
    V3,
    WRONG,
    attention_bytes,
    expert_bytes,
    number,
    size,
    statement,
)
from llmserve_lab.claims.parts import Size
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.executed.mla import TINY, execute
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.formula.text import plain
from llmserve_lab.transformer import Meter

MEAN_CONTEXT, PROMPT = 4989, 4096
KEY = TINY.d_head + TINY.d_rope


@cache
def shape() -> Mapping[str, Any]:
    """What the formulas ask about DeepSeek-V3."""
    return Twin(setup=PLACE, assumptions=book_assumptions()).shape


@cache
def run(form: str, *, n_rows: int, context: int) -> Meter:
    """Meter of one executed layer."""
    return execute(form, n_rows=n_rows, context=context).meter


def per_value(form: str) -> float:
    """FLOPs of the weighted sum for each pair, head and element, as counted."""
    meter = run(form, n_rows=3, context=5)
    key, value = (
        (KEY, TINY.d_v)
        if form == "vanilla"
        else (
            TINY.d_latent + TINY.d_rope,
            TINY.d_latent,
        )
    )
    scores = 2 * TINY.n_heads * key
    return (meter.attn_flops / meter.pairs - scores) / (TINY.n_heads * value)


def output_flops() -> int:
    """FLOPs of a row after the weighted sum, from the log of the executed layer."""
    ran = execute("absorbed", n_rows=1, context=5)
    done = {step.name: step.flops for step in ran.steps}
    return ran.flops - done["mixed latents"]


def product_of_five() -> int:
    """The same as it is printed."""
    return 2 * TINY.n_heads * TINY.d_head**3 * TINY.d_latent


def again_over_once() -> float:
    """FLOPs of a vanilla decode step of attention over those of an absorbed one."""
    pairs = MEAN_CONTEXT + 1
    linear = 2 * attention_bytes()
    made = float(f.EXPAND_FLOPS.at(shape(), context=MEAN_CONTEXT, batch=1))
    vanilla = linear + made + pairs * float(shape()["vanilla_pair_flops"])
    return vanilla / (linear + pairs * float(workload(V3)["attn_flops_per_pair"]))


def prefill_ratio() -> float:
    """FLOPs of attention's pairs in a prompt, absorbed over vanilla."""
    absorbed = float(workload(V3)["attn_flops_per_pair"])
    return float(absorbed / shape()["vanilla_pair_flops"])


def growth() -> float:
    """FLOPs of a prompt of twice the length over those of one."""
    one, two = (
        2 * V3.params_active * s + float(shape()["vanilla_pair_flops"]) * s**2 / 2
        for s in (PROMPT, 2 * PROMPT)
    )
    return two / one


def _sum_of_values(id: str, section: str, form: str, printed: str) -> Claim:
    return number(
        id,
        section,
        f"FLOPs of the weighted sum per pair, head and element, {form}: {printed}",
        "1",
        "dimensionless",
        lambda: per_value(form),
        WRONG,
        "A product and a sum are two, as in the scores printed beside it.",
    )


CLAIMS = (
    _sum_of_values("004-42", "§3.2.2 (16)(17)", "vanilla", "B·S²·n_h·d_h"),
    _sum_of_values("004-43", "§3.2.3 (32)(36)", "absorbed", "B·S·n_h·d_c"),
    statement(
        "004-44",
        "§3.2.3 (38)",
        "FLOPs of the output projection, absorbed, in decode",
        "2·B·(n_h·d_h·d_h·d_h·d_h·d_c)",
        lambda: product_of_five() == output_flops(),
        lambda: (
            f"{product_of_five():,} printed, {output_flops():,} counted on a tiny layer"
        ),
        WRONG,
        "A sum of two products was run together; its prefill form is right.",
    ),
    statement(
        "004-45",
        "§3.2.2 (15)",
        "FLOPs of the scores of a prompt are those of the whole square",
        "2·B·S²·n_h·(d_h + d_r)",
        lambda: (
            run("vanilla", n_rows=7, context=0).attn_flops
            == 7 * 7 * 2 * TINY.n_heads * (KEY + TINY.d_v)
        ),
        lambda: "so many are executed, with the weighted sum",
        EXACT,
        "Half of them are masked away; a kernel that skips them needs half.",
    ),
    statement(
        "004-46",
        "§3.2.1",
        "Absorbing removes the sequence length from the projections",
        "eliminates",
        lambda: (
            run("absorbed", n_rows=1, context=5).linear_flops
            == run("absorbed", n_rows=1, context=50).linear_flops
        ),
        lambda: "the same count at two contexts",
        EXACT,
        "Counted on the executed layer.",
    ),
    statement(
        "004-47",
        "§3.2",
        "Vanilla decode makes keys and values of the whole cache, which is costly",
        "significant overhead",
        lambda: again_over_once() >= 2,
        lambda: f"{plain(again_over_once())} times the FLOPs at {MEAN_CONTEXT} tokens",
        ROUNDED,
        "The latents of all cached tokens go through the matrix again.",
        limit="at least twice the FLOPs",
    ),
    size(
        "004-48",
        "§3.2.3",
        "FLOPs of a prompt's pairs, in the absorbed form",
        Size(
            "Prefilling, (29)–(32)",
            lambda: float(workload(V3)["attn_flops_per_pair"]),
            lambda: float(shape()["vanilla_pair_flops"]),
            unit="FLOP/pair",
            label="vanilla, (15)–(17):",
            where="§3.2.2",
        ),
        MIXED,
        lambda: (
            "The source prices a prompt twice. Both forms compute the same, but a "
            f"prompt has nothing to save and pays {plain(prefill_ratio())} times as "
            "much for each pair absorbed."
        ),
    ),
    statement(
        "004-49",
        "§3.2.4",
        "FLOPs of a row in one expert",
        "3·2·B·d·d_moe",
        lambda: 2 * expert_bytes() == 3 * 2 * V3.d_model * PLACE.experts.d_ff,
        lambda: f"{plain(2 * expert_bytes() / 1e6)} MFLOP",
        EXACT,
        "Three matrices, a multiplication and an addition each.",
    ),
    size(
        "004-83",
        "Fig. 16",
        "Prefill grows quadratically with the prompt",
        Size(
            "quadratically",
            lambda: 4.0,
            growth,
            label=f"FLOPs for twice {PROMPT} tokens:",
        ),
        WRONG,
        lambda: (
            "The quadratic part takes over at "
            f"{plain(float(f.QUADRATIC_PROMPT.at(shape())))} tokens."
        ),
    ),
)
