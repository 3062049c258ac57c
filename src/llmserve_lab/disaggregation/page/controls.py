"""What a reader can choose here: a model, a GPU, a link, and what has to be kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab.catalog import LINKS, MODELS, Accelerator, Link, machine, workload
from llmserve_lab.catalog.selection import in_servers
from llmserve_lab.disaggregation.served import constants, weights
from llmserve_lab.notation import quantity
from llmserve_lab.page.live.controls import Choice, Lookup, Slider
from llmserve_lab.running_example import share

ON_ONE_GPU = tuple(MODELS[key] for key in ("llama-3.1-8b", "llama-2-7b", "qwen3-32b"))
GPUS = in_servers("fp8")
CHOSEN = ("nvlink5", "nvlink4", "nvlink3", "pcie-gen5", "pcie-gen4")
ACROSS = ("infiniband-ndr", "infiniband-hdr")  # from node to node
BY_BANDWIDTH = tuple(
    sorted((LINKS[k] for k in CHOSEN + ACROSS), key=lambda link: -float(link.bandwidth))
)
Stops = Mapping[str, tuple[float, ...]]
STOPS: dict[str, tuple[float, ...]] = {
    "prompt_len": (
        500.0,
        1000.0,
        2000.0,
        4000.0,
        8000.0,
        16_000.0,
        32_000.0,
        128_000.0,
    ),
    "new_tokens": (50.0, 100.0, 200.0, 400.0, 800.0),
    "tpot_target": (0.008, 0.01, 0.012, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05),
}
FITS_ALL = (500.0, 1000.0, 2000.0, 4000.0)  # in the context of every model here
LABELS = {
    "prompt_len": "Prompt",
    "new_tokens": "Answer (new tokens)",
    "tpot_target": "Promised TPOT",
}


def sliders(stops: Stops = STOPS, **defaults: float) -> tuple[Slider, ...]:
    """Sliders for quantities of the chapter, in the order in which they are named."""
    return tuple(
        Slider(quantity(name), stops[name], value, LABELS[name])
        for name, value in defaults.items()
    )


def hardware() -> tuple[Choice, Choice]:
    """Choices of a model, in BF16, and of the GPU that holds it, as reached."""
    models = {
        each.name: {
            **workload(each),
            **constants(each),
            **weights(each),
            "n_layers": float(each.n_layers),
        }
        for each in ON_ONE_GPU
    }
    devices = {each.name: _reached(each) for each in GPUS}
    return choice("model", "Model", models), choice("accelerator", "GPU", devices)


def _reached(gpu: Accelerator) -> Mapping[str, Any]:
    return machine(gpu, efficiency=share())


def link_choice(default: str = "InfiniBand NDR") -> tuple[Choice, Lookup, Lookup]:
    """A choice of link, one way, and the share of it that transfers reach.

    Only links of which one of the GPUs has a port, and only with a GPU that has it.
    """
    links = [each for each in BY_BANDWIDTH if any(_goes(each, g) for g in GPUS)]
    rows = tuple(
        tuple(link.bandwidth if _goes(link, gpu) else None for gpu in GPUS)
        for link in links
    )
    return (
        Choice("link", "Link", tuple(each.name for each in links), default),
        Lookup("link_bw", ("link", "accelerator"), rows),
        Lookup("eff_link", ("link",), (share().link,) * len(links)),
    )


def _goes(link: Link, gpu: Accelerator) -> bool:
    """Whether a GPU has a port for the link.

    A link between GPUs is that of its generation. A card that has PCIe alone takes an
    older generation, no newer one; a network stands beside any GPU.
    """
    own = LINKS[gpu.scale_up]
    if link.scope == "scale-up":
        return link == own
    if link.scope == own.scope == "host":
        return float(link.bandwidth) <= float(own.bandwidth)
    return True


def choice(
    name: str,
    label: str,
    options: Mapping[str, Mapping[str, Any]],
    default: str | None = None,
) -> Choice:
    """A choice whose options each give a number to the same signals."""
    signals = next(iter(options.values()))
    columns = {
        signal: tuple(each[signal] for each in options.values()) for signal in signals
    }
    return Choice(name, label, tuple(options), default or next(iter(options)), columns)
