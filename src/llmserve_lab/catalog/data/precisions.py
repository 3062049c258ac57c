"""How many bytes a number takes: the convention behind every "2P bytes"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from llmserve_lab.catalog.records.cited import Cited, cite_in
from llmserve_lab.catalog.records.link import BITS_PER_BYTE


@dataclass(frozen=True)
class Precision:
    """One number format: how many bits a number takes, scale factors not counted."""

    key: str
    bits: Cited

    def __post_init__(self) -> None:
        cite_in(self, bits="bit")

    @property
    def bytes_weight(self) -> Cited:
        """Bytes per parameter, w_b."""
        return self.bytes_in("byte/parameter")

    @property
    def bytes_kv(self) -> Cited:
        """Bytes per number in the KV cache, kv_b."""
        return self.bytes_in("byte/element")

    def bytes_in(self, unit: str) -> Cited:
        """Bytes per number of any other kind, in the ``unit`` of its quantity."""
        size = float(self.bits) / BITS_PER_BYTE
        return Cited(size, unit, self.bits.kind, self.bits.source, self.key.upper())


def _precision(key: str, bits: int, source: str) -> tuple[str, Precision]:
    return key, Precision(key, Cited(bits, "bit", "convention", source))


_IEEE = "IEEE 754"
_OCP = "OCP Microscaling Formats (MX) v1.0; scale factors not counted"

PRECISIONS: Mapping[str, Precision] = MappingProxyType(
    dict(
        (
            _precision("fp32", 32, _IEEE),
            _precision("bf16", 16, "Google Brain format: the upper half of an FP32"),
            _precision("fp16", 16, _IEEE),
            _precision("fp8", 8, "FP8 Formats for Deep Learning, arXiv 2209.05433"),
            _precision("int8", 8, "two's complement"),
            _precision("fp4", 4, _OCP),
            _precision("int4", 4, "two's complement"),
        )
    )
)
