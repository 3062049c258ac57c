"""An accelerator is two numbers to a roofline, and both can be counted from the chip.

Peak compute is multiprocessors × clock × FLOPs per cycle; memory bandwidth is pins ×
bits per second. A record keeps the headline numbers of the datasheet *and* the parts
they are made of, so that a test can multiply the parts and compare.

Sizes follow the book: GB is 1e9 bytes. A datasheet's "80 GB" is kept as 80e9 bytes.
The stacks really hold 80 GiB (85.9e9 bytes), and the driver shows a little less than
that, so the capacity here is a floor of some 7 % under what is on the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NoReturn

from llmserve_lab.catalog.data.links import LINKS
from llmserve_lab.catalog.records.cited import Cited, cite_in
from llmserve_lab.catalog.records.link import BITS_PER_BYTE
from llmserve_lab.catalog.records.source_links import Document
from llmserve_lab.checks import UnknownKeyError, key_of, whole_fields

GIB = 1024**3
RTX_4090_DRIVER = Cited(25.25e9, "byte", "measured", "CUDA runtime on an RTX 4090")
# Of all devices whose driver is known, the one that shows least of what is printed.
B300_DRIVER = Cited(
    275_040 * 2**20,
    "byte",
    "measured",
    "NVIDIA, AIConfigurator, systems, 2026: total memory as nvidia-smi reports it",
    "275,040 MiB",
)
B300_PRINTED = Cited(
    288e9,
    "byte",
    "paper",
    Document("Hugging Face, hardware: B300", "https://huggingface.co/hardware/b300"),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ComputeArray:
    """What peak compute is made of: multiprocessors, their clock, FLOPs per cycle.

    ``flops_per_cycle`` is per multiprocessor (SM, or compute unit) and precision,
    dense, one multiplication and one addition counted as 2.
    """

    num_sms: Cited
    boost_clock: Cited
    flops_per_cycle: Mapping[str, Cited]

    def __post_init__(self) -> None:
        cite_in(self, num_sms="dimensionless", boost_clock="cycle/s")
        cite_in(self, flops_per_cycle="FLOP/cycle")

    def counted_flops_per_s(self, precision: str) -> float:
        """Multiply the parts: dense FLOP/s of the whole chip at ``precision``."""
        per_cycle = float(self.num_sms) * float(self.flops_per_cycle[precision])
        return per_cycle * float(self.boost_clock)


@dataclass(frozen=True, kw_only=True)
class HbmStacks:
    """What memory is made of: stacks, bytes in each, bus bits, bits/s on a pin."""

    num_stacks: Cited
    stack_bytes: Cited
    bus_bits: Cited
    pin_rate: Cited

    def __post_init__(self) -> None:
        cite_in(self, num_stacks="dimensionless", stack_bytes="byte")
        cite_in(self, bus_bits="bit", pin_rate="bit/s")

    def counted_bytes(self) -> float:
        """Bytes on the package, before anything is held back from the user."""
        return float(self.num_stacks) * float(self.stack_bytes)

    def counted_bytes_per_s(self) -> float:
        """Multiply the parts: bytes per second over all pins of all stacks."""
        pins = float(self.num_stacks) * float(self.bus_bits)
        return pins * float(self.pin_rate) / BITS_PER_BYTE


@dataclass(frozen=True)
class MemoryLevel:
    """One level of the memory hierarchy, for the whole chip: bytes and bytes/s."""

    name: str
    bytes: Cited
    bandwidth: Cited

    def __post_init__(self) -> None:
        cite_in(self, bytes="byte", bandwidth="byte/s")


@dataclass(frozen=True, kw_only=True, eq=False)
class Accelerator:
    """One device: dense peaks by precision, memory, and the domain it scales up in.

    ``architecture`` is the generation of the chip (``"hopper"``): kernels are written
    for one, so that shares of a peak that were reached are known by its name.
    ``family`` are the names that a vendor's paper may have for its numbers to come from
    it: the device's own (``name``, unless it says another), its generation's, that of a
    device whose die it has.
    ``peak_flops`` maps a precision (``"bf16"``, ``"fp8"``, …) to FLOP/s without
    sparsity; integer operations count as FLOPs. ``hbm_bytes`` and ``hbm_bw`` are byte
    and byte/s of one device. ``scale_up`` is the key of its link and ``num_devices``
    how many of them that link joins. ``driver_bytes`` is the memory that its driver
    shows to a program, where it is known. All peaks are what the datasheet promises;
    efficiencies are kept apart in :mod:`llmserve_lab.catalog.data.efficiencies`.

    Raises:
        TypeError: a number has no source, or ``num_devices`` is not an int.
        ValueError: a number is in a foreign unit, ``num_devices`` is below 1, the
            family is no tuple of names, or the catalog has no such link.
    """

    name: str
    key: str
    architecture: str
    peak_flops: Mapping[str, Cited]
    hbm_bytes: Cited
    hbm_bw: Cited
    scale_up: str
    num_devices: int
    compute_array: ComputeArray | None = None
    hbm_stacks: HbmStacks | None = None
    memory_levels: tuple[MemoryLevel, ...] = ()
    driver_bytes: Cited | None = None
    family: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        cite_in(self, peak_flops="FLOP/s", hbm_bytes="byte", hbm_bw="byte/s")
        cite_in(self, driver_bytes="byte")
        whole_fields(self, "num_devices")
        if not (isinstance(self.family, tuple) and all(self.family)):
            raise ValueError(f"family must be a tuple of names, got {self.family!r}")
        object.__setattr__(self, "family", self.family or (self.name,))
        key_of("scale_up", self.scale_up, LINKS)

    @property
    def disclosed(self) -> bool:
        """Whether the vendor or a paper prints this device's peaks."""
        return True

    @property
    def usable_bytes(self) -> Cited:
        """Memory that a program can allocate, in bytes, as the driver reports it.

        Where it is not known, the datasheet's bytes times the lowest ratio that is
        known of any device: an estimate, and marked as one.
        """
        if self.driver_bytes is not None:
            return self.driver_bytes
        ratio = float(B300_DRIVER) / float(B300_PRINTED)
        note = f"{ratio:.3f} × the datasheet's, the lowest ratio known (B300)"
        guess = ratio * float(self.hbm_bytes)
        return Cited(guess, "byte", "estimate", self.hbm_bytes.source, note)

    def levels(self) -> tuple[MemoryLevel, ...]:
        """The memory hierarchy, from the fastest level down; at least one level.

        Raises:
            LookupError: the catalog has no hierarchy for this device.
        """
        if not self.memory_levels:
            raise UnknownKeyError(
                f"accelerator must have its memory levels listed, got {self.key}"
            )
        return self.memory_levels

    def peak(self, precision: str) -> Cited:
        """Dense peak at ``precision``, in FLOP/s.

        Raises:
            LookupError: the device has no such precision, or its peaks are undisclosed.
        """
        if precision not in self.peak_flops:
            known = ", ".join(self.peak_flops)
            raise UnknownKeyError(
                f"precision must be one that {self.name} computes in ({known}), "
                f"got {precision!r}"
            )
        return self.peak_flops[precision]


class UndisclosedError(UnknownKeyError, AttributeError):
    """A number was asked for that is not published."""


class Undisclosed(Accelerator):
    """A device with unpublished peaks: only what was fitted to its traces is known."""

    reason: str
    fitted: Mapping[str, Cited]

    def __init__(
        self,
        *,
        name: str,
        key: str,
        architecture: str,
        family: tuple[str, ...],
        reason: str,
        fitted: Mapping[str, Cited],
    ) -> None:
        vars(self).update(name=name, key=key, architecture=architecture, reason=reason)
        vars(self).update(family=family, fitted=MappingProxyType(dict(fitted)))

    def __getattr__(self, field: str) -> NoReturn:
        if field in Accelerator.__dataclass_fields__:
            what = f"{field} of {self.name}"
            raise UndisclosedError(f"{what} is undisclosed: {self.reason}")
        raise AttributeError(f"{type(self).__name__} has no attribute {field!r}")

    def __repr__(self) -> str:
        return f"Undisclosed(key={self.key!r}, fitted={list(self.fitted)})"

    @property
    def disclosed(self) -> bool:
        """Never: that is what this record is for."""
        return False
