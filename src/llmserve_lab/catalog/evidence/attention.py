"""How fast attention kernels are, and how long a decode takes with and without splits.

Speeds are read off the labels of the bars in the figure that the library's README
shows; times are those of a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from llmserve_lab.catalog.evidence.kernels import CAUSAL_RUNS, FLASH_3
from llmserve_lab.catalog.records.cited import Cited

FLASH_DECODING = "Dao et al., Flash-Decoding, PyTorch blog, October 2023, A100"
CUDA_GUIDE = "NVIDIA CUDA C++ Programming Guide, compute capability 9.0"
TILE_SIZES = "FlashAttention, hopper/tile_size.h"

_speed = partial(Cited, unit="FLOP/s", kind="measured", source=FLASH_3)
FIGURE_LENGTHS = (512, 1024, 2048, 4096, 8192, 16_384)


def _bars(*teraflops: float) -> Mapping[int, Cited]:
    pairs = zip(FIGURE_LENGTHS, teraflops, strict=False)
    return MappingProxyType({length: _speed(t * 1e12) for length, t in pairs})


# Causal, heads of 128, 16,384 tokens in all; only pairs that count are counted.
# At 16,384 tokens standard attention ran out of memory.
STANDARD, FLASH_TWO, FLASH_THREE = CODES = (
    "standard (PyTorch)",
    "FlashAttention-2",
    "FlashAttention-3",
)
CAUSAL_SPEED: Mapping[str, Mapping[int, Cited]] = MappingProxyType(
    {
        STANDARD: _bars(26, 31, 34, 35, 35),
        FLASH_TWO: _bars(191, 260, 298, 319, 333, 335),
        FLASH_THREE: MappingProxyType({512: _speed(292e12), **CAUSAL_RUNS}),
    }
)


@dataclass(frozen=True, kw_only=True)
class SplitRun:
    """Attention of one layer in decode: ``batch`` requests with ``context`` each."""

    batch: int
    context: int
    plain_s: Cited
    unsplit_s: Cited
    split_s: Cited


_time = partial(Cited, unit="s", kind="measured", source=FLASH_DECODING)
DECODE_HEADS = Cited(16, "head/layer", "paper", FLASH_DECODING)
DECODE_KV_HEADS = Cited(2, "head/layer", "paper", FLASH_DECODING)
DECODE_WIDTH = Cited(128, "element", "paper", FLASH_DECODING)
DECODE_RUNS: tuple[SplitRun, ...] = tuple(
    SplitRun(
        batch=batch,
        context=context,
        plain_s=_time(plain * 1e-6, note="PyTorch eager"),
        unsplit_s=_time(unsplit * 1e-6, note="FlashAttention 2.0.9"),
        split_s=_time(split * 1e-6, note="Flash-Decoding"),
    )
    for batch, context, plain, unsplit, split in (
        (256, 256, 3058.6, 390.5, 63.4),
        (128, 512, 3151.4, 366.3, 67.7),
        (64, 1024, 3160.4, 364.8, 77.7),
        (32, 2048, 3158.3, 352.0, 58.5),
        (16, 4096, 3157.0, 401.7, 57.0),
        (8, 8192, 3173.1, 529.2, 56.4),
        (4, 16_384, 3223.0, 582.7, 58.2),
        (2, 32_768, 3224.1, 1156.1, 60.3),
        (1, 65_536, 1335.6, 2300.6, 64.4),
        (1, 131_072, 2664.0, 4592.2, 106.6),
    )
)

SHARED_PER_BLOCK = Cited(
    227 * 1024,
    "byte",
    "datasheet",
    CUDA_GUIDE,
    "of the 228 KiB of a multiprocessor, 1 KiB is kept by the system",
)
REGISTERS_PER_SM = Cited(
    256 * 1024, "byte", "datasheet", CUDA_GUIDE, "65,536 registers of 32 bits"
)
EXP_RATE = Cited(
    3.9e12,
    "FLOP/s",
    "paper",
    "Shah et al. 2024 (FlashAttention-3), §3.2",
    "exponentials of an H100 SXM",
)
# Tiles of FlashAttention-3, forward, 16 bits, by the width of a head: queries, keys.
# Where the library notes that it is so, the keys are the most that fit.
LIMITED_TILES: Mapping[int, tuple[Cited, Cited]] = MappingProxyType(
    {
        width: (
            Cited(128, "token/request", "paper", TILE_SIZES),
            Cited(keys, "token/request", "paper", TILE_SIZES, "hits the limit of smem"),
        )
        for width, keys in ((128, 192), (192, 112), (256, 80))
    }
)
STAGES = Cited(2, "dimensionless", "paper", TILE_SIZES, "key–value tiles on chip")
