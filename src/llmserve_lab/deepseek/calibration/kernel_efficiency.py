"""What share of each peak the kernels of a GPU generation reached, each run alone.

Nothing here comes from a whole deployment. Products, memory and the start of a kernel
are read off 28 published kernel times; attention, the links and the multiprocessors
lent to them off what three libraries print of themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from llmserve_lab import catalog
from llmserve_lab.catalog import EFFICIENCIES, Accelerator
from llmserve_lab.catalog.data.efficiencies import DEEP_GEMM_FLOPS, FLASH_MLA_BW
from llmserve_lab.catalog.evidence.kernels import (
    CAUSAL_RUNS,
    CUTLASS_MLA_BW,
    CUTLASS_MLA_CONTEXT,
    GRAPH_KERNEL_S,
    GRAPH_STEP_S,
    PRODUCT_RUNS,
)
from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.deepseek.calibration.link_efficiency import (
    DEEPSEEK,
    far_share_reached,
    near_share,
    trip_rates,
)

KERNELS_ON = "h800-sxm"  # where they were timed
BLACKWELL = frozenset({"b200-sxm", "gb200-nvl72"})
NEWTON_STEPS = 12
SHARES = ("attention", "products", "memory", "far", "near")


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Shares in (0, 1] of the peaks of attention's compute, products, memory, links.

    ``start_s`` is what a kernel costs before its first byte, in seconds, ``trip_s``
    what a dispatch or a combine costs before its first. ``prompts`` are the shares of
    attention's compute in prefill by the length of the prompt; where
    there are none, it is ``attention``.
    """

    name: str
    attention: float
    products: float
    memory: float
    far: float
    near: float
    start_s: float = 0.0
    trip_s: float = 0.0
    prompts: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in fields(self):
            value, is_share = getattr(self, each.name), each.name in SHARES
            if is_share and not 0 < value <= 1:
                raise ValueError(f"{each.name} must be a share in (0, 1], got {value}")
        for name in ("start_s", "trip_s"):
            if not 0 <= (seconds := getattr(self, name)) < np.inf:
                raise ValueError(f"{name} must be at least 0 s, got {seconds}")

    def attention_in(self, prompt: Any) -> Any:
        """Share of attention's compute in prefill of ``prompt`` tokens, or of each.

        Shorter and longer prompts than were measured are taken to reach as much as
        the shortest and the longest.
        """
        if not self.prompts:
            return self.attention
        return np.interp(prompt, [*self.prompts], [*self.prompts.values()])


Generations = Mapping[str, Shares]


def generation(accelerator: Accelerator) -> str:
    """``blackwell`` or ``hopper``; others are taken to reach what Hopper does."""
    return "blackwell" if accelerator.key in BLACKWELL else "hopper"


def alike(shares: Shares) -> Generations:
    """The same shares for every generation."""
    return MappingProxyType({"hopper": shares, "blackwell": shares})


@cache
def product_rates() -> tuple[float, float, float]:
    """FLOP/s, byte/s and seconds to start that describe the published kernels best.

    A kernel takes start + √(read² + compute²). Least squares of the relative error, by
    Gauss and Newton from the headlines on.
    """
    seconds = np.array([run.seconds for run in PRODUCT_RUNS])
    work = np.array([(run.flops, run.traffic_bytes) for run in PRODUCT_RUNS])
    found = np.log([float(DEEP_GEMM_FLOPS), float(FLASH_MLA_BW), 1e-6])
    for _ in range(NEWTON_STEPS):
        *rates, start = np.exp(found)
        parts = work / rates
        long = np.sqrt((parts**2).sum(axis=1))
        slope = np.column_stack(
            [-(parts**2) / long[:, None], np.full_like(long, start)]
        )
        took = start + long
        found += np.linalg.lstsq(slope / took[:, None], np.log(seconds / took))[0]
    compute, read, start = (float(value) for value in np.exp(found))
    return compute, read, start


@cache
def hopper() -> Shares:
    """What was reached on an H800."""
    device = catalog.accelerator(KERNELS_ON)
    compute, read, start = product_rates()
    return Shares(
        name="Hopper's kernels",
        attention=float(EFFICIENCIES["flashmla"].compute),
        products=compute / float(device.peak("fp8")),
        memory=read / float(device.hbm_bw),
        far=far_share_reached(),
        near=near_share(),
        start_s=start + float(GRAPH_STEP_S) - float(GRAPH_KERNEL_S),
        prompts={
            length: float(reached) / float(device.peak("bf16"))
            for length, reached in CAUSAL_RUNS.items()
        },
    )


@cache
def blackwell() -> Shares:
    """Hopper's, with the attention kernel that served in June 2025."""
    return replace(hopper(), name="June's kernels", attention=cutlass_share())


def with_trips(shares: Shares) -> Shares:
    """The same with a start for every trip, and the shares of the links that leaves."""
    trip_s, far, near = trip_rates()
    name = f"{shares.name}, trips started"
    return replace(shares, name=name, trip_s=trip_s, far=far, near=near)


def trips_started() -> Generations:
    """The default sets, each with a start for every trip."""
    made = {name: with_trips(shares) for name, shares in measured_shares().items()}
    return MappingProxyType(made)


def cutlass_share() -> float:
    """Of a B200's peak, from the bandwidth that its benchmark prints."""
    attention = DEEPSEEK.attention
    assert isinstance(attention, LatentAttention)
    context = float(CUTLASS_MLA_CONTEXT)
    wide = attention.n_heads * (attention.kv_elements + attention.d_latent)
    moved = 2 * (context * attention.kv_elements + wide)  # bytes of one request
    seconds = moved / float(CUTLASS_MLA_BW)
    flops = context * attention.flops_per_pair()
    return flops / seconds / float(catalog.accelerator("b200-sxm").peak("bf16"))


def _of(key: str, products: str) -> Shares:
    attention, gemm = EFFICIENCIES[key], EFFICIENCIES[products]
    return Shares(
        name=attention.name.removesuffix(", attention").removesuffix(", measured"),
        attention=float(attention.compute),
        products=float(gemm.compute),
        memory=float(attention.memory),
        far=float(attention.link),
        near=float(attention.link),
    )


def measured_shares() -> Generations:
    """One named set for each generation: the default."""
    return MappingProxyType({"hopper": hopper(), "blackwell": blackwell()})


PAPER = _of("mazurek-mla", "mazurek-experts")
HEADLINES = _of("flashmla", "deepgemm")
PEAKS = _of("datasheet", "datasheet")
