"""Seconds of a ring: what its ranks compute, and what of its hops nothing hides.

Each rank is one GPU with a port of its own, and room for all weights; a tensor-parallel
group with a port for each of its GPUs has the same times, its all-reduces left out: it
divides the arithmetic and the bytes of a port alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llmserve_lab import catalog
from llmserve_lab.catalog import ModelShape
from llmserve_lab.checks import one_of, whole
from llmserve_lab.engine.timing.load import IterationLoad
from llmserve_lab.parallelism import formulas as f
from llmserve_lab.parallelism.arguments import MODEL, over, sizes_of
from llmserve_lab.parallelism.deployments import GpuLayout

BETWEEN = catalog.link("infiniband-ndr")
Passed = Literal["pass-KV", "pass-Q"]


@dataclass(frozen=True)
class RingTime:
    """Seconds of computing on each rank, and of sending that computing does not hide.

    ``alone_s`` is what one rank would take for the whole prompt.
    """

    compute_s: float
    exposed_s: float
    alone_s: float

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.compute_s + self.exposed_s

    @property
    def speedup(self) -> float:
        """How many times as fast as one rank."""
        return self.alone_s / self.seconds


def _send_s(nbytes: float) -> float:
    link = over(BETWEEN)
    return nbytes / (float(link["link_bw"]) * float(link["eff_link"]))


def fresh(rows: int, ranks: int, model: ModelShape = MODEL) -> RingTime:
    """A prompt of which nothing is cached, dealt zig-zag, pass-KV.

    Raises:
        ValueError: there is no row, or no rank.
    """
    whole(rows=rows, ranks=ranks)
    cost, n = GpuLayout(model=model).cost(), rows * ranks
    pairs = n * (n + 1) // 2
    step_s = cost.pair_s * rows * rows / 2
    hop_s = _send_s(rows * cost.kv_bytes_per_token)
    return RingTime(
        cost.seconds(IterationLoad(rows, pairs // ranks, 0, 1, 1)),
        (ranks - 1) * max(0.0, hop_s - step_s),
        cost.seconds(IterationLoad(n, pairs, 0, 1, 1)),
    )


def follow_up_s(
    old: int, new: int, ranks: int, method: Passed
) -> tuple[float, float, float]:
    """A question on a cached prompt: seconds of a hop, of its attention, exposed.

    What pass-Q found comes back when no computing is left to hide it.

    Raises:
        ValueError: no such method, or nothing to share out.
    """
    one_of("method", method, Passed)
    whole(old=old, new=new, ranks=ranks)
    known, cost = sizes_of(MODEL), GpuLayout().cost()
    mine, block = new / ranks, (old + new) / ranks
    step_s = cost.pair_s * mine * block
    if method == "pass-KV":
        hop_s, back_s = _send_s(block * cost.kv_bytes_per_token), 0.0
    else:
        whole_trip = float(f.QUERY_BYTES_PER_TOKEN.at(known))
        out = float(known["n_layers"]) * float(known["n_heads"])
        out *= float(known["d_head"]) * float(known["bytes_act"])
        hop_s = _send_s(mine * out)
        back_s = (ranks - 1) * _send_s(mine * (whole_trip - out))
    return hop_s, step_s, (ranks - 1) * max(0.0, hop_s - step_s) + back_s
