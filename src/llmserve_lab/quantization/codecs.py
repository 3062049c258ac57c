"""Number formats of few bits: a value becomes a code, and a code a value again.

A floating-point format has a sign, an exponent and a mantissa; an integer format counts
in steps of one. Codes of FP16, BF16, FP8 and FP4 are bit for bit those of IEEE 754, of
"FP8 Formats for Deep Learning" (arXiv 2209.05433) and of the OCP microscaling formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from llmserve_lab.checks import key_of, positive

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint16]
Specials = Literal["infinities", "one nan", "none"]


def finite(name: str, x: npt.ArrayLike) -> Array:
    """The numbers as float64, every one of them finite.

    Raises:
        ValueError: one is infinite or no number.
    """
    values = np.asarray(x, dtype=np.float64)
    odd = np.argwhere(~np.isfinite(values))
    if len(odd):
        place = tuple(int(each) for each in odd[0])
        raise ValueError(f"{name} must be finite, got {values[place]} at {place}")
    return values


@dataclass(frozen=True)
class FloatFormat:
    """Sign, ``exponent_bits`` and ``mantissa_bits``; the smallest exponent is shared.

    With ``"infinities"`` the largest exponent stands for infinities and NaN (IEEE 754),
    with ``"one nan"`` only its last code is NaN ("fn"), with ``"none"`` every code is a
    number.
    """

    key: str
    name: str
    exponent_bits: int
    mantissa_bits: int
    specials: Specials

    @property
    def bits(self) -> int:
        """Bits of a code."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def bias(self) -> int:
        """What is taken off the stored exponent."""
        return int(2 ** (self.exponent_bits - 1) - 1)

    @property
    def fields(self) -> tuple[int, int, int]:
        """Bits of sign, exponent and mantissa."""
        return 1, self.exponent_bits, self.mantissa_bits

    @property
    def smallest_exponent(self) -> int:
        """Exponent of the smallest normal number, and of all subnormal ones."""
        return 1 - self.bias

    @property
    def _last(self) -> int:
        """Code of the largest finite number."""
        above = {"infinities": 2**self.mantissa_bits + 1, "one nan": 2, "none": 1}
        return int(2 ** (self.bits - 1) - above[self.specials])

    @property
    def _beyond(self) -> int:
        """Code of what is too large: infinity, NaN, or the largest number."""
        return self._last + (self.specials != "none")

    @property
    def largest(self) -> float:
        """The largest finite number."""
        return float(self.decode(np.array(self._last)))

    def decode(self, codes: npt.ArrayLike) -> Array:
        """Codes → values, infinities and NaN included."""
        code = np.asarray(codes, dtype=np.int64)
        magnitude = code & (2 ** (self.bits - 1) - 1)
        exponent, mantissa = np.divmod(magnitude, 2**self.mantissa_bits)
        normal = exponent > 0
        significand = mantissa + normal * 2**self.mantissa_bits
        power = np.where(normal, exponent, 1) - self.bias - self.mantissa_bits
        value = np.ldexp(significand.astype(np.float64), power)
        value = np.where(magnitude > self._last, np.nan, value)
        if self.specials == "infinities":
            value = np.where(magnitude == self._beyond, np.inf, value)
        return np.where(code >> (self.bits - 1) & 1, -value, value)

    def encode(self, x: npt.ArrayLike, *, saturate: bool = True) -> Codes:
        """Values → codes of the nearest numbers; a tie goes to the even code.

        What is too large becomes the largest number, or without ``saturate`` what the
        format has for it: infinity, NaN, or the largest number if it has neither.

        Raises:
            ValueError: a value is infinite or no number.
        """
        values = finite("x", x)
        size = np.abs(values)
        exponent = np.maximum(np.frexp(size)[1] - 1, self.smallest_exponent)
        steps = np.rint(np.ldexp(size, self.mantissa_bits - exponent))
        shift = (exponent - self.smallest_exponent) * 2**self.mantissa_bits
        code = np.where(size > 0, shift + steps.astype(np.int64), 0)
        code = np.minimum(code, self._last if saturate else self._beyond)
        sign = np.signbit(values).astype(np.int64) << (self.bits - 1)
        return np.asarray(code | sign, dtype=np.uint16)

    def nearest(self, x: npt.ArrayLike) -> Array:
        """The nearest numbers of the format, too large ones becoming its largest."""
        return self.decode(self.encode(x))

    def numbers(self) -> Array:
        """Every finite number of the format once, in order."""
        values = self.decode(np.arange(2**self.bits))
        return np.unique(values[np.isfinite(values)])


