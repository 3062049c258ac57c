"""What a reader can choose here: a model, a GPU, a link, and what has to be kept."""

from __future__ import annotations

from collections.abc import Mapping

from llmserve_lab.catalog import LINKS, MODELS, Given, machine, workload
from llmserve_lab.catalog.selection import in_servers
from llmserve_lab.notation import quantity
from llmserve_lab.page.live.controls import Choice, Slider

ON_ONE_GPU = tuple(MODELS[key] for key in ("llama-3-8b", "llama-2-7b", "qwen3-32b"))
GPUS = in_servers("fp8")
BY_BANDWIDTH = tuple(sorted(LINKS.values(), key=lambda link: -float(link.bandwidth)))
Stops = Mapping[str, tuple[float, ...]]
STOPS: dict[str, tuple[float, ...]] = {
    "prompt_len": tuple(2.0**i for i in range(7, 18)),
    "arrival_rate": (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0),
    "new_tokens": (50.0, 100.0, 200.0, 400.0, 800.0, 1600.0),
    "tbt_target": (0.025, 0.03, 0.04, 0.05, 0.075, 0.1),  # longer than any weights take
    "overlap": (0.0, 0.25, 0.5, 0.75, 1.0),
    "overhead_s": (0.0, 0.001, 0.002),
    "link_bw": (2e9, 5e9, 12.5e9, 25e9, 50e9, 100e9, 450e9),
}
IN_TIME: Stops = STOPS | {  # every GPU reads the cache of such a prompt in any target
    "prompt_len": tuple(size for size in STOPS["prompt_len"] if size <= 32_768)
}


def sliders(stops: Stops = STOPS, **defaults: float) -> tuple[Slider, ...]:
    """Sliders for quantities of the chapter, in the order in which they are named."""
    return tuple(
        Slider(quantity(name), stops[name], value) for name, value in defaults.items()
    )


def hardware(
    model: str = "Llama-3-8B", *, layers: bool = False
) -> tuple[Choice, Choice]:
    """Choices of a model, in BF16, and of the GPU that holds it."""
    models: dict[str, dict[str, Given]] = {
        each.name: workload(each)
        | ({"n_layers": float(each.n_layers)} if layers else {})
        for each in ON_ONE_GPU
    }
    return (
        choice("model", "Model", models, model),
        choice("accelerator", "GPU", {each.name: machine(each) for each in GPUS}),
    )


def link_choice(default: str = "InfiniBand NDR") -> Choice:
    """A choice of link, taken at its datasheet's word, one way."""
    links = {each.name: {"link_bw": each.bandwidth} for each in BY_BANDWIDTH}
    return choice("link", "Link", links, default)


def choice(
    name: str,
    label: str,
    options: Mapping[str, Mapping[str, Given]],
    default: str | None = None,
) -> Choice:
    """A choice whose options each give a number to the same signals."""
    signals = next(iter(options.values()))
    columns = {
        signal: tuple(each[signal] for each in options.values()) for signal in signals
    }
    return Choice(name, label, tuple(options), default or next(iter(options)), columns)
