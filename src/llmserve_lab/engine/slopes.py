"""The slopes of the cost, each read off a formula at one row, one pair, one token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmserve_lab.book.notation import all_reduces_per_layer
from llmserve_lab.catalog.arguments import machine, wire, workload
from llmserve_lab.cluster.formulas import ALL_REDUCE_S
from llmserve_lab.engine.rules import whole
from llmserve_lab.roofline import formulas as f

if TYPE_CHECKING:
    from llmserve_lab.catalog import Accelerator, Efficiency, Link, ModelShape


def slopes(
    model: ModelShape,
    accelerator: Accelerator,
    *,
    precision: str,
    efficiency: Efficiency | None,
    tp: int,
    link: Link | None,
) -> dict[str, float]:
    """Seconds and bytes by the field names of an IterationCost, for ``tp`` devices.

    Every device computes 1/tp of each row and reads 1/tp of the weights. KV heads that
    are fewer than the devices are copied, so that each device has one; a latent, which
    all heads share, is copied to every device, and counted in its absorbed form.
    """
    whole(of="device", tp=tp)
    has = machine(accelerator, precision=precision, efficiency=efficiency)
    work = workload(model, precision=precision)
    weight_bytes = float(f.WEIGHT_BYTES.at(work))
    copies = max(1.0, tp / getattr(model.attention, "n_kv_heads", 1))
    row_flops = float(f.LINEAR_FLOPS(params_active=work["params_active"], n_rows=1))
    kv_bytes = work["kv_bytes_per_token"]
    return {
        "row_s": _compute_s(row_flops / tp, has),
        "pair_s": _compute_s(work["attn_flops_per_pair"] / tp, has),
        "weights_s": _read_s(weight_bytes / tp, has),
        "kv_token_s": _read_s(kv_bytes * copies / tp, has),
        **_collectives(
            model, precision=precision, efficiency=efficiency, tp=tp, link=link
        ),
        "kv_bytes_per_token": kv_bytes,
        "kv_copies": copies,
        "weight_bytes": weight_bytes,
        "hbm_bytes": has["hbm_bytes"] * tp,
    }


def _compute_s(flops: float, has: dict[str, float]) -> float:
    peak, share = has["peak_flops"], has["eff_compute"]
    return float(f.COMPUTE_S(iteration_flops=flops, peak_flops=peak, eff_compute=share))


def _read_s(weight_bytes: float, has: dict[str, float]) -> float:
    bandwidth, share = has["hbm_bw"], has["eff_mem"]
    return float(
        f.WEIGHTS_S(weight_bytes=weight_bytes, hbm_bw=bandwidth, eff_mem=share)
    )


def _collectives(
    model: ModelShape,
    *,
    precision: str,
    efficiency: Efficiency | None,
    tp: int,
    link: Link | None,
) -> dict[str, float]:
    """Two all-reduces a layer: what they take with nothing to send, and for a row."""
    if tp == 1:
        return {}
    if link is None:
        raise ValueError(f"link must join the {tp} devices, got None")
    from llmserve_lab.catalog import PRECISIONS

    along = wire(link, efficiency=efficiency) | {"n_ranks": tp}
    row_bytes = model.d_model * float(PRECISIONS[precision].bytes_weight)
    times = model.n_layers * all_reduces_per_layer.value
    one_row_s = float(ALL_REDUCE_S.at(along, tensor_bytes=row_bytes))
    two_rows_s = float(ALL_REDUCE_S.at(along, tensor_bytes=2 * row_bytes))
    return {
        "collective_s": times * (2 * one_row_s - two_rows_s),
        "collective_row_s": times * (two_rows_s - one_row_s),
    }
