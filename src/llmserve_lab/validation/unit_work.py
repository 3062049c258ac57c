"""What one device of a group reads, computes and sends, before any share is reached.

Divided by what a machine reaches, it is an :class:`IterationCost`. The expressions take
plain numbers, or arrays with one entry for each of many servers.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

import numpy as np

from llmserve_lab import catalog
from llmserve_lab.catalog.records.accelerator import Accelerator
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.checks import of_type
from llmserve_lab.collectives.formulas import ALL_REDUCE_BYTES
from llmserve_lab.engine import IterationCost
from llmserve_lab.notation import all_reduces_per_layer
from llmserve_lab.roofline import formulas as f
from llmserve_lab.validation.constants import ServingConstants
from llmserve_lab.validation.on_devices import OnDevices

Floats = np.ndarray[Any, np.dtype[np.float64]]
Number = TypeVar("Number", float, Floats)
NVFP4_SCALE = Cited(
    1 / 16, "byte/parameter", "paper", "NVIDIA, NVFP4: one FP8 scale for 16 numbers"
)
INT4_SCALE = Cited(
    2 / 32, "byte/parameter", "paper", "config.json of moonshotai/Kimi-K2.5: group_size"
)
SCALES = {"fp4": float(NVFP4_SCALE), "int4": float(INT4_SCALE)}
BYTES_16 = float(catalog.PRECISIONS["bf16"].bytes_weight)


@dataclass(frozen=True, kw_only=True)
class Bill(Generic[Number]):
    """Bytes and FLOPs of one device, and what its datasheet promises for them.

    ``weight_bytes`` are read in each iteration: all but the embedding table, the LM
    head in 16 bits. ``row_bytes`` go over the link for each row, in 16 bits as well.
    ``speedup`` is how much fewer bits than 16 promise to compute.
    """

    weight_bytes: Number
    kv_token_bytes: Number
    row_flops: Number
    pair_flops: Number
    row_bytes: Number
    n_layers: Number
    speedup: Number
    peak_16: Number
    hbm_bw: Number
    link_bw: Number

    def slopes(self, reached: ServingConstants) -> dict[str, Any]:
        """Seconds by the field names of an :class:`IterationCost`."""
        bytes_per_s = self.hbm_bw * reached.memory
        flops_16 = self.peak_16 * reached.compute
        flops = flops_16 * self.speedup**reached.exponent
        layers_s = self.n_layers * reached.layer_s
        return {
            "weights_s": self.weight_bytes / bytes_per_s,
            "kv_token_s": self.kv_token_bytes / bytes_per_s,
            "row_s": self.row_flops / flops,
            "pair_s": self.pair_flops / flops_16,
            "collective_row_s": self.row_bytes / (self.link_bw * reached.link),
            "overhead_s": layers_s,
            "prompt_s": (reached.prompt_layers - 1) * layers_s,
            "request_s": reached.request_s,
        }


def bytes_per_weight(precision: str) -> float:
    """Bytes of a weight, the share of a scale in it included."""
    each = float(catalog.PRECISIONS[precision].bytes_weight)
    return each + SCALES.get(precision, 0.0)


def weight_bytes(row: OnDevices) -> float:
    """Bytes of the weights that a group reads; scales of 4-bit numbers included."""
    model = row.shape
    table = model.vocab * model.d_model
    inner = model.params_read - table  # a tied head is the embedding, read as a head
    each = bytes_per_weight(row.precision)
    return float(f.WEIGHT_BYTES(bytes_weight=each, params_read=inner)) + (
        table * BYTES_16
    )


def bill_of(row: OnDevices, *, kv_bytes: float) -> Bill[float]:
    """What each of the row's devices has to do; a cached number takes ``kv_bytes``."""
    of_type(OnDevices, row=row)
    model, device, tp = row.shape, row.accelerator, row.tp
    table = model.vocab * model.d_model
    flops = f.LINEAR_FLOPS(params_active=model.params_active - table, n_rows=1)
    sent = ALL_REDUCE_BYTES(n_ranks=tp, tensor_bytes=model.d_model * BYTES_16)
    reduces = model.n_layers * all_reduces_per_layer.value
    peak_16 = float(device.peak("bf16"))
    return Bill(
        weight_bytes=weight_bytes(row) / tp,
        kv_token_bytes=model.kv_bytes_per_token(kv_bytes) / tp,
        row_flops=float(flops) / tp,
        pair_flops=float(model.attn_flops_per_pair()) / tp,
        row_bytes=float(sent) * reduces,
        n_layers=float(model.n_layers),
        speedup=speedup(device, row.precision),
        peak_16=peak_16,
        hbm_bw=float(device.hbm_bw),
        link_bw=float(catalog.link(device.scale_up).bandwidth),
    )


def speedup(device: Accelerator, precision: str) -> float:
    """A precision's peak over that of 16 bits; one where weights are widened for it."""
    computes = precision in device.peak_flops
    peak = device.peak(precision if computes else "bf16")
    return float(peak) / float(device.peak("bf16"))


def stacked(bills: list[Bill[float]]) -> Bill[Floats]:
    """Many bills as one of arrays [bills]."""
    return Bill(
        **{
            each.name: np.array([getattr(bill, each.name) for bill in bills])
            for each in fields(Bill)
        }
    )


def cost_of(bill: Bill[float], reached: ServingConstants) -> IterationCost:
    """The engine's cost of an iteration on a machine that reaches so much."""
    return IterationCost(
        **bill.slopes(reached), overlap=reached.overlap, attention_apart=True
    )
