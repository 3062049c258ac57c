"""Accelerators beside the book's own: H20, B300, cards without NVLink, other makers.

Of these no chip is counted but the MI355X's; the rest is what their makers print, or,
where a maker prints no sheet, what users of the chip have published.
"""

from __future__ import annotations

from functools import partial
from types import MappingProxyType

from llmserve_lab.catalog.data.hopper import HALVED, PACKAGE, tensor_peaks
from llmserve_lab.catalog.records.accelerator import (
    B300_DRIVER,
    B300_PRINTED,
    Accelerator,
    ComputeArray,
)
from llmserve_lab.catalog.records.cited import Cited

MIB = 1024**2
INFERSIM = "Alibaba, InferSim, hardware/gpu.py, 2025"
CONFIGURATOR = "NVIDIA, AIConfigurator, systems, 2026"
B300_SHEET = "NVIDIA Blackwell Ultra datasheet, 2025, divided by the 8 GPUs of a B300"
L40S_SHEET = "NVIDIA L40S datasheet, 2023"
RTX_SHEET = "NVIDIA RTX PRO 6000 Blackwell Workstation Edition datasheet, 2025"
MI355X_SHEET = "AMD Instinct MI355X data sheet, 2025"
TRAINIUM = "AWS Neuron documentation, Trainium2 architecture"
TPU = "Google Cloud, TPU v6e documentation"
SMI = "total memory as nvidia-smi reports it"

_infersim = partial(Cited, kind="paper", source=INFERSIM)
_configurator = partial(Cited, kind="paper", source=CONFIGURATOR)
_b300 = partial(Cited, kind="datasheet", source=B300_SHEET)
_l40s = partial(Cited, kind="datasheet", source=L40S_SHEET)
_rtx = partial(Cited, kind="datasheet", source=RTX_SHEET)
_mi355x = partial(Cited, kind="datasheet", source=MI355X_SHEET)
_trainium = partial(Cited, kind="datasheet", source=TRAINIUM)
_tpu = partial(Cited, kind="datasheet", source=TPU)
_driver = partial(Cited, unit="byte", kind="measured", source=f"{CONFIGURATOR}: {SMI}")

H20 = Accelerator(
    name="H20 SXM",
    key="h20-sxm",
    architecture="hopper",
    peak_flops=tensor_peaks(
        bf16=_infersim(148e12, "FLOP/s"), fp8=_infersim(296e12, "FLOP/s")
    ),
    hbm_bytes=_infersim(96e9, "byte"),
    hbm_bw=_configurator(4e12, "byte/s"),
    scale_up="nvlink4",
    num_devices=8,
)
B300 = Accelerator(
    name="B300 SXM",
    key="b300-sxm",
    architecture="blackwell-ultra",
    peak_flops=tensor_peaks(
        bf16=_b300(2.25e15, "FLOP/s", note=HALVED),
        fp8=_b300(4.5e15, "FLOP/s", note=HALVED),
        int8=_b300(153.5e12, "FLOP/s", note=HALVED),
        fp4=_b300(14e15, "FLOP/s", note="printed as dense"),
    ),
    hbm_bytes=B300_PRINTED,
    hbm_bw=_b300(7.75e12, "byte/s", note="62 TB/s for the system"),
    scale_up="nvlink5",
    num_devices=8,
    driver_bytes=B300_DRIVER,
)
L40S = Accelerator(
    name="L40S",
    key="l40s",
    architecture="ada",
    peak_flops=tensor_peaks(
        bf16=_l40s(362.05e12, "FLOP/s", note=HALVED),
        fp8=_l40s(733e12, "FLOP/s", note=HALVED),
        int8=_l40s(733e12, "FLOP/s", note=HALVED),
    ),
    hbm_bytes=_l40s(48e9, "byte", note="GDDR6, on the board"),
    hbm_bw=_l40s(864e9, "byte/s"),
    scale_up="pcie-gen4",
    num_devices=8,
    driver_bytes=_driver(46_068 * MIB, note="46,068 MiB"),
)
_OF_FP4 = "of the FP4 peak, as NVIDIA's AIConfigurator has the ratios"
RTX_PRO_6000 = Accelerator(
    name="RTX PRO 6000 Blackwell",
    key="rtx-pro-6000",
    architecture="blackwell-rtx",
    peak_flops=tensor_peaks(
        bf16=Cited(500e12, "FLOP/s", "estimate", CONFIGURATOR, f"a quarter {_OF_FP4}"),
        fp8=Cited(1e15, "FLOP/s", "estimate", CONFIGURATOR, f"a half {_OF_FP4}"),
        fp4=_rtx(2e15, "FLOP/s", note=HALVED),
    ),
    hbm_bytes=_rtx(96e9, "byte", note="GDDR7, on the board"),
    hbm_bw=_rtx(1.792e12, "byte/s"),
    scale_up="pcie-gen5",
    num_devices=8,
    driver_bytes=_driver(97_887 * MIB, note="97,887 MiB, on the Server Edition"),
)
MI355X = Accelerator(
    name="MI355X",
    key="mi355x",
    architecture="cdna4",
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
    peak_flops=MappingProxyType(
        {"bf16": _tpu(918e12, "FLOP/s"), "int8": _tpu(1836e12, "FLOP/s")}
    ),
    hbm_bytes=_tpu(32e9, "byte"),
    hbm_bw=_tpu(1638e9, "byte/s"),
    scale_up="ici-v6e",
    num_devices=256,
)
MORE = (H20, B300, L40S, RTX_PRO_6000, MI355X, TRAINIUM2, TPU_V6E)
