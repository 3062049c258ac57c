"""From a catalog record to the arguments of a formula: a model, a machine, a link."""

from __future__ import annotations

from functools import partial
from typing import Any

from llmserve_lab.catalog.data.efficiencies import EFFICIENCIES, Efficiency
from llmserve_lab.catalog.records.accelerator import Accelerator
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.records.link import Link
from llmserve_lab.catalog.records.shape import ModelShape


def workload(
    model: ModelShape, *, precision: str | None = None, absorbed: bool = True
) -> dict[str, Cited]:
    """What the formulas ask about a model with weights and cache in ``precision``.

    That is BF16 where none is said, unless the model's config says something else.
    ``params_total``, ``params_read`` (all but an embedding table that only looks up),
    ``params_active``, ``bytes_weight``, ``kv_bytes_per_token`` (byte per token) and
    ``attn_flops_per_pair`` (FLOP per pair; latent attention ``absorbed`` as decode runs
    it, or not, as prefill does). Each is cited: what is counted over the shape names
    the shape's source. A formula takes them as they are; ``float()`` makes
    a bare number of one.

    Raises:
        LookupError: the catalog has no such precision.
        TypeError: the model is no record, but its key, say.
        ValueError: no precision is given for a checkpoint that is quantized.
    """
    from llmserve_lab.catalog import lookup as catalog

    _must_be(ModelShape, "model", model)
    precision = stored_in(model, precision)
    form = catalog.precision(precision)
    counted = partial(Cited, kind="counted", source=model.source)
    cache, pair = model.kv_bytes_per_token, model.attn_flops_per_pair
    return {
        "params_total": counted(model.params_total, "parameter", note=model.name),
        "params_read": counted(
            model.params_read, "parameter", note=f"{model.name}, no look-up table"
        ),
        "params_active": counted(model.params_active, "parameter", note=model.name),
        "bytes_weight": form.bytes_weight,
        "kv_bytes_per_token": counted(
            cache(form.bytes_kv), "byte/token", note=f"{model.name}, {precision} cache"
        ),
        "attn_flops_per_pair": counted(
            pair(absorbed=absorbed), "FLOP/pair", note=model.name
        ),
    }


def stored_in(model: ModelShape, precision: str | None) -> str:
    """The ``precision`` that is asked for, or BF16.

    Raises:
        ValueError: none is asked for, and the checkpoint is quantized.
    """
    if precision is None and model.quantized:
        raise ValueError(
            f"precision must be given: the config of {model.name} says that its "
            f"weights are quantized ({model.quantized})"
        )
    return precision or "bf16"


def machine(
    accelerator: Accelerator,
    *,
    precision: str = "bf16",
    efficiency: Efficiency | None = None,
) -> dict[str, Cited]:
    """What the formulas ask about a machine: peaks, memory, shares reached.

    The memory is what the driver shows, estimated where that is not published. Without
    an ``efficiency`` the datasheet is taken at its word for the rest.

    Raises:
        LookupError: the accelerator does not compute in this precision.
        TypeError: an argument is no record, but its key, say.
    """
    _must_be(Accelerator, "accelerator", accelerator)
    reached = efficiency or EFFICIENCIES["datasheet"]
    _must_be(Efficiency, "efficiency", reached)
    return {
        "peak_flops": accelerator.peak(precision),
        "hbm_bw": accelerator.hbm_bw,
        "hbm_bytes": accelerator.usable_bytes,
        "eff_compute": reached.compute,
        "eff_mem": reached.memory,
    }


def wire(link: Link, *, efficiency: Efficiency | None = None) -> dict[str, Cited]:
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
        "link_bw": link.bandwidth,
        "link_latency": link.latency,
        "eff_link": reached.link,
    }


def _must_be(kind: type, name: str, record: Any) -> None:
    """Refuse a key, or another kind of record, by name."""
    if not isinstance(record, kind):
        raise TypeError(
            f"{name} must be a record of the catalog, "
            f"as catalog.{name}(key) finds it, got {record!r}"
        )
