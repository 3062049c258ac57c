"""From a catalog record to the arguments of a formula: a model, a machine, a link."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmserve_lab.catalog import Accelerator, Efficiency, Link, ModelShape


def workload(
    model: ModelShape, *, precision: str = "bf16", absorbed: bool = True
) -> dict[str, float]:
    """What the formulas ask about a model with weights and cache in ``precision``.

    ``params_total``, ``params_active``, ``bytes_weight``, ``kv_bytes_per_token`` (byte
    per token) and ``attn_flops_per_pair`` (FLOP per pair; latent attention ``absorbed``
    as decode runs it, or not, as prefill does).
    """
    from llmserve_lab.catalog import PRECISIONS

    form = PRECISIONS[precision]
    return {
        "params_total": float(model.params_total),
        "params_active": float(model.params_active),
        "bytes_weight": float(form.bytes_weight),
        "kv_bytes_per_token": float(model.kv_bytes_per_token(form.bytes_kv)),
        "attn_flops_per_pair": float(model.attn_flops_per_pair(absorbed=absorbed)),
    }


def machine(
    accelerator: Accelerator,
    *,
    precision: str = "bf16",
    efficiency: Efficiency | None = None,
) -> dict[str, float]:
    """What the formulas ask about a machine: peaks, memory, shares reached.

    Without an ``efficiency`` the datasheet is taken at its word.

    Raises:
        LookupError: the accelerator does not compute in this precision.
    """
    from llmserve_lab.catalog import EFFICIENCIES

    reached = efficiency or EFFICIENCIES["datasheet"]
    return {
        "peak_flops": float(accelerator.peak(precision)),
        "hbm_bw": float(accelerator.hbm_bw),
        "hbm_bytes": float(accelerator.hbm_bytes),
        "eff_compute": float(reached.compute),
        "eff_mem": float(reached.memory),
    }


def wire(link: Link, *, efficiency: Efficiency | None = None) -> dict[str, float]:
    """Bandwidth one way, latency, and share reached of a link.

    Without an ``efficiency`` the datasheet is taken at its word.

    Raises:
        ValueError: nobody has published a latency for it.
    """
    from llmserve_lab.catalog import EFFICIENCIES

    if link.latency is None:
        raise ValueError(f"link must have a latency in the catalog, got {link.name}")
    reached = efficiency or EFFICIENCIES["datasheet"]
    return {
        "link_bw": float(link.bandwidth),
        "link_latency": float(link.latency),
        "eff_link": float(reached.link),
    }
