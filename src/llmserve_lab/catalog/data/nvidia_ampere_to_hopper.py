"""Ampere, Ada, Hopper: A100, L40S, H100 with its memory, H200, H800 and H20."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from llmserve_lab.catalog.data.links import A100_PAPER, H100_PAPER
from llmserve_lab.catalog.records.accelerator import (
    GIB,
    Accelerator,
    ComputeArray,
    HbmStacks,
    MemoryLevel,
)
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.records.source_links import NVIDIA, Document

A100_SHEET = Document("NVIDIA A100 80GB datasheet, 2022", f"{NVIDIA}/a100/")
H100_SHEET = Document("NVIDIA H100 Tensor Core GPU datasheet, 2024", f"{NVIDIA}/h100/")
H200_SHEET = Document("NVIDIA H200 Tensor Core GPU datasheet, 2024", f"{NVIDIA}/h200/")
L40S_SHEET = Document("NVIDIA L40S datasheet, 2023", f"{NVIDIA}/l40s/")
INFERSIM = "Alibaba, InferSim, hardware/gpu.py, 2025"
CONFIGURATOR = "NVIDIA, AIConfigurator, systems, 2026"
JEDEC = "JEDEC JESD235 and JESD238, High Bandwidth Memory"
CUDA_RUNTIME = "total memory of the device as the CUDA runtime reports it"
NVIDIA_SMI = "memory clock that nvidia-smi reports, twice per cycle"
SMI = "total memory as nvidia-smi reports it"
HALVED = "the datasheet prints the sparse number, which is twice this one"
PACKAGE = "datasheet digits × 1e9; the stacks hold that many GiB"

MIB = 1024**2
H100_GIB = 79.19
HBM_BUS = Cited(1024, "bit", "paper", JEDEC, "per stack")

_driver = partial(Cited, unit="byte", kind="measured", source=CUDA_RUNTIME)
_a100 = partial(Cited, kind="datasheet", source=A100_SHEET)
_ampere = partial(Cited, kind="datasheet", source=A100_PAPER)
_hopper = partial(Cited, kind="datasheet", source=H100_PAPER)
_h100 = partial(Cited, kind="datasheet", source=H100_SHEET)
_h200 = partial(Cited, kind="datasheet", source=H200_SHEET)
_l40s = partial(Cited, kind="datasheet", source=L40S_SHEET)
_infersim = partial(Cited, kind="paper", source=INFERSIM)
_configurator = partial(Cited, kind="paper", source=CONFIGURATOR)
listed_bytes = partial(
    Cited, unit="byte", kind="measured", source=f"{CONFIGURATOR}: {SMI}"
)


def tensor_peaks(**peaks: Cited) -> Mapping[str, Cited]:
    """Peaks by precision; FP16 runs at the BF16 rate on every device of the catalog."""
    return MappingProxyType(peaks | {"fp16": peaks["bf16"]})


GA100 = ComputeArray(
    num_sms=_ampere(108, "dimensionless"),
    boost_clock=_ampere(1410e6, "cycle/s"),
    flops_per_cycle=tensor_peaks(
        bf16=_ampere(2048, "FLOP/cycle"), int8=_ampere(4096, "FLOP/cycle")
    ),
)
GH100 = ComputeArray(
    num_sms=_hopper(132, "dimensionless"),
    boost_clock=_hopper(1830e6, "cycle/s", note="the clock of the tensor-core peaks"),
    flops_per_cycle=tensor_peaks(
        bf16=_hopper(4096, "FLOP/cycle"),
        fp8=_hopper(8192, "FLOP/cycle"),
        int8=_hopper(8192, "FLOP/cycle"),
    ),
)
HOPPER_PEAKS = tensor_peaks(
    bf16=_hopper(989.4e12, "FLOP/s", note=HALVED),
    fp8=_hopper(1978.9e12, "FLOP/s", note=HALVED),
    int8=_hopper(1978.9e12, "FLOP/s", note=HALVED),
)
HBM3 = HbmStacks(
    num_stacks=_hopper(5, "dimensionless"),
    stack_bytes=_hopper(16 * GIB, "byte"),
    bus_bits=HBM_BUS,
    pin_rate=Cited(5.238e9, "bit/s", "measured", NVIDIA_SMI),
)


def _per_sm(name: str, kib: Cited, per_cycle: Cited) -> MemoryLevel:
    """Add up a level that every SM has a piece of, at the tensor-core clock."""
    num_sms, clock = float(GH100.num_sms), float(GH100.boost_clock)
    size = num_sms * float(kib) * 1024
    speed = num_sms * float(per_cycle) * clock
    kib_note = f"{kib.value:g} KiB in each of {num_sms:g} SMs"
    rate_note = f"{per_cycle.value:g} bytes per cycle and SM; {per_cycle.note}"
    return MemoryLevel(
        name,
        Cited(size, "byte", kib.kind, kib.source, kib_note),
        Cited(speed, "byte/s", per_cycle.kind, per_cycle.source, rate_note),
    )


_CUDA = "NVIDIA CUDA C++ Programming Guide, compute capability 9.0"
H100_LEVELS = (
    _per_sm(
        "registers",
        _hopper(256, "kibibyte"),
        Cited(
            1536, "byte/cycle", "estimate", _CUDA, "128 lanes × 3 operands × 4 bytes"
        ),
    ),
    _per_sm(
        "shared memory",
        _hopper(228, "kibibyte"),
        Cited(128, "byte/cycle", "estimate", _CUDA, "32 banks × 4 bytes"),
    ),
    MemoryLevel(
        "L2",
        _hopper(50e6, "byte"),
        Cited(
            5e12,
            "byte/s",
            "paper",
            "article 06, figure in section 1",
            "an effective rate; 5120 bytes per cycle would allow 9 TB/s",
        ),
    ),
    MemoryLevel("HBM", _h100(80e9, "byte", note=PACKAGE), _h100(3.35e12, "byte/s")),
)
L1_BYTES_PER_SM = _hopper(
    256 * 1024, "byte", note="L1 and shared memory together; a kernel can use 228 KiB"
)

A100_80 = Accelerator(
    name="A100 80GB SXM",
    key="a100-80-sxm",
    architecture="ampere",
    family=("A100", "Ampere"),
    peak_flops=tensor_peaks(bf16=_a100(312e12, "FLOP/s"), int8=_a100(624e12, "FLOP/s")),
    hbm_bytes=_a100(80e9, "byte", note=PACKAGE),
    hbm_bw=_a100(2.039e12, "byte/s"),
    scale_up="nvlink3",
    num_devices=8,
    compute_array=GA100,
    hbm_stacks=HbmStacks(
        num_stacks=_ampere(5, "dimensionless"),
        stack_bytes=_a100(16 * GIB, "byte"),
        bus_bits=HBM_BUS,
        pin_rate=Cited(3.186e9, "bit/s", "measured", NVIDIA_SMI),
    ),
    driver_bytes=Cited(
        79.25 * GIB,
        "byte",
        "measured",
        "HiDream-ai, VAREdit, issue 6, 2025: what PyTorch reports",
        "79.25 GiB; nvidia-smi lists 81,920 MiB",
    ),
)
H100 = Accelerator(
    name="H100 SXM",
    key="h100-sxm",
    architecture="hopper",
    family=("H100", "Hopper"),
    peak_flops=HOPPER_PEAKS,
    hbm_bytes=H100_LEVELS[-1].bytes,
    hbm_bw=H100_LEVELS[-1].bandwidth,
    scale_up="nvlink4",
    num_devices=8,
    compute_array=GH100,
    hbm_stacks=HBM3,
    memory_levels=H100_LEVELS,
    driver_bytes=_driver(H100_GIB * GIB, note=f"{H100_GIB} GiB"),
)
_SAME_DIE = "the compute die of the H100"
H200 = Accelerator(
    name="H200 SXM",
    key="h200-sxm",
    architecture="hopper",
    family=("H200", "H100", "Hopper"),
    peak_flops=HOPPER_PEAKS,
    hbm_bytes=_h200(141e9, "byte", note="of 6 stacks of 24 GB, 3 GB are held back"),
    hbm_bw=_h200(4.8e12, "byte/s"),
    scale_up="nvlink4",
    num_devices=8,
    compute_array=GH100,
    hbm_stacks=HbmStacks(
        num_stacks=_h200(6, "dimensionless"),
        stack_bytes=_h200(24 * GIB, "byte"),
        bus_bits=HBM_BUS,
        pin_rate=Cited(
            6.25e9, "bit/s", "estimate", H200_SHEET, "what 4.8 TB/s on 6144 bits needs"
        ),
    ),
    driver_bytes=_driver(139.80 * GIB, note="139.80 GiB"),
)
H800 = Accelerator(
    name="H800 SXM",
    key="h800-sxm",
    architecture="hopper",
    family=("H800", "H100", "Hopper"),
    peak_flops=HOPPER_PEAKS,
    hbm_bytes=_h100(80e9, "byte", note=f"{_SAME_DIE}; only links and FP64 are cut"),
    hbm_bw=_h100(3.35e12, "byte/s", note=_SAME_DIE),
    scale_up="nvlink4-h800",
    num_devices=8,
    compute_array=GH100,
    hbm_stacks=HBM3,
    driver_bytes=Cited(
        H100_GIB * GIB,
        "byte",
        "estimate",
        CUDA_RUNTIME,
        f"{H100_GIB} GiB, on the H100, whose memory it has",
    ),
)
H20 = Accelerator(
    name="H20 SXM",
    key="h20-sxm",
    architecture="hopper",
    family=("H20",),
    peak_flops=tensor_peaks(
        bf16=_infersim(148e12, "FLOP/s"), fp8=_infersim(296e12, "FLOP/s")
    ),
    hbm_bytes=_infersim(96e9, "byte"),
    hbm_bw=_configurator(4e12, "byte/s"),
    scale_up="nvlink4",
    num_devices=8,
)
L40S = Accelerator(
    name="L40S",
    key="l40s",
    architecture="ada",
    family=("L40S",),
    peak_flops=tensor_peaks(
        bf16=_l40s(362.05e12, "FLOP/s", note=HALVED),
        fp8=_l40s(733e12, "FLOP/s", note=HALVED),
        int8=_l40s(733e12, "FLOP/s", note=HALVED),
    ),
    hbm_bytes=_l40s(48e9, "byte", note="GDDR6, on the board"),
    hbm_bw=_l40s(864e9, "byte/s"),
    scale_up="pcie-gen4",
    num_devices=8,
    driver_bytes=listed_bytes(46_068 * MIB, note="46,068 MiB"),
)
