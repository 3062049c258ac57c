"""How long single all-reduces took on H100s: the kernels of an engine, NCCL, a switch.

Each time is one all-reduce alone, the same on every GPU, with nothing else on the link.
``nbytes`` is the whole tensor that each GPU holds before and after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from llmserve_lab.catalog.records.cited import Cited

PACKAGE = "aiconfigurator-core 0.12.0 (Apache-2.0), h100_sxm/comm"
ENGINE = f"{PACKAGE}/vllm/0.24.0: all-reduce of vLLM 0.24.0, bf16, in a CUDA graph"
NCCL = (
    f"{PACKAGE}/nccl/2.29.2: all_reduce of NCCL 2.29.2, its own choice of "
    "algorithm, on 8-bit integers, which a switch does not add"
)
SWITCH = "vLLM, pull request 42324, May 2026: symm_mem multimem, 8 GPUs of SM 9.0"
MICRO = 1e-6
SIZES = tuple(2**power for power in range(9, 29))  # bytes: 512 to 256 MiB
SWITCH_MIB = (0.5, 1, 1.5, 2, 3, 4, 8, 16, 32, 47.84, 64, 128)


@dataclass(frozen=True, kw_only=True)
class AllReduceRun:
    """One measured all-reduce: of how many bytes, on how many GPUs, by which kernel."""

    kernel: str
    n_gpus: int
    nbytes: float
    seconds: Cited


def _runs(
    kernel: str, source: str, n_gpus: int, sizes: tuple[float, ...], *micros: float
) -> tuple[AllReduceRun, ...]:
    return tuple(
        AllReduceRun(
            kernel=kernel,
            n_gpus=n_gpus,
            nbytes=nbytes,
            seconds=Cited(micro * MICRO, "s", "measured", source),
        )
        for nbytes, micro in zip(sizes, micros, strict=True)
    )


KIB, MIB = 1024, 1024**2
_limit = partial(Cited, unit="byte", kind="convention")
_PYTHON = "vLLM 0.33.0, vllm/distributed/device_communicators, compute capability 9.0"
_KERNEL = "vLLM, csrc/custom_all_reduce.cuh, GPUs fully joined by NVLink"


@dataclass(frozen=True)
class EngineLimits:
    """Tensors below ``one_shot`` go in one shot, below ``two_shot`` in two.

    Larger ones, up to ``in_switch``, the switch adds; the rest is left to NCCL.
    """

    one_shot: Cited
    two_shot: Cited
    in_switch: Cited


ENGINE_LIMITS: Mapping[int, EngineLimits] = MappingProxyType(
    {
        4: EngineLimits(
            _limit(512 * KIB, source=_KERNEL),
            _limit(8 * MIB, source=_PYTHON, note="the smaller of 32 and of 8 MiB"),
            _limit(32 * MIB, source=_PYTHON),
        ),
        8: EngineLimits(
            _limit(256 * KIB, source=_PYTHON),
            _limit(256 * KIB, source=_PYTHON, note="no size is left for two shots"),
            _limit(64 * MIB, source=_PYTHON),
        ),
    }
)
# fmt: off
ENGINE_RUNS = (
    *_runs("engine", ENGINE, 2, SIZES,
           4.246, 4.183, 4.214, 4.3, 4.376, 4.493, 4.436, 4.515, 4.751, 5.18, 6.315,
           8.34, 12.38, 20.24, 44.96, 81.42, 156.3, 306.7, 468.8, 885.4),
    *_runs("engine", ENGINE, 4, SIZES,
           4.517, 4.548, 4.578, 4.703, 4.81, 4.832, 4.904, 5.234, 5.8, 7.178, 11.4,
           12.76, 18.6, 30.25, 53.53, 98.77, 191.2, 329.9, 618.8, 1180.0),
    *_runs("engine", ENGINE, 8, SIZES,
           4.677, 4.608, 4.649, 5.554, 5.108, 5.31, 5.581, 6.411, 7.864, 10.79, 11.99,
           14.97, 19.39, 30.81, 50.7, 92.38, 177.8, 344.0, 577.4, 1091.0),
)
NCCL_RUNS = (
    *_runs("NCCL", NCCL, 2, SIZES,
           6.38, 6.39, 6.41, 6.42, 7.37, 7.64, 7.43, 7.81, 7.99, 9.37, 11.67, 16.45,
           30.1, 35.13, 51.38, 84.1, 151.6, 266.3, 487.8, 907.9),
    *_runs("NCCL", NCCL, 4, SIZES,
           9.49, 9.44, 9.62, 9.75, 10.11, 13.09, 11.77, 13.54, 12.03, 12.46, 15.79,
           20.54, 31.27, 40.24, 62.1, 109.8, 182.1, 340.7, 627.0, 1208.0),
    *_runs("NCCL", NCCL, 8, SIZES,
           15.49, 15.65, 15.76, 15.92, 16.67, 16.92, 19.96, 20.07, 20.41, 20.57, 20.93,
           27.85, 38.1, 46.9, 73.95, 119.8, 210.9, 372.9, 722.3, 1379.0),
)
SWITCH_RUNS = _runs(
    "in-switch", SWITCH, 8, tuple(mib * 2**20 for mib in SWITCH_MIB),
    11, 14, 16, 18, 23, 27, 46, 87, 165, 244, 320, 631,
)
# fmt: on
ALL_REDUCES: Mapping[str, tuple[AllReduceRun, ...]] = MappingProxyType(
    {"engine": ENGINE_RUNS, "NCCL": NCCL_RUNS, "in-switch": SWITCH_RUNS}
)
