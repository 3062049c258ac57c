"""The pipeline is two lines: wait for whoever is later, then work.

A step n belongs to batch n mod m. It starts on an instance when the batch is back and
the instance is free, and on the FFN when the slowest instance has arrived and the FFN
is free. That is a recursion in max and plus, and nothing else happens in a bundle.
"""

from __future__ import annotations

import numpy as np

from llmserve_lab.afd.simulation.bundle import Barrier
from llmserve_lab.afd.simulation.length_distributions import Floats


def pipeline(
    attn_s: Floats, ffn_s: float, comm_s: float, *, n_batches: int, barrier: Barrier
) -> tuple[Floats, Floats]:
    """When each step leaves each instance, and when it leaves the FFN.

    ``attn_s`` has shape (steps, instances), in seconds. Returns arrays of shapes
    (steps, instances) and (steps,). The wire takes half of ``comm_s`` each way.
    """
    if barrier == "stage" or attn_s.shape[1] == 1:
        return _together(attn_s, ffn_s, comm_s / 2, n_batches)
    return _alone(attn_s, ffn_s, comm_s / 2, n_batches)


def _alone(
    attn_s: Floats, ffn_s: float, half_s: float, n_batches: int
) -> tuple[Floats, Floats]:
    """Each instance moves on to the next batch as soon as it can."""
    left = np.empty_like(attn_s)
    out = [-half_s] * n_batches + [0.0] * len(attn_s)  # the first m batches are there
    free, busy = np.zeros(attn_s.shape[1]), 0.0
    slowest = np.maximum.reduce
    for n, work in enumerate(attn_s):
        done = np.maximum(free, out[n] + half_s, out=left[n])
        done += work
        busy = max(float(slowest(done)) + half_s, busy) + ffn_s
        out[n + n_batches], free = busy, done
    return left, np.array(out[n_batches:])


def _together(
    attn_s: Floats, ffn_s: float, half_s: float, n_batches: int
) -> tuple[Floats, Floats]:
    """The stage waits for its slowest instance before it takes the next batch."""
    slowest = attn_s.max(axis=1).tolist()
    begun, out = [], [-half_s] * n_batches
    free = busy = 0.0
    for n, work in enumerate(slowest):
        start = max(free, out[n] + half_s)
        free = start + work
        busy = max(free + half_s, busy) + ffn_s
        begun.append(start)
        out.append(busy)
    return np.array(begun)[:, None] + attn_s, np.array(out[n_batches:])
