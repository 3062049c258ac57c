"""Link efficiency: what the communication library reached, transfer by transfer."""

from __future__ import annotations

import numpy as np

from llmserve_lab.catalog.data.links import IB_NDR, NVLINK4_H800
from llmserve_lab.catalog.evidence.measurements import (
    ALL_TO_ALL,
    ALL_TO_ALL_ROWS,
    AllToAll,
)
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.model.setup import DEEPSEEK, number_bytes

NODE = 8
FORMS = ("fp8", "bf16")  # of a dispatch, and of a combine


def layer_bytes(*precisions: str) -> float:
    """Bytes of one layer's all-to-all of the published runs, per GPU.

    One transfer for each precision.
    """
    copy_bytes = DEEPSEEK.d_model * sum(map(number_bytes, precisions))
    return float(
        f.ALL_TO_ALL_BYTES(
            copy_bytes=copy_bytes,
            dispatched_copies=DEEPSEEK.ffn.top_k,  # type: ignore[union-attr]
            n_rows=float(ALL_TO_ALL_ROWS),
            balancedness=1.0,
        )
    )


def far_share(record: AllToAll) -> float:
    """Share of the copies of one published run that left their node."""
    return float(f.FAR_SHARE(n_nodes=f.NODES(ep=record.ep, node_gpus=NODE)))


def seconds_of(record: AllToAll) -> tuple[tuple[str, float], ...]:
    """Precision and seconds of the dispatch and the combine of one published run."""
    return tuple(
        zip(FORMS, map(float, (record.dispatch_s, record.combine_s)), strict=True)
    )


def link_times(record: AllToAll, precision: str) -> tuple[float, float]:
    """Seconds that a transfer would take at the peak of the far and the near link.

    The kernels of a group that leaves its node send what stays inside with the rest;
    their time is that of the far port.
    """
    size, far = layer_bytes(precision), far_share(record)
    if record.ep > NODE:
        return far * size / float(IB_NDR.bandwidth), 0.0
    return 0.0, size / float(NVLINK4_H800.bandwidth)


def fit_transfers(
    runs: tuple[AllToAll, ...] = ALL_TO_ALL,
) -> tuple[float, float, float]:
    """Seconds before a transfer's first byte, and the shares of both links after that.

    Least squares of the relative error over all published transfers. Each moves other
    bytes at the same rate, which is what tells a start from a rate.
    """
    times = [
        (np.array([1.0, *link_times(run, form)]) / seconds)
        for run in runs
        for form, seconds in seconds_of(run)
    ]
    start, *slow = np.linalg.lstsq(np.array(times), np.ones(len(times)))[0]
    far, near = (float(1 / each) for each in slow)
    return float(start), far, near
