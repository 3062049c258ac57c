"""Blackwell: B200, GB200, B300 and the workstation card, none of them counted.

Blackwell's datasheets print no clock, so its peaks cannot be counted from the chip;
they are checked against the totals of the DGX B200 and of the NVL72 rack instead.
"""

from __future__ import annotations

from functools import partial

from llmserve_lab.catalog.data.nvidia_ampere_to_hopper import (
    CONFIGURATOR,
    CUDA_RUNTIME,
    HALVED,
    HBM_BUS,
    MIB,
    listed_bytes,
    tensor_peaks,
)
from llmserve_lab.catalog.records.accelerator import (
    B300_DRIVER,
    B300_PRINTED,
    GIB,
    Accelerator,
    HbmStacks,
)
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.records.source_links import NVIDIA, Document

B200_SHEET = Document(
    "NVIDIA DGX B200 datasheet, 2025, divided by its 8 GPUs", f"{NVIDIA}/dgx-b200/"
)
GB200_SHEET = Document(
    "NVIDIA GB200 NVL72 datasheet, 2025, divided by its 72 GPUs",
    f"{NVIDIA}/gb200-nvl72/",
)
BLACKWELL_SHEET = Document(
    "NVIDIA Blackwell Architecture, technical brief, 2024",
    f"{NVIDIA}/technologies/blackwell-architecture/",
)
B300_SHEET = Document(
    "NVIDIA Blackwell Ultra datasheet, 2025, divided by the 8 GPUs of a B300",
    "https://resources.nvidia.com/en-us-blackwell-architecture/"
    "blackwell-ultra-datasheet",
)
RTX_SHEET = Document(
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition datasheet, 2025",
    "https://www.nvidia.com/en-us/products/workstations/professional-desktop-gpus/"
    "rtx-pro-6000/",
)
_OF_FP4 = "of the FP4 peak, as NVIDIA's AIConfigurator has the ratios"

_b200 = partial(Cited, kind="datasheet", source=B200_SHEET)
_gb200 = partial(Cited, kind="datasheet", source=GB200_SHEET)
_blackwell = partial(Cited, kind="datasheet", source=BLACKWELL_SHEET)
_b300 = partial(Cited, kind="datasheet", source=B300_SHEET)
_rtx = partial(Cited, kind="datasheet", source=RTX_SHEET)

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
    family=("B200", "Blackwell"),
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
    family=("GB200", "B200", "Blackwell"),
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
B300 = Accelerator(
    name="B300 SXM",
    key="b300-sxm",
    architecture="blackwell-ultra",
    family=("B300", "Blackwell Ultra"),
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
RTX_PRO_6000 = Accelerator(
    name="RTX PRO 6000 Blackwell",
    key="rtx-pro-6000",
    architecture="blackwell-rtx",
    family=("RTX PRO 6000", "Blackwell"),
    peak_flops=tensor_peaks(
        bf16=Cited(500e12, "FLOP/s", "estimate", CONFIGURATOR, f"a quarter {_OF_FP4}"),
        fp8=Cited(1e15, "FLOP/s", "estimate", CONFIGURATOR, f"a half {_OF_FP4}"),
        fp4=_rtx(2e15, "FLOP/s", note=HALVED),
    ),
    hbm_bytes=_rtx(96e9, "byte", note="GDDR7, on the board"),
    hbm_bw=_rtx(1.792e12, "byte/s"),
    scale_up="pcie-gen5",
    num_devices=8,
    driver_bytes=listed_bytes(97_887 * MIB, note="97,887 MiB, on the Server Edition"),
)
