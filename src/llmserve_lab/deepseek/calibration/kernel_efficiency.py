"""What share of each peak the kernels of an architecture reached, each run alone.

Nothing here comes from a whole deployment. GEMMs, memory and the launch of a kernel
are read off 28 published kernel times; attention, the links and the multiprocessors
lent to them off what three libraries print of themselves.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import MappingProxyType

import numpy as np

from llmserve_lab import catalog
from llmserve_lab.catalog import EFFICIENCIES
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
from llmserve_lab.deepseek.calibration.constants import (
    FAR_SHARE,
    GEMM_FLOPS,
    GEMM_READ,
    GEMM_START,
    NEAR_SHARE,
    TRANSFER_START,
)
from llmserve_lab.deepseek.model.assumptions import KernelEfficiency, Kernels, on_every
from llmserve_lab.deepseek.model.setup import DEEPSEEK
from llmserve_lab.formula.arrays import Array

KERNELS_ON = "h800-sxm"  # where they were timed


def gemm_s(compute: float, read: float, start: float) -> Array:
    """Seconds of each published GEMM at FLOP/s, byte/s and seconds to start."""
    work = np.array([(run.flops, run.traffic_bytes) for run in PRODUCT_RUNS])
    return np.asarray(start + np.hypot(*(work / (compute, read)).T))


def fit_gemm() -> tuple[float, float, float]:
    """FLOP/s, byte/s and seconds to start that describe the published kernels best.

    A kernel takes start + √(read² + compute²), the law under which a step uses them.
    Least squares of the logarithm.
    """
    from llmserve_lab.extras import optimize

    seconds = np.array([run.seconds for run in PRODUCT_RUNS])
    first = np.log([float(DEEP_GEMM_FLOPS), float(FLASH_MLA_BW), 1e-6])

    def off(found: Array) -> Array:
        return np.asarray(np.log(gemm_s(*np.exp(found)) / seconds))

    found = optimize.least_squares(off, first, x_scale=1e-2, xtol=1e-12, ftol=1e-12).x
    compute, read, start = (float(value) for value in np.exp(found))
    return compute, read, start


@cache
def hopper() -> KernelEfficiency:
    """What was reached on an H800."""
    device = catalog.accelerator(KERNELS_ON)
    return KernelEfficiency(
        name="Hopper's kernels",
        attention=float(EFFICIENCIES["flashmla"].compute),
        cache=float(EFFICIENCIES["flashmla"].memory),
        gemm=float(GEMM_FLOPS) / float(device.peak("fp8")),
        memory=float(GEMM_READ) / float(device.hbm_bw),
        far=float(FAR_SHARE),
        near=float(NEAR_SHARE),
        launch_s=float(GEMM_START) + float(GRAPH_STEP_S) - float(GRAPH_KERNEL_S),
        transfer_start_s=float(TRANSFER_START),
        prompts={
            length: float(reached) / float(device.peak("bf16"))
            for length, reached in CAUSAL_RUNS.items()
        },
    )


@cache
def blackwell() -> KernelEfficiency:
    """Hopper's, with the attention kernel that served in June 2025."""
    return replace(hopper(), name="June's kernels", attention=cutlass_share())


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


def _of(key: str, gemm: str) -> KernelEfficiency:
    attention, product = EFFICIENCIES[key], EFFICIENCIES[gemm]
    return KernelEfficiency(
        name=attention.name.removesuffix(", attention").removesuffix(", measured"),
        attention=float(attention.compute),
        cache=float(attention.memory),
        gemm=float(product.compute),
        memory=float(attention.memory),
        far=float(attention.link),
        near=float(attention.link),
    )


@cache
def measured_kernels() -> Kernels:
    """One named set for each architecture whose kernels were timed: the default."""
    return MappingProxyType({"hopper": hopper(), "blackwell": blackwell()})


def alike(efficiency: KernelEfficiency) -> Kernels:
    """The same shares on every architecture of :func:`measured_kernels`."""
    return on_every(efficiency, *measured_kernels())


PAPER = _of("mazurek-mla", "mazurek-experts")
HEADLINES = _of("flashmla", "deepgemm")
PEAKS = _of("datasheet", "datasheet")
