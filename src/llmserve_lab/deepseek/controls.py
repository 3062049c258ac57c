"""What a reader can turn: a setup, a model, and how many requests of what length."""

from __future__ import annotations

from dataclasses import replace

from llmserve_lab.book.controls import Choice, Control, Lookup, Slider
from llmserve_lab.book.notation import quantity
from llmserve_lab.catalog import MODELS
from llmserve_lab.deepseek.choices import Choices
from llmserve_lab.deepseek.setup import SETUPS, Setup, setup
from llmserve_lab.deepseek.twin import Twin

CHOICES = Choices()
MORE = {
    "8 × 8 H200": setup("h200-sxm", 64),
    "8 × 8 B200": setup("b200-sxm", 64),
    "8 × 8 MI300X": setup("mi300x", 64),
}
OFFERED = {**SETUPS, **MORE}
PLACES = tuple(OFFERED.values())
SHAPES = (MODELS["deepseek-v3"], MODELS["kimi-k2"])
STOPS = {
    "gpu_requests": tuple(2.0**i for i in range(12)),
    "context": tuple(float(1024 * 2**i) for i in range(9)),
    "balancedness": tuple(round(0.1 * i, 1) for i in range(3, 11)),
}
RATES = (
    "read_rate",
    "attn_rate",
    "gemm_rate",
    "far_rate",
    "near_rate",
    "n_nodes",
    "ep",
)
SIZES = (
    "kv_bytes_per_token",
    "attn_flops_per_pair",
    "mla_params",
    "expert_stack",
    "rest_params",
    "n_experts",
    "copy_bytes",
)
FIXED = ("bytes_weight", "top_k", "n_shared", "sent_copies")


def twin(place: Setup, shape: int = 0) -> Twin:
    """The twin of a place that holds one of the models."""
    return Twin(setup=replace(place, model=SHAPES[shape]), choices=CHOICES)


def fixed() -> dict[str, float]:
    """What is the same for every place and both models."""
    return {name: _size(name) for name in FIXED}


def _size(name: str, shape: int = 0) -> float:
    """A number of one of the models."""
    one = twin(PLACES[0], shape)
    return float((one.shape | one.traffic)[name])


def place_choice() -> Choice:
    """A choice of setup, which sets the rates that are reached."""
    sets = {
        name: tuple(float(twin(each).machine[name]) for each in PLACES)
        for name in RATES
    }
    sets |= {"hbm_bytes": tuple(twin(each).room_bytes() for each in PLACES)}
    return Choice("place", "Setup", tuple(OFFERED), "9 × 8 H100", sets)


def model_choice() -> tuple[Control, ...]:
    """A choice of model, and what depends on the setup as well."""
    shapes = range(len(SHAPES))
    sets = {name: tuple(_size(name, each) for each in shapes) for name in SIZES}
    names = tuple(each.name for each in SHAPES)
    experts = tuple(
        tuple(float(twin(place, each).traffic["local_experts"]) for each in shapes)
        for place in PLACES
    )
    held = tuple(
        tuple(twin(place, each).resident_bytes() for each in shapes) for place in PLACES
    )
    return (
        Choice("model", "Model", names, names[0], sets),
        Lookup("local_experts", ("place", "model"), experts),
        Lookup("resident_bytes", ("place", "model"), held),
    )


def sliders(**defaults: float) -> tuple[Slider, ...]:
    """One slider for each quantity, at its default."""
    return tuple(Slider(quantity(n), STOPS[n], d) for n, d in defaults.items())
