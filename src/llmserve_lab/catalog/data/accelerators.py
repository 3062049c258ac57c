"""The accelerators of the book, by key; Hopper and later ones have their own files.

Blackwell's datasheets print no clock, so its peaks cannot be counted from the chip;
they are checked against the totals of the DGX B200 and of the NVL72 rack instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from llmserve_lab.catalog.data.hopper import (
    A100_80,
    CUDA_RUNTIME,
    H100,
    H200,
    H800,
    HALVED,
    HBM_BUS,
    tensor_peaks,
)
from llmserve_lab.catalog.data.more_accelerators import MORE
from llmserve_lab.catalog.records.accelerator import (
    GIB,
    Accelerator,
    ComputeArray,
    HbmStacks,
    Undisclosed,
)
from llmserve_lab.catalog.records.cited import Cited

B200_SHEET = "NVIDIA DGX B200 datasheet, 2025, divided by its 8 GPUs"
GB200_SHEET = "NVIDIA GB200 NVL72 datasheet, 2025, divided by its 72 GPUs"
BLACKWELL_SHEET = "NVIDIA Blackwell Architecture, technical brief, 2024"
MI325X_SHEET = "AMD Instinct MI325X data sheet, 2024"
MI300X_SHEET = "AMD Instinct MI300X data sheet, 2023"
CDNA3_PAPER = "AMD CDNA 3 Architecture, whitepaper, 2023"
AFD_PAPER = "arXiv 2601.21351 v1, tables 2 and 4"

_b200 = partial(Cited, kind="datasheet", source=B200_SHEET)
_gb200 = partial(Cited, kind="datasheet", source=GB200_SHEET)
_blackwell = partial(Cited, kind="datasheet", source=BLACKWELL_SHEET)
_mi300x = partial(Cited, kind="datasheet", source=MI300X_SHEET)
_mi325x = partial(Cited, kind="datasheet", source=MI325X_SHEET)
_cdna3 = partial(Cited, kind="datasheet", source=CDNA3_PAPER)
_afd = partial(Cited, kind="paper", source=AFD_PAPER)

HBM3E = HbmStacks(
    num_stacks=_blackwell(8, "dimensionless"),
    stack_bytes=_blackwell(24 * GIB, "byte"),
    bus_bits=HBM_BUS,
    pin_rate=Cited(
        8e9,
        "bit/s",
        "estimate",
        BLACKWELL_SHEET,
        "the speed grade of HBM3e; 8.2 TB/s by count, printed as 8",
    ),
)
B200 = Accelerator(
    name="B200 SXM",
    key="b200-sxm",
    architecture="blackwell",
    peak_flops=tensor_peaks(
        bf16=_b200(2.25e15, "FLOP/s", note=HALVED),
        fp8=_b200(4.5e15, "FLOP/s", note=HALVED),
        int8=_blackwell(4.5e15, "FLOP/s", note=HALVED),
        fp4=_b200(9e15, "FLOP/s", note=HALVED),
    ),
    hbm_bytes=_b200(180e9, "byte", note="of the 192 GB on the package"),
    hbm_bw=_b200(8e12, "byte/s"),
    scale_up="nvlink5",
    num_devices=8,
    hbm_stacks=HBM3E,
    driver_bytes=Cited(178.35 * GIB, "byte", "measured", CUDA_RUNTIME, "178.35 GiB"),
)
GB200 = Accelerator(
    name="GB200 NVL72",
    key="gb200-nvl72",
    architecture="blackwell",
    peak_flops=tensor_peaks(
        bf16=_gb200(2.5e15, "FLOP/s", note=HALVED),
        fp8=_gb200(5e15, "FLOP/s", note=HALVED),
        int8=_blackwell(5e15, "FLOP/s", note=HALVED),
        fp4=_gb200(10e15, "FLOP/s", note=HALVED),
    ),
    hbm_bytes=_gb200(186e9, "byte", note="of the 192 GB on the package"),
    hbm_bw=_gb200(8e12, "byte/s"),
    scale_up="nvlink5",
    num_devices=72,
    hbm_stacks=HBM3E,
)
MI300X = Accelerator(
    name="MI300X",
    key="mi300x",
    architecture="cdna3",
    peak_flops=tensor_peaks(
        bf16=_mi300x(1307.4e12, "FLOP/s"),
        fp8=_mi300x(2614.9e12, "FLOP/s"),
        int8=_mi300x(2614.9e12, "FLOP/s"),
    ),
    hbm_bytes=_mi300x(192e9, "byte", note="8 stacks of 24 GB"),
    hbm_bw=_mi300x(5.3e12, "byte/s"),
    scale_up="infinity-fabric-mi300x",
    num_devices=8,
    compute_array=ComputeArray(
        num_sms=_cdna3(304, "dimensionless", note="compute units"),
        boost_clock=_mi300x(2100e6, "cycle/s"),
        flops_per_cycle=tensor_peaks(
            bf16=_cdna3(2048, "FLOP/cycle"),
            fp8=_cdna3(4096, "FLOP/cycle"),
            int8=_cdna3(4096, "FLOP/cycle"),
        ),
    ),
    hbm_stacks=HbmStacks(
        num_stacks=_mi300x(8, "dimensionless"),
        stack_bytes=_mi300x(24 * GIB, "byte"),
        bus_bits=HBM_BUS,
        pin_rate=_mi300x(5.2e9, "bit/s"),
    ),
)
MI325X = replace(
    MI300X,
    name="MI325X",
    key="mi325x",
    peak_flops=tensor_peaks(
        bf16=_mi325x(1307.4e12, "FLOP/s"),
        fp8=_mi325x(2614.9e12, "FLOP/s"),
        int8=_mi325x(2614.9e12, "FLOP/s"),
    ),
    hbm_bytes=_mi325x(256e9, "byte", note="8 stacks of 32 GB"),
    hbm_bw=_mi325x(6e12, "byte/s"),
    hbm_stacks=None,
)
ASCEND_910C = Undisclosed(
    name="Ascend 910C",
    key="ascend-910c",
    architecture="da-vinci",
    reason=f"the paper ({AFD_PAPER}) gives only coefficients fitted to its traces; "
    "they are in .fitted, in cycles",
    fitted={
        "a_attn": _afd(0.00165, "cycle/token", note="slope of t_A(T)"),
        "b_attn": _afd(50, "cycle", note="intercept of t_A(T)"),
        "a_ffn": _afd(0.083, "cycle/request", note="slope of t_F(r·B)"),
        "b_ffn": _afd(100, "cycle", note="intercept of t_F(r·B)"),
        "a_comm": _afd(0.022, "cycle/token", note="slope of t_C(B)"),
        "b_comm": _afd(20, "cycle", note="intercept of t_C(B)"),
    },
)

ACCELERATORS: Mapping[str, Accelerator] = MappingProxyType(
    {
        each.key: each
        for each in (
            A100_80,
            H100,
            H200,
            H800,
            B200,
            GB200,
            MI300X,
            MI325X,
            *MORE,
            ASCEND_910C,
        )
    }
)
