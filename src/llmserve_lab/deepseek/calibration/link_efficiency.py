"""Shares that were reached, from other measurements than those to be predicted."""

from __future__ import annotations

from functools import cache
from statistics import median

import numpy as np

from llmserve_lab import catalog
from llmserve_lab.catalog import MODELS
from llmserve_lab.catalog.data.links import IB_NDR, NVLINK4_H800
from llmserve_lab.catalog.evidence.measurements import (
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
    return far_share(record) * rate(record) / float(IB_NDR.bandwidth)


def far_share(record: AllToAll) -> float:
    """Share of the copies of one published run that left their node."""
    return float(f.FAR_SHARE(n_nodes=f.NODES(ep=record.ep, node_gpus=NODE)))


def rate(record: AllToAll) -> float:
    """Bytes per second of all copies of one published run, both trips."""
    seconds = float(record.dispatch_s) + float(record.combine_s)
    return layer_wire_bytes("fp8", "bf16") / seconds


def far_share_reached() -> float:
    """The median over the published runs that leave a node."""
    return median(share_of_link(each) for each in ALL_TO_ALL if each.ep > NODE)


@cache
def trip_rates() -> tuple[float, float, float]:
    """Seconds before a trip's first byte, and the shares of both links after that.

    Least squares of the relative error over all published trips, there and back. Each
    moves other bytes at the same rate, which is what tells a start from a rate.
    """
    rows = []
    for run in ALL_TO_ALL:
        far = far_share(run)
        for form, seconds in (("fp8", run.dispatch_s), ("bf16", run.combine_s)):
            moved = layer_wire_bytes(form)
            parts = (
                (far * moved / float(IB_NDR.bandwidth), 0.0)
                if run.ep > NODE
                else (0.0, moved / float(NVLINK4_H800.bandwidth))
            )
            rows.append(np.array([1.0, *parts]) / float(seconds))
    start, *slow = np.linalg.lstsq(np.array(rows), np.ones(len(rows)))[0]
    far, near = (float(1 / each) for each in slow)
    return float(start), far, near


def near_share() -> float:
    """Share of an H800's NVLink that the run inside one node reached."""
    (inside,) = (each for each in ALL_TO_ALL if each.ep == NODE)
    return rate(inside) / float(NVLINK4_H800.bandwidth)
