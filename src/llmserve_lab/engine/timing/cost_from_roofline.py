"""The slopes of the cost, each read off a formula at one row, one pair, one token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, get_args

from llmserve_lab.catalog import (
    PRECISIONS,
    Accelerator,
    Cited,
    Efficiency,
    Link,
    ModelShape,
)
from llmserve_lab.catalog.arguments import machine, stored_in, wire, workload
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.checks import at_least, of_type, whole
from llmserve_lab.collectives.formulas import ALL_REDUCE_S
from llmserve_lab.notation import all_reduces_per_layer
from llmserve_lab.roofline import formulas as f

WeightsRead = Literal["all", "touched"]


def slopes(
    model: ModelShape,
    accelerator: Accelerator,
    *,
    precision: str | None,
    efficiency: Efficiency | None,
    tp: int,
    link: Link | None,
    link_latency_s: float | None,
    precision_exponent: float,
    weights_read: WeightsRead,
    usable: bool,
) -> dict[str, float]:
    """Seconds and bytes by the field names of an IterationCost, for ``tp`` devices.

    Every device computes 1/tp of each row and reads 1/tp of the weights. KV heads that
    are fewer than the devices are copied, so that each device has one; a latent, which
    all heads share, is copied to every device, and counted in its absorbed form.
    """
    of_type(ModelShape, model=model)
    of_type(Accelerator, accelerator=accelerator)
    of_type(Efficiency | None, efficiency=efficiency)
    of_type(bool, usable_memory=usable)
    copies, precision = _copies(model, tp), stored_in(model, precision)
    chip = machine(accelerator, precision=precision, efficiency=efficiency)
    has = {name: float(value) for name, value in chip.items()}
    has["peak_flops"] = _peak(accelerator, precision, precision_exponent)
    shape = workload(model, precision=precision)
    work = {name: float(value) for name, value in shape.items()}
    along = _wire(link, link_latency_s, efficiency, tp) if tp > 1 else {}
    if link and link.scope == "scale-up" and tp > accelerator.num_devices:
        raise ValueError(
            f"tp must be at most {accelerator.num_devices}, the devices that "
            f"{link.name} joins, got {tp}"
        )
    weight_bytes = float(f.STORED_BYTES.at(work))
    row_flops = float(f.LINEAR_FLOPS(params_active=work["params_active"], n_rows=1))
    kv_bytes = work["kv_bytes_per_token"]
    hbm_bytes = has["hbm_bytes"] if usable else float(accelerator.hbm_bytes)
    return {
        "row_s": _compute_s(row_flops / tp, has),
        "pair_s": _compute_s(work["attn_flops_per_pair"] / tp, has),
        **_reading(model, weights_read, weight_bytes / tp, has),
        "kv_token_s": _read_s(kv_bytes * copies / tp, has),
        **_collectives(model, precision=precision, tp=tp, along=along),
        "kv_bytes_per_token": kv_bytes,
        "kv_copies": copies,
        "weight_bytes": weight_bytes,
        "hbm_bytes": tp * hbm_bytes,
    }


def _peak(accelerator: Accelerator, precision: str, exponent: float) -> float:
    """Peak that scales with a power of what fewer bits promise over 16."""
    at_least("precision_exponent", exponent, 0)
    of_16, of_these = (float(accelerator.peak(each)) for each in ("bf16", precision))
    return float(of_16 * (of_these / of_16) ** exponent)


def _reading(
    model: ModelShape, read: WeightsRead, weight_bytes: float, has: Mapping[str, float]
) -> dict[str, float]:
    """Seconds of reading the weights, of which the experts may not all be needed.

    Of the embedding table an iteration reads the rows of its tokens, which are few; of
    an untied one nothing else.
    """
    if read not in get_args(WeightsRead):
        raise ValueError(f"weights_read must be 'all' or 'touched', got {read!r}")
    whole_s = _read_s(weight_bytes, has)
    if read == "all":
        return {"weights_s": whole_s}
    second_s = whole_s / model.params_total  # of one parameter
    table = model.params_total - model.params_read
    experts = sum(
        tensor.params
        for tensor in model.tensors()
        if tensor.name.startswith("experts.")
    )
    if not isinstance(model.ffn, MoeFfn):
        return {"weights_s": whole_s - table * second_s}
    return {
        "weights_s": whole_s - (table + experts) * second_s,
        "experts_s": experts * second_s,
        "expert_miss": 1 - model.ffn.top_k / model.ffn.n_experts,
    }


def _compute_s(flops: float, has: Mapping[str, float]) -> float:
    peak, share = has["peak_flops"], has["eff_compute"]
    return float(f.COMPUTE_S(iteration_flops=flops, peak_flops=peak, eff_compute=share))


def _read_s(weight_bytes: float, has: Mapping[str, float]) -> float:
    bandwidth, share = has["hbm_bw"], has["eff_mem"]
    return float(
        f.WEIGHTS_S(weight_bytes=weight_bytes, hbm_bw=bandwidth, eff_mem=share)
    )


def _copies(model: ModelShape, tp: int) -> float:
    """How often each KV head is stored; no cut may fall inside a head."""
    whole(of="device", tp=tp)
    heads, kv_heads = model.attention.n_heads, getattr(model.attention, "n_kv_heads", 1)
    if heads % tp or (kv_heads % tp and tp % kv_heads):
        raise ValueError(
            f"tp must divide the {heads} heads, and divide the {kv_heads} KV heads or "
            f"be a multiple of them, got {tp}"
        )
    return max(1.0, tp / kv_heads)


def _wire(
    link: Link | None, latency_s: float | None, efficiency: Efficiency | None, tp: int
) -> dict[str, Cited]:
    """What the formulas ask of a link, whose latency may be given by hand."""
    if link is None:
        raise ValueError(f"link must join the {tp} devices, got None")
    of_type(Link, link=link)
    if latency_s is not None:
        at_least("link_latency_s", latency_s, 0)
        given = Cited(latency_s, "s", kind="estimate", source="whoever asks")
        link = replace(link, latency=given)
    if link.latency is None:
        raise ValueError(
            f"link_latency_s must be given for {link.name}: the catalog has none"
        )
    return wire(link, efficiency=efficiency)


def _collectives(
    model: ModelShape, *, precision: str, tp: int, along: Mapping[str, Cited]
) -> dict[str, float]:
    """Two all-reduces a layer: what they take with nothing to send, and for a row.

    The latency is that of a small message from end to end, and an all-reduce of few
    rows takes about one (:mod:`llmserve_lab.collectives.calibration`); the bytes are
    those of a ring, which no way without a switch can undercut.
    """
    if tp == 1:
        return {}
    known = {**along, "n_ranks": tp, "start_s": along["link_latency"]}
    known["link_latency"] = Cited(0.0, "s", "estimate", "one latency in all")
    row_bytes = model.d_model * float(PRECISIONS[precision].bytes_weight)
    times = model.n_layers * all_reduces_per_layer.value
    one_row_s = float(ALL_REDUCE_S.at(known, tensor_bytes=row_bytes))
    two_rows_s = float(ALL_REDUCE_S.at(known, tensor_bytes=2 * row_bytes))
    return {
        "collective_s": times * (2 * one_row_s - two_rows_s),
        "collective_row_s": times * (two_rows_s - one_row_s),
    }
