"""Bundle of disaggregated Attention and FFN: xA–yF, with m batches in flight.

Every time is a straight line: attention in the tokens that it reads, the FFN and the
wire in the requests that pass. What the paper leaves open is an option with a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from llmserve_lab import catalog
from llmserve_lab.afd.simulation.length_distributions import Law
from llmserve_lab.checks import of_type, one_of, positive, whole, whole_fields

CYCLE_S = 1e-6  # the paper never says how long its cycle is; no ratio depends on it
Comm = Literal["loop", "hidden"]
Barrier = Literal["instance", "stage"]
Start = Literal["fresh", "stationary"]
Stop = Literal["total", "each"]


MOST_REQUESTS = 10**6  # of one instance


@dataclass(frozen=True)
class AffineTime:
    """``slope``·x + ``intercept``, in seconds; ``name`` is what errors call it."""

    slope: float
    intercept: float
    name: str = "line"

    def __post_init__(self) -> None:
        for part in ("slope", "intercept"):
            positive(f"{part} of {self.name}", getattr(self, part))

    def __call__(self, x: Any) -> Any:
        """Seconds at ``x``, a number or an array."""
        return self.slope * x + self.intercept


def ascend() -> dict[str, float]:
    """The paper's fitted coefficients by code name, its cycle written as 1 µs."""
    return {name: float(record) * CYCLE_S for name, record in fitted().items()}


def fitted() -> Mapping[str, catalog.Cited]:
    """The coefficients as the paper prints them, in cycles."""
    device = catalog.accelerator("ascend-910c")
    found: Mapping[str, catalog.Cited] = device.fitted  # type: ignore[attr-defined]
    return found


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """An xA–yF bundle.

    ``batch`` is requests in one batch of one Attention instance, ``n_batches`` how many
    such batches are in flight. ``comm``: the wire is on each batch's loop, or hidden
    (no time at all). ``barrier``: an instance that is done with a batch starts on the
    next one at once, or the whole Attention stage moves on together.

    Raises:
        ValueError: a count is not whole or below 1, or an option is unknown.
    """

    attn: AffineTime
    ffn: AffineTime
    wire: AffineTime
    batch: int
    n_attn: int = 1
    n_ffn: int = 1
    n_batches: int = 2
    comm: Comm = "loop"
    barrier: Barrier = "instance"

    def __post_init__(self) -> None:
        of_type(AffineTime, attn=self.attn, ffn=self.ffn, wire=self.wire)
        whole_fields(self, "batch", "n_attn", "n_ffn", "n_batches")
        one_of("comm", self.comm, Comm)
        one_of("barrier", self.barrier, Barrier)

    @property
    def ratio(self) -> float:
        """Attention instances for one FFN instance, r."""
        return self.n_attn / self.n_ffn

    @property
    def ffn_s(self) -> float:
        """Seconds of one FFN pass over the aggregated batch."""
        return float(self.ffn(self.ratio * self.batch))

    @property
    def comm_s(self) -> float:
        """Seconds of a round trip on the wire, nothing if it is hidden."""
        return float(self.wire(self.batch)) if self.comm == "loop" else 0.0

    @property
    def n_instances(self) -> int:
        """Machines that the throughput is divided by."""
        return self.n_attn + self.n_ffn


def bundle(
    known: dict[str, float],
    *,
    batch: int,
    n_attn: int = 1,
    n_ffn: int = 1,
    n_batches: int = 2,
    comm: Comm = "loop",
    barrier: Barrier = "instance",
) -> Bundle:
    """A bundle from coefficients by code name, ``a_attn`` to ``b_comm``."""
    attn, ffn, wire = (
        AffineTime(known[f"a_{part}"], known[f"b_{part}"], part)
        for part in ("attn", "ffn", "comm")
    )
    return Bundle(
        attn=attn,
        ffn=ffn,
        wire=wire,
        batch=batch,
        n_attn=n_attn,
        n_ffn=n_ffn,
        n_batches=n_batches,
        comm=comm,
        barrier=barrier,
    )


@dataclass(frozen=True, kw_only=True)
class Load:
    """What is served, and when to look.

    ``n_requests`` are to complete per Attention instance: over the bundle (``stop`` is
    ``"total"``) or on each instance (``"each"``). ``start``: every slot begins with a
    new request, or as a slot is found in steady state. ``steps`` is a key of
    :data:`llmserve_lab.afd.simulation.length_distributions.STEPS`.

    Raises:
        ValueError: ``n_requests`` is not whole or below 1, or an option is unknown.
    """

    law: Law
    n_requests: int
    start: Start = "fresh"
    stop: Stop = "total"
    steps: str = "end token"

    def __post_init__(self) -> None:
        whole(of="request", most=MOST_REQUESTS, n_requests=self.n_requests)
        one_of("start", self.start, Start)
        one_of("stop", self.stop, Stop)
        one_of("steps", self.steps, Literal["end token", "one each"])
