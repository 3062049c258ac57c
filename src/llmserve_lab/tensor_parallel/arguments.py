"""What the chapter asks about a model, and the models, machines and links it offers."""

from __future__ import annotations

from functools import cache

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
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.catalog.evidence.serving import BLOCK_COUNTS
from llmserve_lab.catalog.selection import in_servers, stacks_known
from llmserve_lab.collectives import calibration
from llmserve_lab.collectives.formulas import (
    ALL_REDUCE_S,
    FASTEST_S,
    IN_SWITCH_S,
    ONE_SHOT_S,
    TWO_SHOT_S,
)
from llmserve_lab.notation import bytes_act, quantity
from llmserve_lab.validation.cache_blocks import reserve, working_space

BYTES_ACT = PRECISIONS["bf16"].bytes_in(bytes_act.unit)  # rows travel as weights do
UTILISATION = float(MEMORY_SHARE)  # what the servers counted took
BLOCK_TOKENS = 16
COUNTED = ("llama-3-70b", 4, 8192)  # model, GPUs, token budget of a counted server
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
    return {
        **reached.beside_the_work(),
        "link_bw": link(LINK).bandwidth,
        "eff_link": reached.cited("link"),
    }


@cache
def reserve_bytes() -> Cited:
    """Memory of a GPU that is neither weights nor cache, with few requests at a time.

    Activations, recorded graphs, buffers: the mean of nine servers, as on all pages.
    """
    source = "mean over nine published counts of KV-cache blocks"
    return Cited(working_space(), "byte", "estimate", source)


@cache
def counted_reserve_bytes() -> Cited:
    """The same of one of the nine: Llama-3-70B on four H100s.

    What its blocks of cache and its weights leave of the share that the engine takes.
    """
    (count,) = (
        each
        for each in BLOCK_COUNTS
        if (each.model.key, each.tp, each.budget) == COUNTED
    )
    return Cited(reserve(count), "byte", "estimate", count.blocks.source)


def on(device: Accelerator) -> dict[str, Given]:
    """A GPU at the shares that servers reach, with the memory for weights and cache."""
    usable = device.usable_bytes
    room = Cited(
        UTILISATION * float(usable) - float(reserve_bytes()),
        "byte",
        "estimate",
        f"{usable.source}; {reserve_bytes().source}",
        "nine tenths of what a program can allocate, less working space",
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
    """Seconds of one all-reduce, by every way, and the fastest of three, by code name.

    Two shots were measured on four GPUs only, and are not among the three.
    """
    size = {"n_ranks": n_ranks, "tensor_bytes": tensor_bytes}
    times = {
        "all_reduce_s": ALL_REDUCE_S.at(calibration.nccl().known(), size),
        "one_shot_s": ONE_SHOT_S.at(calibration.one_shot().known(), size),
        "in_switch_s": IN_SWITCH_S.at(calibration.in_switch().known(), size),
    }
    found = {name: float(seconds) for name, seconds in times.items()}
    two_shot = TWO_SHOT_S.at(calibration.two_shot().known(), size)
    fastest = float(FASTEST_S(**found))
    return found | {"two_shot_s": float(two_shot), "fastest_s": fastest}


MODEL_KEYS = ("llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b")
CHOSEN_MODELS = tuple(MODELS[key] for key in MODEL_KEYS)
MODEL, DEVICE = MODELS["llama-3.1-70b"], ACCELERATORS["h100-sxm"]
# The collectives were measured over this link, so only what it joins can be chosen.
CHOSEN_MACHINES = in_servers(
    "bf16", stacks_known, lambda each: each.scale_up == DEVICE.scale_up
)
DEFAULT: dict[str, Given] = served(MODEL, DEVICE)
