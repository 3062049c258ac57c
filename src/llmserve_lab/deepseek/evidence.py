"""Shares that were reached, from other measurements than those to be predicted."""

from __future__ import annotations

from statistics import median

from llmserve_lab import catalog
from llmserve_lab.catalog import MODELS
from llmserve_lab.catalog.links import IB_NDR, NVLINK4_H800
from llmserve_lab.catalog.measurements import (
    ALL_TO_ALL,
    ALL_TO_ALL_ROWS,
    AllToAll,
)
from llmserve_lab.deepseek import formulas as f

NODE = 8
SCALE_GROUP = 128  # numbers that share one scale of 4 bytes on the wire in FP8
SCALE_BYTES = 4
DEEPSEEK = MODELS["deepseek-v3"]


def number_bytes(precision: str) -> float:
    """Bytes of one number on the wire; FP8 brings a scale for every 128."""
    size = float(catalog.precision(precision).bytes_kv)
    return size + SCALE_BYTES / SCALE_GROUP if precision == "fp8" else size


def copy_bytes(*precisions: str, layers: int) -> float:
    """Bytes of one copy of a row in ``layers`` layers, one trip for each precision."""
    return layers * DEEPSEEK.d_model * sum(map(number_bytes, precisions))


def layer_wire_bytes(*precisions: str) -> float:
    """Bytes of one layer's all-to-all of the published runs, per GPU."""
    return float(
        f.WIRE_BYTES(
            copy_bytes=copy_bytes(*precisions, layers=1),
            sent_copies=DEEPSEEK.ffn.top_k,  # type: ignore[union-attr]
            n_rows=float(ALL_TO_ALL_ROWS),
            balancedness=1.0,
        )
    )


def share_of_link(record: AllToAll) -> float:
    """Share of InfiniBand's bandwidth that one published run reached, both trips."""
    far = float(f.FAR_SHARE(n_nodes=record.ep / NODE))
    return far * rate(record) / float(IB_NDR.bandwidth)


def rate(record: AllToAll) -> float:
    """Bytes per second of all copies of one published run, both trips."""
    seconds = float(record.dispatch_s) + float(record.combine_s)
    return layer_wire_bytes("fp8", "bf16") / seconds


def far_share_reached() -> float:
    """The median over the published runs that leave a node."""
    return median(share_of_link(each) for each in ALL_TO_ALL if each.ep > NODE)


def near_share() -> float:
    """Share of an H800's NVLink that the run inside one node reached."""
    (inside,) = (each for each in ALL_TO_ALL if each.ep == NODE)
    return rate(inside) / float(NVLINK4_H800.bandwidth)
