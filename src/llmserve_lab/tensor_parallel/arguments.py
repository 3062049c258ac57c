"""What the chapter asks about a model, and the models, machines and links it offers."""

from __future__ import annotations

from llmserve_lab.catalog import (
    ACCELERATORS,
    LINKS,
    MODELS,
    PRECISIONS,
    Given,
    ModelShape,
    machine,
    wire,
    workload,
)
from llmserve_lab.notation import bytes_act, quantity

BYTES_ACT = PRECISIONS["bf16"].bytes_in(bytes_act.unit)  # rows travel as weights do


def sizes_of(model: ModelShape) -> dict[str, Given]:
    """What the chapter's formulas ask about a model in 16 bits.

    A latent serves all heads, so every rank has a copy, as of a single key–value head.
    """
    heads = model.attention
    shape = {
        "n_layers": model.n_layers,
        "d_model": model.d_model,
        "d_ff": model.ffn.d_ff,
        "n_heads": heads.n_heads,
        "n_kv_heads": getattr(heads, "n_kv_heads", 1),
        "d_head": heads.d_head,
    }
    cited = {n: model.cited(value, quantity(n).unit) for n, value in shape.items()}
    return {**workload(model), **cited, "bytes_act": BYTES_ACT}


MODEL_KEYS = ("llama-2-7b", "llama-3-8b", "llama-3-70b", "llama-3.1-405b")
MACHINE_KEYS = ("a100-80-sxm", "h100-sxm", "h200-sxm")
LINK_KEYS = ("nvlink4", "nvlink4-h800", "infiniband-ndr")
CHOSEN_MODELS = tuple(MODELS[key] for key in MODEL_KEYS)
CHOSEN_MACHINES = tuple(ACCELERATORS[key] for key in MACHINE_KEYS)
CHOSEN_LINKS = tuple(LINKS[key] for key in LINK_KEYS)
DEFAULT: dict[str, Given] = {
    **sizes_of(MODELS["llama-3-70b"]),
    **machine(ACCELERATORS["h100-sxm"]),
    **wire(LINKS["nvlink4"]),
}
