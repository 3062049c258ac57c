"""Max-plus recursion of the pipeline: wait for the later of two, then work.

A step n belongs to batch n mod m. It starts on an instance when the batch is back and
the instance is free, and on the FFN when the slowest instance (the straggler) has
arrived and the FFN is free. That is a recursion in max and plus, and nothing else
happens in a bundle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from llmserve_lab.afd.simulation.bundle import Barrier
from llmserve_lab.afd.simulation.length_distributions import Floats


def max_plus(
    work_s: Iterable[Any],
    ffn_s: Any,
    half_s: float,
    *,
    n_batches: int,
    slowest: Callable[[Any], Any],
    spread: Callable[[Any], Any],
    later: Callable[[Any, Any], Any] = np.maximum,
) -> Iterator[tuple[Any, Any, Any]]:
    """When each step starts, leaves Attention, and leaves the FFN, step after step.

    One bundle or many side by side: ``work_s`` yields the Attention times of a step,
    for every worker that moves on by itself; ``slowest`` takes the largest of each
    bundle, ``spread`` hands the time of a bundle to its workers, and ``later`` is the
    larger of two times. The wire takes ``half_s`` each way.
    """
    # The first m batches are there at time 0: as if the FFN had let them go before.
    out = deque([ffn_s * 0.0 - half_s] * n_batches, maxlen=n_batches)
    free: Any = 0.0
    busy: Any = 0.0
    for work in work_s:
        start = later(free, spread(out[0] + half_s))
        free = start + work
        busy = later(slowest(free) + half_s, busy) + ffn_s
        out.append(busy)
        yield start, free, busy


def itself(times: Any) -> Any:
    """The times as they are: of a single worker, or for all workers alike."""
    return times


def pipeline(
    attn_s: Floats, ffn_s: float, comm_s: float, *, n_batches: int, barrier: Barrier
) -> tuple[Floats, Floats]:
    """When each step leaves each instance, and when it leaves the FFN, of one bundle.

    ``attn_s`` has shape (steps, instances), in seconds. Returns arrays of shapes
    (steps, instances) and (steps,). The wire takes half of ``comm_s`` each way. Where
    the ``barrier`` is the stage, it waits for its slowest instance before it takes the
    next batch; otherwise each instance moves on as soon as it can.
    """
    options: dict[str, Any] = {"n_batches": n_batches, "spread": itself}
    if barrier == "stage" or attn_s.shape[1] == 1:
        # Python's max on floats, which is five times as fast as NumPy's on scalars.
        options |= {"slowest": itself, "later": max}
        slowest = attn_s.max(axis=1).tolist()
        times = np.array([*max_plus(slowest, ffn_s, comm_s / 2, **options)])
        return times[:, :1] + attn_s, times[:, 2]
    left, out = np.empty_like(attn_s), np.empty(len(attn_s))
    steps = max_plus(attn_s, ffn_s, comm_s / 2, slowest=np.maximum.reduce, **options)
    for n, (_, free, busy) in enumerate(steps):
        left[n], out[n] = free, busy
    return left, out
