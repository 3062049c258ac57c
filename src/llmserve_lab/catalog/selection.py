"""Accelerators picked by what they are, so that a new one needs no list to be in."""

from __future__ import annotations

from llmserve_lab.catalog.data.accelerators import ACCELERATORS
from llmserve_lab.catalog.records.accelerator import Accelerator

PER_SERVER = 8  # what is joined by more links than these is a rack


def in_servers(precision: str = "bf16") -> tuple[Accelerator, ...]:
    """Accelerators of one server (no racks) that compute in ``precision``.

    Of those that a roofline cannot tell apart (an H800 is an H100 with fewer links) the
    first one stands for all.
    """
    found: dict[tuple[float, ...], Accelerator] = {}
    for device in ACCELERATORS.values():
        small = device.disclosed and device.num_devices <= PER_SERVER
        if small and precision in device.peak_flops:
            numbers = (device.peak("bf16"), device.hbm_bw, device.hbm_bytes)
            found.setdefault(tuple(map(float, numbers)), device)
    return tuple(found.values())
