"""Sections 1 and 2: the model's shape, its cache, and where its parameters are."""

from __future__ import annotations

from llmserve_lab.catalog import MODELS
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.deepseek.setting import (
    EXACT,
    KIMI,
    MIXED,
    PLACE,
    ROUNDED,
    V3,
    WRONG,
    all_expert_bytes,
    attention_bytes,
    moe_layers,
    number,
    statement,
)
from llmserve_lab.claims.parts import Number
from llmserve_lab.formula.text import plain

QWEN, LLAMA, DENSE = (
    MODELS[key] for key in ("qwen3-32b", "llama-3.1-405b", "llama-3-70b")
)
PRINTED_QWEN = 163e3  # bytes, as the paper has it
CONFIG = "So the configuration has it."


def cache(key: str) -> float:
    """Bytes that a token leaves in a 16-bit cache."""
    return MODELS[key].kv_bytes_per_token()


def smaller() -> tuple[float, float]:
    """How many times smaller the cache of DeepSeek-V3 is than those it names."""
    own = cache("deepseek-v3")
    return QWEN.kv_bytes_per_token() / own, LLAMA.kv_bytes_per_token() / own


def all_but_attention() -> float:
    """All parameters but those of attention, both rounded first."""
    return round(V3.params_total, -9) - round(attention_bytes(), -10)


def experts_and_dense() -> float:
    """Parameters of all experts and of the FFNs of the dense layers."""
    return all_expert_bytes() + float(PLACE.params("dense."))


KAPPA = V3.kv_bytes_per_token()
CLAIMS = (
    number(
        "004-12",
        "§3.1.1",
        "KV bytes per token of DeepSeek-V3",
        "70 KB/token",
        "byte/token",
        lambda: cache("deepseek-v3"),
    ),
    number(
        "004-13",
        "§1",
        "KV bytes per token of Qwen3-32B",
        "163 KB/token",
        "byte/token",
        lambda: cache("qwen3-32b"),
        WRONG,
        lambda: (
            f"That would be {plain(PRINTED_QWEN * QWEN.n_layers / cache('qwen3-32b'))} "
            f"of its layers; it has {QWEN.n_layers}."
        ),
    ),
    number(
        "004-14",
        "§1",
        "KV bytes per token of Llama-3.1-405B",
        "516 KB/token",
        "byte/token",
        lambda: cache("llama-3.1-405b"),
    ),
    number(
        "004-15",
        "§1",
        "How many times smaller that cache is than those of the two others",
        "2-7×",
        "dimensionless",
        smaller,
        MIXED,
        "The lower end comes from the wrong cache of Qwen3-32B.",
        Its_own_cache_of_Qwen3_32B=lambda: (PRINTED_QWEN / KAPPA, smaller()[1]),
    ),
    number(
        "004-16",
        "§1",
        "Width inside the FFN of Llama-3.3-70B over its hidden size",
        "3.5×",
        "dimensionless",
        lambda: DENSE.ffn.d_ff / DENSE.d_model,
        EXACT,
        "The shape is that of Llama-3-70B.",
    ),
    number(
        "004-17",
        "§1",
        "Parameters that a token is multiplied with",
        "37 G",
        "parameter",
        lambda: float(V3.params_active),
        ROUNDED,
        "Without the embedding table, of which a token reads one row.",
    ),
    Claim(
        "004-18",
        "§1",
        "Layers, dense layers, and layers with experts",
        (
            Number("61", "dimensionless", lambda: float(V3.n_layers)),
            Number("3", "dimensionless", lambda: V3.n_layers - float(moe_layers())),
            Number("58", "dimensionless", lambda: float(moe_layers())),
        ),
        EXACT,
        CONFIG,
    ),
    number(
        "004-19",
        "§1",
        "Experts of a layer, shared and routed",
        "257",
        "dimensionless",
        lambda: float(PLACE.experts.n_experts + PLACE.experts.n_shared),
        EXACT,
        CONFIG,
    ),
    number(
        "004-20",
        "Fig. 5",
        "Shared experts of a layer",
        "3",
        "dimensionless",
        lambda: float(PLACE.experts.n_shared),
        MIXED,
        "The text beside the figure has the right number.",
        elsewhere="1",
    ),
    number(
        "004-21",
        "Fig. 4",
        "Experts per token in the printed configuration",
        "128",
        "dimensionless",
        lambda: float(PLACE.experts.top_k),
        WRONG,
        "The key is printed twice; in the public file the second is the number of KV "
        "heads.",
    ),
    number(
        "004-22",
        "§2.1",
        "Parameters of the expert layers",
        "661 G",
        "parameter",
        all_expert_bytes,
        MIXED,
        "It is all that is not attention, embeddings and dense layers included.",
        All_but_attention=all_but_attention,
    ),
    number(
        "004-23",
        "§2.1",
        "Percent of all parameters in the expert layers",
        "98.5",
        "dimensionless",
        lambda: 100 * all_expert_bytes() / V3.params_total,
        MIXED,
        "The same number as above over the total.",
        All_but_attention=lambda: 100 * all_but_attention() / V3.params_total,
    ),
    number(
        "004-24",
        "§3",
        "Per cent of the parameters that are experts'",
        "> 98",
        "dimensionless",
        lambda: 100 * all_expert_bytes() / V3.params_total,
        MIXED,
        "It takes the dense layers as well to get there.",
        With_the_dense_layers=lambda: 100 * experts_and_dense() / V3.params_total,
    ),
    statement(
        "004-79",
        "§4",
        "Kimi K2 has more than 1 T parameters",
        "> 1 T",
        lambda: KIMI.params_total > 1e12,
        lambda: f"{plain(KIMI.params_total / 1e12)} T",
        EXACT,
        CONFIG,
    ),
)
