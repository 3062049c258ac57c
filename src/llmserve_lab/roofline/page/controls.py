"""What a reader can choose here: a model, a machine, and what goes through."""

from __future__ import annotations

from llmserve_lab.catalog import (
    ACCELERATORS,
    EFFICIENCIES,
    MODELS,
    PRECISIONS,
    ModelShape,
    workload,
)
from llmserve_lab.notation import quantity
from llmserve_lab.page.live.controls import Choice, Lookup, Slider

FORMATS = ("bf16", "fp8")
DEVICES = tuple(a for a in ACCELERATORS.values() if a.disclosed and a.num_devices < 72)
LARGE = tuple(model for model in MODELS.values() if model.params_total > 1e9)
SHARES = tuple(EFFICIENCIES[key] for key in ("datasheet", "article-06", "flashmla"))
STOPS = {
    "batch": tuple(2.0**i for i in range(11)),
    "chunk": tuple(2.0**i for i in range(8, 14)),
    "context": (0.0, *(2.0**i for i in range(7, 21))),
}


def model_choice(
    default: str = "Llama-2-7B", models: tuple[ModelShape, ...] = LARGE
) -> tuple[Choice, Lookup]:
    """A choice of model, and its κ, which depends on the precision too.

    Latent attention works absorbed in decode, on keys and values made in prefill.
    """
    works = [workload(model) for model in models]
    names = ("params_total", "params_read", "params_active", "attn_flops_per_pair")
    sizes = {name: tuple(work[name] for work in works) for name in names}
    sizes["prefill_pair_flops"] = tuple(
        workload(model, absorbed=False)["attn_flops_per_pair"] for model in models
    )
    options = tuple(model.name for model in models)
    choice = Choice("model", "Model", options, default, sizes)
    return choice, kv_lookup("kv_bytes_per_token", models, "model")


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
        Choice("accelerator", "Accelerator", devices, default, memory),
        Choice("precision", "Weights and cache in", formats, formats[0], widths),
        Lookup("peak_flops", ("accelerator", "precision"), peaks),
    )


def share_choice() -> Choice:
    """A choice of how much of the datasheet's peaks is reached."""
    shares = {
        "eff_compute": tuple(share.compute for share in SHARES),
        "eff_mem": tuple(share.memory for share in SHARES),
    }
    names = tuple(share.name for share in SHARES)
    return Choice("efficiency", "Share of peak reached", names, names[0], shares)


def sliders(**defaults: float) -> tuple[Slider, ...]:
    """Sliders for quantities of the chapter, in the order in which they are named."""
    return tuple(
        Slider(quantity(name), STOPS[name], value) for name, value in defaults.items()
    )
