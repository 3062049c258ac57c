"""From a catalog record to the arguments of a formula: a model, a machine, a link."""

from __future__ import annotations

from typing import Any

from llmserve_lab.catalog.data.efficiencies import EFFICIENCIES, Efficiency
from llmserve_lab.catalog.records.accelerator import Accelerator
from llmserve_lab.catalog.records.link import Link
from llmserve_lab.catalog.records.shape import ModelShape


def workload(
    model: ModelShape, *, precision: str = "bf16", absorbed: bool = True
) -> dict[str, float]:
    """What the formulas ask about a model with weights and cache in ``precision``.

    ``params_total``, ``params_active``, ``bytes_weight``, ``kv_bytes_per_token`` (byte
    per token) and ``attn_flops_per_pair`` (FLOP per pair; latent attention ``absorbed``
    as decode runs it, or not, as prefill does).

    Raises:
        LookupError: the catalog has no such precision.
        TypeError: the model is no record, but its key, say.
    """
    from llmserve_lab.catalog import lookup as catalog

    _must_be(ModelShape, "model", model)
    form = catalog.precision(precision)
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
        TypeError: an argument is no record, but its key, say.
    """
    _must_be(Accelerator, "accelerator", accelerator)
    reached = efficiency or EFFICIENCIES["datasheet"]
    _must_be(Efficiency, "efficiency", reached)
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
        TypeError: an argument is no record, but its key, say.
        ValueError: no latency of it is published.
    """
    _must_be(Link, "link", link)
    reached = efficiency or EFFICIENCIES["datasheet"]
    _must_be(Efficiency, "efficiency", reached)
    if link.latency is None:
        raise ValueError(f"link must have a latency in the catalog, got {link.name}")
    return {
        "link_bw": float(link.bandwidth),
        "link_latency": float(link.latency),
        "eff_link": float(reached.link),
    }


def _must_be(kind: type, name: str, record: Any) -> None:
    """Refuse a key, or another kind of record, by name."""
    if not isinstance(record, kind):
        raise TypeError(
            f"{name} must be a record of the catalog, "
            f"as catalog.{name}(key) finds it, got {record!r}"
        )
