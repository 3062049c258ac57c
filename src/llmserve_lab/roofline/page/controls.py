"""What a reader can choose here: a model, a machine, and what goes through.

Every prompt and every context that can be set is below the maximum of every model that
can be chosen.
"""

from __future__ import annotations

from llmserve_lab.catalog import (
    MODELS,
    PRECISIONS,
    Accelerator,
    ModelShape,
    workload,
)
from llmserve_lab.catalog.selection import in_servers, stacks_known
from llmserve_lab.notation import quantity
from llmserve_lab.page.live.controls import Choice, Lookup, Slider
from llmserve_lab.roofline.machine import MEAN_CONTEXT, prompt_params
from llmserve_lab.running_example import MODEL, PROMPT

FORMATS = ("bf16", "fp8")
DEVICES = in_servers("bf16", stacks_known)
SERVED = tuple(MODELS[key] for key in (MODEL, "qwen3-32b", "llama-3.1-70b"))
STOPS = {
    "batch": tuple(2.0**i for i in range(10)),
    "chunk": (*(2.0**i for i in range(6, 10)), float(PROMPT), 2048.0, 4096.0, 8192.0),
    "context": (
        *(2.0**i for i in range(7, 11)),
        float(MEAN_CONTEXT),
        *(2.0**i for i in range(11, 16)),
    ),
}


def model_choice(
    models: tuple[ModelShape, ...] = SERVED,
) -> tuple[Choice | Lookup, ...]:
    """A choice of model; its κ and its weights depend on the precision, too.

    ``weight_bytes`` are those that an iteration reads, ``stored_bytes`` those held;
    ``prompt_params`` are multiplied with a row of a prompt.
    """
    works = [workload(model) for model in models]
    names = ("params_active", "attn_flops_per_pair")
    sizes = {name: tuple(work[name] for work in works) for name in names}
    options = tuple(model.name for model in models)
    choice = Choice("model", "Model", options, options[0], sizes)
    read = tuple(float(model.params_read) for model in models)
    stored = tuple(float(model.params_total) for model in models)
    prompts = tuple(float(prompt_params(model)) for model in models)
    return (
        choice,
        Lookup("prompt_params", ("model",), prompts, "parameter"),
        kv_lookup("kv_bytes_per_token", models, "model"),
        _weights("weight_bytes", read),
        _weights("stored_bytes", stored),
    )


def _weights(signal: str, params: tuple[float, ...]) -> Lookup:
    """Bytes of so many parameters of each model, by precision."""
    widths = [float(PRECISIONS[p].bytes_weight) for p in FORMATS]
    table = tuple(tuple(width * count for width in widths) for count in params)
    return Lookup(signal, ("model", "precision"), table, "byte")


def kv_lookup(signal: str, models: tuple[ModelShape, ...], *by: str) -> Lookup:
    """κ as a signal: by precision, and by the choice of model where there is one."""
    rows = tuple(
        tuple(workload(model, precision=p)["kv_bytes_per_token"] for p in FORMATS)
        for model in models
    )
    return Lookup(signal, (*by, "precision"), rows if by else rows[0])


def machine_choice(default: str = "H100 SXM") -> tuple[Choice, Choice, Lookup]:
    """A choice of accelerator, one of precision, and the peak that the two have."""
    memory = {
        "hbm_bw": tuple(a.hbm_bw for a in DEVICES),
        "hbm_bytes": tuple(a.usable_bytes for a in DEVICES),
    }
    widths = {"bytes_weight": tuple(PRECISIONS[p].bytes_weight for p in FORMATS)}
    peaks = tuple(
        tuple(a.peak(p) if p in a.peak_flops else None for p in FORMATS)
        for a in DEVICES
    )
    devices = tuple(a.name for a in DEVICES)
    formats = tuple(p.upper() for p in FORMATS)
    return (
        Choice("accelerator", "GPU", devices, default, memory),
        Choice("precision", "Weights and cache in", formats, formats[0], widths),
        Lookup("peak_flops", ("accelerator", "precision"), peaks),
    )


def precision_choice(
    shape: ModelShape, gpu: Accelerator
) -> tuple[Choice | Lookup, ...]:
    """A choice of precision for one model on one GPU, and what depends on it."""
    work, formats = workload(shape), tuple(p.upper() for p in FORMATS)
    widths = [float(PRECISIONS[p].bytes_weight) for p in FORMATS]

    def weights(signal: str, params: float) -> Lookup:
        return Lookup(signal, ("precision",), tuple(w * params for w in widths), "byte")

    return (
        Choice("precision", "Weights and cache in", formats, formats[0], {}),
        Lookup("peak_flops", ("precision",), tuple(gpu.peak(p) for p in FORMATS)),
        kv_lookup("kv_bytes_per_token", (shape,)),
        weights("weight_bytes", float(shape.params_read)),
        weights("stored_bytes", float(shape.params_total)),
        *constants(
            prompt_params=float(prompt_params(shape)),
            params_active=work["params_active"],
            attn_flops_per_pair=work["attn_flops_per_pair"],
            hbm_bw=gpu.hbm_bw,
            hbm_bytes=gpu.usable_bytes,
        ),
    )


def constants(**known: object) -> tuple[Lookup, ...]:
    """Signals that the reader cannot change."""
    return tuple(
        Lookup(name, (), value)  # type: ignore[arg-type]
        for name, value in known.items()
    )


LABELS = {
    "batch": "Requests in one batch (moves decode)",
    "context": "Tokens in cache, each (moves decode)",
    "chunk": "New rows: the prompt (moves prefill)",
}


def sliders(**defaults: float) -> tuple[Slider, ...]:
    """Sliders for quantities of the chapter, in the order in which they are named."""
    return tuple(
        Slider(quantity(name), STOPS[name], value, LABELS[name])
        for name, value in defaults.items()
    )
