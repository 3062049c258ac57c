"""From a catalog record to the arguments of a formula: a model, a machine, a link."""

from __future__ import annotations

from collections.abc import Mapping

from llmserve_lab.book.formula import Formula
from llmserve_lab.catalog import (
    ACCELERATORS,
    LINKS,
    MODELS,
    PRECISIONS,
    Accelerator,
    Link,
    ModelShape,
)
from llmserve_lab.tensor_parallel.shards import attention_of

FORMAT = PRECISIONS["bf16"]  # of weights, cache and rows alike
BYTES = float(FORMAT.bytes_weight)


def workload(model: ModelShape) -> dict[str, float]:
    """What the chapter's formulas ask about a model in 16 bits.

    Raises:
        TypeError: the model has latent attention, whose cache is not cut by heads.
    """
    heads = attention_of(model)
    return {
        "params_total": model.params_total,
        "params_active": model.params_active,
        "kv_bytes_per_token": model.kv_bytes_per_token(BYTES),
        "attn_flops_per_pair": model.attn_flops_per_pair(),
        "n_layers": model.n_layers,
        "d_model": model.d_model,
        "d_ff": model.ffn.d_ff,
        "n_heads": heads.n_heads,
        "n_kv_heads": heads.n_kv_heads,
        "d_head": heads.d_head,
        "bytes_weight": BYTES,
        "bytes_act": BYTES,
    }


def machine(accelerator: Accelerator) -> dict[str, float]:
    """Peaks of an accelerator in 16 bits, the datasheet taken at its word."""
    return {
        "peak_flops": float(accelerator.peak(FORMAT.key)),
        "hbm_bw": float(accelerator.hbm_bw),
        "eff_compute": 1.0,
        "eff_mem": 1.0,
    }


def wire(link: Link) -> dict[str, float]:
    """Bandwidth one way and latency of a link, the datasheet taken at its word.

    Raises:
        ValueError: nobody has published a latency for it.
    """
    if link.latency is None:
        raise ValueError(f"link must have a latency in the catalog, got {link.name}")
    return {
        "link_bw": float(link.bandwidth),
        "link_latency": float(link.latency),
        "eff_link": 1.0,
    }


def given(
    formula: Formula, known: Mapping[str, float], **more: float
) -> dict[str, float]:
    """Pick what ``formula`` asks for out of ``known``, with ``more`` added or changed.

    Raises:
        KeyError: neither of them gives an argument of the formula.
    """
    merged = {**known, **more}
    return {leaf.name: merged[leaf.name] for leaf in formula.arguments}


MODEL_KEYS = ("llama-2-7b", "llama-3-8b", "llama-3-70b", "llama-3.1-405b")
MACHINE_KEYS = ("a100-80-sxm", "h100-sxm", "h200-sxm")
LINK_KEYS = ("nvlink4", "nvlink4-h800", "infiniband-ndr")
CHOSEN_MODELS = tuple(MODELS[key] for key in MODEL_KEYS)
CHOSEN_MACHINES = tuple(ACCELERATORS[key] for key in MACHINE_KEYS)
CHOSEN_LINKS = tuple(LINKS[key] for key in LINK_KEYS)
DEFAULT = (
    workload(MODELS["llama-3-70b"])
    | machine(ACCELERATORS["h100-sxm"])
    | wire(LINKS["nvlink4"])
)
