"""Coefficients of one layer, from a machine and a mixture-of-experts model."""

from __future__ import annotations

from collections.abc import Mapping

from llmserve_lab import catalog
from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.page.controls import LABELS
from llmserve_lab.afd.simulation.bundle import ascend
from llmserve_lab.catalog import Accelerator, Efficiency, Given, ModelShape, accelerator
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.checks import positive, whole
from llmserve_lab.formula.text import plain
from llmserve_lab.notation import bytes_returned, bytes_sent
from llmserve_lab.page.table import Table

EXPERTS_PER_CARD = 8
SLOPES = (f.A_ATTN, f.A_FFN, f.A_COMM)


def layer(
    model: ModelShape,
    accelerator: Accelerator,
    *,
    n_draft: int = 1,
    experts_per_card: float = EXPERTS_PER_CARD,
    efficiency: Efficiency | None = None,
) -> dict[str, Given]:
    """Everything that ``a_attn`` to ``a_comm`` ask about one layer of ``model``.

    Cache in 16 bits, experts in 8 (FP8, or INT8 where a machine has no other); rows
    travel in 8 bits and come back in 16, on the accelerator's own link.

    Raises:
        ValueError: the model has no experts, or a count is not positive.
        LookupError: the accelerator has no peak in 8 bits that is known.
    """
    positive("experts_per_card", experts_per_card)
    whole(n_draft=n_draft)
    experts = model.ffn
    if not isinstance(experts, MoeFfn):
        raise ValueError(f"model must be a mixture of experts, got {model.name}")
    reached = efficiency or catalog.efficiency("datasheet")
    narrow = "fp8" if "fp8" in accelerator.peak_flops else "int8"
    eight, sixteen = catalog.precision(narrow), catalog.precision("bf16")
    return {
        **catalog.workload(model, precision="bf16"),
        **catalog.machine(accelerator, precision=narrow, efficiency=reached),
        "n_layers": model.n_layers,
        "d_model": model.d_model,
        "d_expert": experts.d_ff,
        "n_experts": experts.n_experts,
        "top_k": experts.top_k,
        "n_draft": n_draft,
        "experts_per_card": experts_per_card,
        "bytes_sent": eight.bytes_in(bytes_sent.unit),
        "bytes_returned": sixteen.bytes_in(bytes_returned.unit),
        "link_bw": catalog.link(accelerator.scale_up).bandwidth,
        "eff_link": reached.link,
    }


def slopes(known: Mapping[str, Given]) -> dict[str, float]:
    """The three slopes, in seconds per token or request, by code name."""
    return {formula.name: float(formula.at(known)) for formula in SLOPES}


def attn_compute_s(
    model: ModelShape, accelerator: Accelerator, *, n_draft: int = 1
) -> float:
    """Seconds of arithmetic for a token that a request's rows attend to, one layer.

    A row for the token and one for each drafted one meet it, in BF16 at the peak. The
    kernel takes the longer of this and of reading it, ``a_attn``.

    Raises:
        ValueError: a count is not positive.
        LookupError: the accelerator has no such peak that is known.
    """
    whole(n_draft=n_draft)
    pairs = catalog.workload(model, precision="bf16")["attn_flops_per_pair"]
    peak = float(accelerator.peak("bf16"))
    return (1 + n_draft) * float(pairs) / model.n_layers / peak


def slopes_table() -> Table:
    """Table of slopes for machines and models, beside those that the paper fitted.

    Its ratios are to the longer of what attention reads and computes.
    """
    rows = []
    for key in ("deepseek-v3", "kimi-k2"):
        for device in ("h800-sxm", "b200-sxm", "mi300x"):
            model, machine = catalog.model(key), catalog.accelerator(device)
            rows.append((f"{model.name} on {machine.name}", *_cells(model, machine)))
    fitted = ascend()
    ratios = (fitted[f"a_{part}"] / fitted["a_attn"] for part in ("ffn", "comm"))
    rows.append(("DeepSeek-V3 on Ascend 910C, fitted", *4 * ("–",), *_digits(*ratios)))
    columns = (
        "one layer", "attention reads", "computes", "FFN", "wire", "FFN/attention",
        "wire/attention",
    )  # fmt: skip
    note = (
        "In ns: attention for a token, FFN and wire for a request. "
        f"Datasheet peaks, {EXPERTS_PER_CARD} experts a card, one drafted token. "
        "Attention takes the longer of reading a token's latent and computing with it, "
        "for the request's row and the drafted one, in BF16; ratios are to that. Wire: "
        "the link "
        "inside a node, one copy of a row for each expert."
    )
    return Table("Slopes from first principles", columns, rows, notes=(note,))


def fitted_table() -> Table:
    """Table of the six coefficients that the paper fitted, its tables 2 and 4."""
    device = accelerator("ascend-910c")
    fitted = device.fitted  # type: ignore[attr-defined]
    rows = [
        (label, name, *_digits(float(fitted[name])), fitted[name].unit)
        for name, label in LABELS.items()
    ]
    columns = ("time", "code name", "fitted", "unit")
    note = "The paper's cycle is of unknown length; here it is written as 1 µs."
    return Table(f"Coefficients of {device.name}", columns, rows, notes=(note,))


def _cells(model: ModelShape, machine: Accelerator) -> tuple[str, ...]:
    reads, *others = slopes(layer(model, machine)).values()
    computes = attn_compute_s(model, machine)
    ratios = (value / max(reads, computes) for value in others)
    shown = (1e9 * value for value in (reads, computes, *others))
    return (*_digits(*shown), *_digits(*ratios))


def _digits(*values: float) -> tuple[str, ...]:

    return tuple(plain(value) for value in values)
