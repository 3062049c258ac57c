"""Quantization schemes: a number format, and scales for groups of numbers.

A group shares one scale: its largest number becomes the largest of the format. The
scale is stored as well, in 32 or 16 bits, in E4M3 (NVFP4) or as a power of two (MXFP4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt

from llmserve_lab.checks import key_of, whole
from llmserve_lab.quantization.codecs import (
    BF16,
    E2M1,
    E4M3,
    E5M2,
    FP16,
    INT4,
    INT8,
    Array,
    Codes,
    NumberFormat,
    finite,
    power_of_two_codes,
    powers_of_two,
)

ScaleKind = Literal["none", "fp32", "fp16", "e4m3", "e8m0"]
SCALE_BITS: Mapping[ScaleKind, int] = MappingProxyType(
    {"none": 0, "fp32": 32, "fp16": 16, "e4m3": 8, "e8m0": 8}
)
LEAST = np.finfo(np.float32).tiny  # no scale is smaller


@dataclass(frozen=True)
class Scheme:
    """``numbers`` with one scale of ``kind`` for each ``group`` of them.

    A group of 0 is a whole row: one scale for each output channel, or for each token.
    """

    key: str
    name: str
    numbers: NumberFormat
    kind: ScaleKind = "none"
    group: int = 0

    def bits_per_number(self, row: int) -> float:
        """Bits of a number, its share of the scale included, in rows of ``row``."""
        return self.numbers.bits + SCALE_BITS[self.kind] / (self.group or row)

    def tensor_scale(self, x: Array) -> float:
        """NVFP4: what makes the largest scale of a block the largest of E4M3; else 1.

        Of a tensor of zeros it is 1.
        """
        largest = float(np.max(np.abs(x), initial=0.0))
        if self.kind != "e4m3" or largest == 0:
            return 1.0
        return float(np.float32(largest / (self.numbers.largest * E4M3.largest)))

    def scales(self, groups: Array, tensor_scale: float = 1.0) -> Array:
        """Groups [..., g] → their scales [...], as they are stored.

        A group of zeros has the scale 1: any would do.
        """
        largest = np.abs(groups).max(axis=-1)
        if self.kind == "none":
            return np.ones_like(largest)
        if self.kind == "e8m0":  # the largest number's power of two over the format's
            top = 2.0 ** np.floor(np.log2(self.numbers.largest))
            wanted = np.where(largest > 0, largest / top, 1.0)
            return powers_of_two(power_of_two_codes(wanted))
        wanted = np.maximum(largest / self.numbers.largest, LEAST)
        wanted = np.where(largest > 0, wanted, 1.0)
        if self.kind == "e4m3":
            least = float(E4M3.decode(1))  # never a scale of zero
            return np.maximum(E4M3.nearest(wanted / tensor_scale), least) * tensor_scale
        if self.kind == "fp16":
            return np.maximum(FP16.nearest(wanted), float(FP16.decode(1)))
        return wanted.astype(np.float32).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Quantized:
    """Codes [..., n], and the scale of each group [..., n / g]."""

    numbers: NumberFormat
    codes: Codes
    scales: Array

    @property
    def values(self) -> Array:
        """What the codes stand for, before the scale."""
        return self.numbers.decode(self.codes)

    def dequantize(self) -> Array:
        """Each code's value times the scale of its group, [..., n]."""
        group = self.codes.shape[-1] // self.scales.shape[-1]
        return self.values * np.repeat(self.scales, group, axis=-1)


def cut(x: Array, group: int) -> Array:
    """Rows [..., n] → groups [..., n / g, g].

    Raises:
        ValueError: the group does not divide the row.
    """
    whole(group=group)
    if x.shape[-1] % group:
        raise ValueError(
            f"group must divide the row of {x.shape[-1]} numbers, got {group}"
        )
    return x.reshape(*x.shape[:-1], -1, group)


def round_with(x: npt.ArrayLike, scales: npt.ArrayLike, numbers: NumberFormat) -> Codes:
    """Round to nearest (RTN): codes of numbers [..., g] over their scales [..., 1].

    Raises:
        ValueError: a number or a scale is not finite, or a scale is not positive.
    """
    values, steps = finite("x", x), finite("scales", scales)
    if np.any(steps <= 0):
        raise ValueError(f"scales must be positive, got {steps.min():g}")
    return numbers.encode(values / steps)


def quantize(x: npt.ArrayLike, scheme: Scheme) -> Quantized:
    """Quantize rows [..., n] to nearest (RTN), group by group along the last axis.

    Raises:
        ValueError: a number is not finite, or the group does not divide the row.
    """
    values = finite("x", x)
    groups = cut(values, scheme.group or values.shape[-1])
    scales = scheme.scales(groups, scheme.tensor_scale(values))
    codes = round_with(groups, scales[..., None], scheme.numbers)
    return Quantized(scheme.numbers, codes.reshape(values.shape), scales)


def relative_error(x: npt.ArrayLike, rounded: npt.ArrayLike) -> float:
    """Root of the mean squared error over that of the mean square."""
    true, other = (np.asarray(each, dtype=np.float64) for each in (x, rounded))
    return float(np.linalg.norm(true - other) / np.linalg.norm(true))


def _known(*schemes: Scheme) -> Mapping[str, Scheme]:
    return MappingProxyType({each.key: each for each in schemes})


SCHEMES = _known(
    Scheme("fp16", "FP16", FP16),
    Scheme("bf16", "BF16", BF16),
    Scheme("fp8", "FP8 E4M3", E4M3, "fp32"),
    Scheme("fp8-e5m2", "FP8 E5M2", E5M2, "fp32"),
    Scheme("int8", "INT8", INT8, "fp32"),
    Scheme("int4-row", "INT4, a scale a row", INT4, "fp16"),
    Scheme("int4", "INT4, groups of 128", INT4, "fp16", 128),
    Scheme("int4-32", "INT4, groups of 32", INT4, "fp16", 32),
    Scheme("mxfp4", "MXFP4", E2M1, "e8m0", 32),
    Scheme("nvfp4", "NVFP4", E2M1, "e4m3", 16),
)


def scheme(key: str) -> Scheme:
    """The scheme of this key.

    Raises:
        ValueError: there is none.
    """
    key_of("key", key, SCHEMES)
    return SCHEMES[key]
