"""Accelerators of other makers: AMD, AWS, Google, Huawei.

AMD's chips are counted; the rest is what the makers print, or, where a maker prints no
sheet, what users of the chip have published.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import MappingProxyType

from llmserve_lab.catalog.data.links import (
    CDNA3_PAPER,
    INSTINCT,
    MI355X_SHEET,
    NEURON,
    TPU,
)
from llmserve_lab.catalog.data.nvidia_ampere_to_hopper import (
    HBM_BUS,
    PACKAGE,
    tensor_peaks,
)
from llmserve_lab.catalog.records.accelerator import (
    GIB,
    Accelerator,
    ComputeArray,
    HbmStacks,
    Undisclosed,
)
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.records.source_links import Document

MI325X_SHEET = Document(
    "AMD Instinct MI325X data sheet, 2024", f"{INSTINCT}/mi300/mi325x.html"
)
MI300X_SHEET = Document(
    "AMD Instinct MI300X data sheet, 2023", f"{INSTINCT}/mi300/mi300x.html"
)
AFD_PAPER = "arXiv 2601.21351 v1, tables 2 and 4"

_mi300x = partial(Cited, kind="datasheet", source=MI300X_SHEET)
_mi325x = partial(Cited, kind="datasheet", source=MI325X_SHEET)
_cdna3 = partial(Cited, kind="datasheet", source=CDNA3_PAPER)
_afd = partial(Cited, kind="paper", source=AFD_PAPER)
_mi355x = partial(Cited, kind="datasheet", source=MI355X_SHEET)
_trainium = partial(Cited, kind="datasheet", source=NEURON)
_tpu = partial(Cited, kind="datasheet", source=TPU)

MI300X = Accelerator(
    name="MI300X",
    key="mi300x",
    architecture="cdna3",
    family=("MI300X", "CDNA 3"),
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
    family=("MI325X", "MI300X", "CDNA 3"),
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
    family=("910C",),
    reason=f"the paper ({AFD_PAPER}) gives only coefficients fitted to its traces; "
    "they are in .fitted, in cycles",
    fitted={
        "a_attn": _afd(0.00165, "cycle/token", note="slope of t_A(T)"),
        "b_attn": _afd(50, "cycle", note="intercept of t_A(T)"),
        "a_ffn": _afd(0.083, "cycle/request", note="slope of t_F(r·B)"),
        "b_ffn": _afd(100, "cycle", note="intercept of t_F(r·B)"),
        "a_comm": _afd(0.022, "cycle/request", note="slope of t_C(B)"),
        "b_comm": _afd(20, "cycle", note="intercept of t_C(B)"),
    },
)
MI355X = Accelerator(
    name="MI355X",
    key="mi355x",
    architecture="cdna4",
    family=("MI355X",),
    peak_flops=tensor_peaks(
        bf16=_mi355x(2.5e15, "FLOP/s"),
        fp8=_mi355x(5e15, "FLOP/s"),
        fp4=_mi355x(10.1e15, "FLOP/s", note="MXFP4"),
    ),
    hbm_bytes=_mi355x(288e9, "byte"),
    hbm_bw=_mi355x(8e12, "byte/s"),
    scale_up="infinity-fabric-mi355x",
    num_devices=8,
    compute_array=ComputeArray(
        num_sms=_mi355x(256, "dimensionless", note="compute units"),
        boost_clock=_mi355x(2400e6, "cycle/s"),
        flops_per_cycle=tensor_peaks(
            bf16=_mi355x(4096, "FLOP/cycle"),
            fp8=_mi355x(8192, "FLOP/cycle"),
            fp4=_mi355x(16_384, "FLOP/cycle"),
        ),
    ),
)
TRAINIUM2 = Accelerator(
    name="Trainium2",
    key="trainium2",
    architecture="neuroncore-v3",
    family=("Trainium2",),
    peak_flops=tensor_peaks(
        bf16=_trainium(667e12, "FLOP/s"), fp8=_trainium(1299e12, "FLOP/s")
    ),
    hbm_bytes=_trainium(96e9, "byte", note=PACKAGE),
    hbm_bw=_trainium(2.9e12, "byte/s"),
    scale_up="neuronlink-v3",
    num_devices=16,
)
TPU_V6E = Accelerator(
    name="TPU v6e",
    key="tpu-v6e",
    architecture="trillium",
    family=("TPU v6e",),
    peak_flops=MappingProxyType(
        {"bf16": _tpu(918e12, "FLOP/s"), "int8": _tpu(1836e12, "FLOP/s")}
    ),
    hbm_bytes=_tpu(32e9, "byte"),
    hbm_bw=_tpu(1638e9, "byte/s"),
    scale_up="ici-v6e",
    num_devices=256,
)
