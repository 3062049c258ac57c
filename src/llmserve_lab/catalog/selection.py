"""Accelerators picked by what they are, so that a new one needs no list to be in."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from llmserve_lab.catalog.data.accelerators import ACCELERATORS
from llmserve_lab.catalog.records.accelerator import Accelerator
from llmserve_lab.checks import key_of

PER_SERVER = 8  # what is joined by more links than these is a rack
Rule = Callable[[Accelerator], bool]


def stacks_known(device: Accelerator) -> bool:
    """Whether its bandwidth is known twice: as printed, and from the pins of HBM."""
    return device.disclosed and device.hbm_stacks is not None


def driver_known(device: Accelerator) -> bool:
    """Whether it is known how much memory its driver shows to a program."""
    return device.disclosed and device.driver_bytes is not None


def chip_known(device: Accelerator) -> bool:
    """Whether its peak is known twice: as printed, and from multiprocessors × clock."""
    return device.disclosed and device.compute_array is not None


def where(*rules: Rule) -> tuple[Accelerator, ...]:
    """Accelerators for which all rules hold, servers and racks, in the book's order."""
    return tuple(
        each for each in ACCELERATORS.values() if all(rule(each) for rule in rules)
    )


def in_servers(precision: str = "bf16", *rules: Rule) -> tuple[Accelerator, ...]:
    """Accelerators of one server (no racks) that compute in ``precision``.

    Further ``rules`` must hold, too. Of those that a roofline cannot tell apart (an
    H800 is an H100 with fewer links) the first one stands for all.
    """
    found: dict[tuple[float, ...], Accelerator] = {}
    for device in where(lambda each: each.disclosed, *rules):
        if device.num_devices <= PER_SERVER and precision in device.peak_flops:
            numbers = (device.peak("bf16"), device.hbm_bw, device.hbm_bytes)
            found.setdefault(tuple(map(float, numbers)), device)
    return tuple(found.values())


def beginning_with(key: str, devices: Iterable[Accelerator]) -> tuple[Accelerator, ...]:
    """The same devices, that of ``key`` first, as a menu opens with it.

    Raises:
        ValueError: it is not one of them.
    """
    rest = list(devices)
    key_of("key", key, (each.key for each in rest))
    first = [each for each in rest if each.key == key]
    return (*first, *(each for each in rest if each.key != key))
