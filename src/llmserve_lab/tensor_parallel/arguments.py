"""What the chapter asks about a model, and the models, machines and links it offers."""

from __future__ import annotations

from llmserve_lab import running_example, validation
from llmserve_lab.catalog import (
    ACCELERATORS,
    MODELS,
    PRECISIONS,
    Accelerator,
    Cited,
    Given,
    ModelShape,
    link,
    machine,
    workload,
)
from llmserve_lab.cluster import calibration
from llmserve_lab.cluster.formulas import (
    ALL_REDUCE_S,
    FASTEST_S,
    IN_SWITCH_S,
    ONE_SHOT_S,
)
from llmserve_lab.notation import bytes_act, quantity

BYTES_ACT = PRECISIONS["bf16"].bytes_in(bytes_act.unit)  # rows travel as weights do
UTILISATION = 0.9  # of the memory: what an engine takes for weights and cache
LINK = "nvlink4"


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


def fitted() -> dict[str, Given]:
    """What served iterations take beside the work, and what they reach of a link."""
    reached = validation.achieved()
    per_layer = quantity("layer_s").unit
    layer, request = reached.cited("layer_s"), reached.cited("request_s")
    return {
        "overlap": reached.cited("overlap"),
        "layer_s": Cited(float(layer), per_layer, "estimate", layer.source),
        "request_s": Cited(float(request), "s/request", "estimate", request.source),
        "link_bw": link(LINK).bandwidth,
        "eff_link": reached.cited("link"),
    }


def on(device: Accelerator) -> dict[str, Given]:
    """A GPU at the shares that servers reach, with the memory that an engine takes."""
    usable = device.usable_bytes
    room = Cited(
        UTILISATION * float(usable),
        "byte",
        usable.kind,
        usable.source,
        "nine tenths of what a program can allocate",
    )
    chip = machine(device, efficiency=running_example.share())
    return {**chip, "hbm_bytes": room}


def served(
    model: ModelShape, device: Accelerator, *, launches: float = 1.0
) -> dict[str, Given]:
    """Every argument of ``tp_s`` but the load and the ranks.

    ``launches`` is how often a layer's own time is paid: four times with a prompt.
    """
    return {**sizes_of(model), **on(device), **fitted(), "launches": launches}


def all_reduce_times(n_ranks: float, tensor_bytes: float) -> dict[str, float]:
    """Seconds of one all-reduce, by every way, and the fastest, by code name."""
    size = {"n_ranks": n_ranks, "tensor_bytes": tensor_bytes}
    times = {
        "all_reduce_s": ALL_REDUCE_S.at(calibration.ring().known(), size),
        "one_shot_s": ONE_SHOT_S.at(calibration.one_shot().known(), size),
        "in_switch_s": IN_SWITCH_S.at(calibration.in_switch().known(), size),
    }
    found = {name: float(seconds) for name, seconds in times.items()}
    return found | {"fastest_s": float(FASTEST_S(**found))}


MODEL_KEYS = ("llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b")
MACHINE_KEYS = ("h100-sxm", "h200-sxm")
CHOSEN_MODELS = tuple(MODELS[key] for key in MODEL_KEYS)
CHOSEN_MACHINES = tuple(ACCELERATORS[key] for key in MACHINE_KEYS)
MODEL, DEVICE = MODELS["llama-3.1-70b"], ACCELERATORS["h100-sxm"]
DEFAULT: dict[str, Given] = served(MODEL, DEVICE)
