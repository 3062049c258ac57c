"""What a reader can turn: a GPU and how many, a model, requests of what length."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from math import inf

from llmserve_lab.catalog import MODELS, Accelerator
from llmserve_lab.catalog.selection import stacks_known, where
from llmserve_lab.checks import key_of
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.group_size import served_bytes
from llmserve_lab.deepseek.model.assumptions import Assumptions
from llmserve_lab.deepseek.model.setup import Setup
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.notation import quantity
from llmserve_lab.page.live.controls import Choice, Slider
from llmserve_lab.page.live.readout import Bound


def known(device: Accelerator) -> bool:
    """Whether kernels are known for it, and it computes GEMMs in what is assumed."""
    assumed = book_assumptions()
    return (
        device.disclosed
        and device.architecture in assumed.kernels
        and assumed.gemm in device.peak_flops
    )


DEVICES = where(known, stacks_known)  # servers and racks
SHAPES = (MODELS["deepseek-v3"], MODELS["kimi-k2"])


def contexts(stops: Iterable[float]) -> tuple[float, ...]:
    """The stops that every model here can read."""
    longest = min(shape.max_context or inf for shape in SHAPES)
    return tuple(stop for stop in stops if stop <= longest)


GROUPS = (8, 16, 32, 72, 144)  # each divides 256 + 32 experts
# The calibrated one, to three digits, so that figures and text agree.
BALANCED = round(book_assumptions().balancedness, 3)
STOPS = {
    "ep": tuple(map(float, GROUPS)),
    "gpu_requests": (1.0, *(2.0**i for i in range(3, 12))),
    "context": contexts(float(1000 * 2**i) for i in range(9)),
    "balancedness": (0.3, 0.4, 0.5, 0.6, 0.7, BALANCED, 0.9, 1.0),
}
RATES = (
    "read_rate",
    "cache_rate",
    "attn_rate",
    "gemm_rate",
    "far_rate",
    "near_rate",
    "launch_s",
    "node_gpus",
)
ROW_TRAFFIC = (
    "attn_gemm_row_bytes",
    "attn_row_bytes",
    "attn_launches",
    "moe_gemm_row_bytes",
    "moe_gemm_copy_bytes",
    "moe_row_bytes",
    "moe_copy_bytes",
    "moe_launches",
)
SIZES = (
    "kv_bytes_per_token",
    "attn_flops_per_pair",
    "mla_params",
    "expert_stack",
    "other_params",
    "table_params",
    "n_experts",
    "copy_bytes",
    "transfer_starts_s",
    *ROW_TRAFFIC,
)
FIXED = (
    "bytes_weight",
    "top_k",
    "n_shared",
    "dispatched_copies",
    "dispatch_share",
    "overlap_slowdown",
    "host_s",
)


@cache
def assumed() -> Assumptions:
    """The book's assumptions; the reader's balancedness is on a slider."""
    return replace(book_assumptions(), balancedness=1.0)


def twin(device: Accelerator, n_gpus: int, shape: int = 0) -> Twin:
    """The twin of so many GPUs that hold one of the models."""
    key_of("shape", shape, range(len(SHAPES)))
    place = Setup(accelerator=device, n_gpus=n_gpus, model=SHAPES[shape])
    return Twin(setup=place, assumptions=assumed())


def fixed() -> dict[str, float]:
    """What is the same for every place and both models."""
    known = {name: _size(name) for name in FIXED}
    return known | {"n_redundant": float(assumed().n_redundant)}


def _size(name: str, shape: int = 0) -> float:
    """A number of one of the models."""
    one = twin(DEVICES[0], GROUPS[-1], shape)
    return float(one.arguments(batch=1, context=1)[name])


def device_choice(*rates: str) -> Choice:
    """A choice of accelerator, which sets the rates that its kernels reach.

    Without names of ``rates`` it sets those that a step asks for.
    """
    twins = [twin(device, GROUPS[-1]) for device in DEVICES]
    sets = {
        name: tuple(float(_machine(one)[name]) for one in twins)
        for name in rates or RATES
    }
    names = tuple(device.name for device in DEVICES)
    return Choice("device", "GPU", names, "H100 SXM", sets)


def _machine(one: Twin) -> dict[str, float]:
    """Rates, GPUs of a node, and the memory that may be used."""
    device = one.setup.accelerator
    more = {"node_gpus": device.num_devices, "hbm_bytes": served_bytes(one)}
    return one.machine | more


def sizes() -> dict[str, str | float]:
    """What a step asks about DeepSeek-V3, where no other model is offered."""
    return {name: _size(name) for name in SIZES}


def group(**more: str | float) -> dict[str, Bound]:
    """What follows from how many GPUs there are; ``more`` as a Bound takes it."""
    extra = fixed()["n_redundant"]
    return {
        "local_experts": Bound(f.LOCAL_EXPERTS, n_redundant=extra, **more),
        "n_nodes": Bound(f.NODES),
        "far_share": Bound(f.FAR_SHARE, n_nodes="n_nodes"),
    }


def sliders(**defaults: float) -> tuple[Slider, ...]:
    """One slider for each quantity, at its default."""
    return tuple(
        Slider(quantity(n), STOPS[n], d, LABELS.get(n, "")) for n, d in defaults.items()
    )


LABELS = {
    "gpu_requests": "Requests on one GPU",
    "context": "Tokens in each cache when the step starts",
    "ep": "Ranks in the group (GPUs)",
    "balancedness": "Balancedness: mean over largest load",
}