@dataclass(frozen=True)
class IntFormat:
    """Two's complement in ``bits`` bits; the lowest code is left out: ±``largest``."""

    key: str
    name: str
    bits: int

    @property
    def largest(self) -> float:
        """The largest number, and minus the smallest that is used."""
        return float(2 ** (self.bits - 1) - 1)

    @property
    def fields(self) -> tuple[int, int, int]:
        """Bits of sign, exponent and mantissa: there is no exponent."""
        return 1, 0, self.bits - 1

    def decode(self, codes: npt.ArrayLike) -> Array:
        """Codes → whole numbers."""
        code = np.asarray(codes, dtype=np.int64)
        return np.where(code >> (self.bits - 1), code - 2**self.bits, code).astype(
            np.float64
        )

    def encode(self, x: npt.ArrayLike) -> Codes:
        """Values → codes of the nearest whole numbers; a tie goes to the even one.

        Raises:
            ValueError: a value is infinite or no number.
        """
        steps = np.clip(np.rint(finite("x", x)), -self.largest, self.largest)
        return np.asarray(steps.astype(np.int64) & (2**self.bits - 1), dtype=np.uint16)

    def nearest(self, x: npt.ArrayLike) -> Array:
        """The nearest whole numbers within ±``largest``."""
        return self.decode(self.encode(x))

    def numbers(self) -> Array:
        """Every number that is used, in order."""
        return np.arange(-self.largest, self.largest + 1)


NumberFormat = FloatFormat | IntFormat
SCALE_BIAS, SCALE_NAN = 127, 255  # of E8M0


def power_of_two_codes(x: npt.ArrayLike) -> Codes:
    """E8M0: positive values → codes of the powers of two at or below them.

    Raises:
        ValueError: a value is not positive and finite, or no such power has a code.
    """
    values = finite("x", x)
    for value in values.ravel():
        positive("x", value)
    code = np.frexp(values)[1] - 1 + SCALE_BIAS
    if np.any((code < 0) | (code >= SCALE_NAN)):
        raise ValueError(f"x must have a power of two in E8M0, got {values.max()}")
    return np.asarray(code, dtype=np.uint16)


def powers_of_two(codes: npt.ArrayLike) -> Array:
    """E8M0: codes → powers of two; the last code is NaN."""
    code = np.asarray(codes, dtype=np.int64)
    value = np.ldexp(1.0, code - SCALE_BIAS)
    return np.where(code == SCALE_NAN, np.nan, value)


def _known(*formats: NumberFormat) -> Mapping[str, NumberFormat]:
    return MappingProxyType({each.key: each for each in formats})


FP16 = FloatFormat("fp16", "FP16", 5, 10, "infinities")
BF16 = FloatFormat("bf16", "BF16", 8, 7, "infinities")
E4M3 = FloatFormat("e4m3", "FP8 E4M3", 4, 3, "one nan")
E5M2 = FloatFormat("e5m2", "FP8 E5M2", 5, 2, "infinities")
E2M1 = FloatFormat("e2m1", "FP4 E2M1", 2, 1, "none")
INT8 = IntFormat("int8", "INT8", 8)
INT4 = IntFormat("int4", "INT4", 4)
FORMATS = _known(FP16, BF16, E4M3, E5M2, INT8, INT4, E2M1)


def number_format(key: str) -> Any:
    """The format of this key.

    Raises:
        ValueError: there is none.
    """
    key_of("key", key, FORMATS)
    return FORMATS[key]
