"""Article 07, sections 1 to 3: what is stored, and what a token touches."""

from __future__ import annotations

import math
from collections.abc import Callable

from llmserve_lab.claims.article_07.setting import SPEC
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.moe.models import DEEPSEEK, LLAMA, QWEN, per_layer

TENSORS = "Added up tensor by tensor; it rounds to the digits printed."
ALL_LAYERS = "Times the layers; it rounds to the digits printed."


def _rounds(
    id: str,
    section: str,
    says: str,
    printed: str,
    value: Callable[[], float],
    why: str = TENSORS,
    unit: str = "parameter",
) -> Claim:
    """A number that rounds to what is printed."""
    return Claim(
        id=id,
        section=section,
        says=says,
        parts=(Number(printed, unit, value),),
        verdict=Ruling.WITHIN_ROUNDING,
        why=why,
    )


def experts_share() -> float:
    """Experts that run over experts that there are, in per cent."""
    runs, every = SPEC.top_k + SPEC.n_shared, SPEC.n_experts + SPEC.n_shared
    return 100 * runs / every


CLAIMS = (
    _rounds(
        "07-01",
        "§1",
        "Parameters of one FFN of Llama-2-7B",
        "~135 M",
        lambda: per_layer(LLAMA)[0],
    ),
    _rounds(
        "07-02",
        "§1",
        "Parameters of all its FFNs",
        "~4.3 G",
        lambda: LLAMA.n_layers * per_layer(LLAMA)[0],
        ALL_LAYERS,
    ),
    _rounds(
        "07-04",
        "§3",
        "Qwen2.5-72B: width inside the FFN over width of a row",
        "3.6×",
        lambda: QWEN.ffn.d_ff / QWEN.d_model,
        "It rounds to the digits printed.",
        "dimensionless",
    ),
    _rounds(
        "07-05",
        "§3",
        "DeepSeek-V3: width inside an expert over width of a row",
        "0.29×",
        lambda: SPEC.d_ff / DEEPSEEK.d_model,
        "It rounds to the digits printed.",
        "dimensionless",
    ),
    _rounds(
        "07-06",
        "§3",
        "Parameters of one FFN of Qwen2.5-72B",
        "~727 M",
        lambda: per_layer(QWEN)[0],
    ),
    _rounds(
        "07-07",
        "§3",
        "Parameters stored in one MoE layer of DeepSeek-V3",
        "~11.3 G",
        lambda: per_layer(DEEPSEEK)[0],
        "Routed and shared experts and the router; it rounds to the digits printed.",
    ),
    _rounds(
        "07-08",
        "§3",
        "Parameters of that layer that a token touches",
        "~400 M",
        lambda: per_layer(DEEPSEEK)[1],
    ),
    _rounds(
        "07-09",
        "§3",
        "Ways to choose the experts of a token in one layer",
        "~4 × 10¹⁴",
        lambda: float(math.comb(SPEC.n_experts, SPEC.top_k)),
        "It is the binomial coefficient, rounded to one digit.",
        "dimensionless",
    ),
    _rounds(
        "07-10",
        "§3",
        "DeepSeek-V3 stores so many times the parameters of Qwen2.5-72B",
        "9×",
        lambda: DEEPSEEK.params_total / QWEN.params_total,
        unit="dimensionless",
    ),
    _rounds(
        "07-11",
        "§3",
        "A token touches so much of what it touches in Qwen2.5-72B",
        "0.5",
        lambda: DEEPSEEK.params_active / QWEN.params_active,
        "Printed as half; it rounds to that.",
        "dimensionless",
    ),
    _rounds(
        "07-12",
        "§3",
        "Per cent of a layer's experts that a token touches",
        "≈ 3.5",
        experts_share,
        "It rounds to the digits printed, with the router too.",
        "dimensionless",
    ),
    _rounds(
        "07-13",
        "§3",
        "Active parameters of all layers, attention included",
        "37 G",
        lambda: float(DEEPSEEK.params_active),
        "With the LM head and without the embedding, of which a row is read.",
    ),
    _rounds(
        "07-15",
        "§3",
        "Parameters of DeepSeek-V3, all of them",
        "671 G",
        lambda: float(DEEPSEEK.params_total),
        "Without the multi-token-prediction head; it rounds to the digits printed.",
    ),
)
