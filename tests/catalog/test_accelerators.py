"""Headline numbers, counted from the chip and from the boxes that hold the chips."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from math import log2

import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog.data.nvidia_ampere_to_hopper import L1_BYTES_PER_SM

Agrees = Callable[[float, float], bool]
DISCLOSED = [each for each in catalog.ACCELERATORS.values() if each.disclosed]
COUNTED = [each for each in DISCLOSED if each.compute_array]
STACKED = [each for each in DISCLOSED if each.hbm_stacks]
ORDER = ("bf16", "fp8", "fp4")  # by the bits of a number


@dataclass(frozen=True, kw_only=True)
class Printed:
    """A second source for an accelerator: its chip, its stacks, the system it is in.

    ``system_gb`` is the memory of the whole system as printed, ``sparse_pflops`` its
    peaks with 2:4 sparsity, which doubles them. A chip is its multiprocessors and
    megahertz, for peaks that are counted; ``memory_hz`` is a clock that was measured.
    """

    package_gib: int
    num_devices: int
    system_gb: int
    chip: tuple[int, int] | None = None
    sparse_pflops: Mapping[str, int] = field(default_factory=dict)
    memory_hz: float = 0.0


HOPPER = (132, 1830)
# Second reading of sheets alone: TFLOP/s by precision, GB, GB/s, devices on a link.
SHEETS = {
    "mi325x": ({"bf16": 1307.4, "fp8": 2614.9, "int8": 2614.9}, 256, 6000, 8),
    "h20-sxm": ({"bf16": 148, "fp8": 296}, 96, 4000, 8),
    "b300-sxm": (
        {"bf16": 2250, "fp8": 4500, "int8": 153.5, "fp4": 14_000},
        288,
        7750,
        8,
    ),
    "l40s": ({"bf16": 362.05, "fp8": 733, "int8": 733}, 48, 864, 8),
    "rtx-pro-6000": ({"bf16": 500, "fp8": 1000, "fp4": 2000}, 96, 1792, 8),
    "mi355x": ({"bf16": 2500, "fp8": 5000, "fp4": 10_100}, 288, 8000, 8),
    "trainium2": ({"bf16": 667, "fp8": 1299}, 96, 2900, 16),
    "tpu-v6e": ({"bf16": 918, "int8": 1836}, 32, 1638, 256),
}
DRIVERS = {"b300-sxm": 275_040, "l40s": 46_068, "rtx-pro-6000": 97_887}  # MiB
CHIPS = {"mi325x": (304, 2100), "mi355x": (256, 2400)}
BOARD = {"bf16": 36, "fp8": 72, "int8": 72, "fp4": 144}
RACK = {"bf16": 360, "fp8": 720, "int8": 720, "fp4": 1440}
PRINTED = {
    "a100-80-sxm": Printed(
        package_gib=5 * 16, num_devices=8, system_gb=640, chip=(108, 1410),
        memory_hz=1593e6,
    ),
    "h100-sxm": Printed(
        package_gib=5 * 16, num_devices=8, system_gb=640, chip=HOPPER, memory_hz=2619e6
    ),
    "h200-sxm": Printed(package_gib=6 * 24, num_devices=8, system_gb=1128, chip=HOPPER),
    "h800-sxm": Printed(
        package_gib=5 * 16, num_devices=8, system_gb=640, chip=HOPPER, memory_hz=2619e6
    ),
    "b200-sxm": Printed(
        package_gib=8 * 24, num_devices=8, system_gb=1440, sparse_pflops=BOARD
    ),
    "gb200-nvl72": Printed(
        package_gib=8 * 24, num_devices=72, system_gb=13_392, sparse_pflops=RACK
    ),
    "mi300x": Printed(
        package_gib=8 * 24, num_devices=8, system_gb=1536, chip=(304, 2100)
    ),
}  # fmt: skip


def test_every_number_is_read_twice() -> None:
    """A new accelerator needs its record and one entry here."""
    assert {each.key for each in DISCLOSED} == set(PRINTED) | set(SHEETS)
    for device in map(catalog.accelerator, PRINTED):
        array = device.compute_array
        counted = set(array.flops_per_cycle) if array else {"fp16"}
        assert counted | set(PRINTED[device.key].sparse_pflops) == set(
            device.peak_flops
        )


@pytest.mark.parametrize("key", SHEETS)
def test_a_sheet_is_read_twice(key: str) -> None:
    device, (peaks, gigabytes, gb_per_s, devices) = (
        catalog.accelerator(key),
        SHEETS[key],
    )
    found = {p: float(peak) / 1e12 for p, peak in device.peak_flops.items()}
    assert {p: tera for p, tera in found.items() if p != "fp16"} == pytest.approx(peaks)
    assert float(device.hbm_bytes) == gigabytes * 1e9
    assert float(device.hbm_bw) == gb_per_s * 1e9
    assert device.num_devices == devices
    if mebibytes := DRIVERS.get(key):
        assert float(device.usable_bytes) == mebibytes * 2**20


@pytest.mark.parametrize("device", COUNTED, ids=lambda each: each.key)
def test_peak_is_multiprocessors_times_clock_times_flops_per_cycle(
    device: catalog.Accelerator, agrees: Agrees
) -> None:
    assert device.compute_array is not None
    assert set(device.compute_array.flops_per_cycle) == set(device.peak_flops)
    for precision, peak in device.peak_flops.items():
        counted = device.compute_array.counted_flops_per_s(precision)
        assert agrees(counted, float(peak)), precision
    printed = PRINTED.get(device.key)
    num_sms, megahertz = (printed and printed.chip) or CHIPS[device.key]
    assert float(device.compute_array.num_sms) == num_sms
    assert float(device.compute_array.boost_clock) == megahertz * 10**6


def test_one_compute_array_is_one_architecture() -> None:
    """Two devices with the same multiprocessors run the same kernels."""
    assert all(each.architecture for each in catalog.ACCELERATORS.values())
    for one, other in combinations(COUNTED, 2):
        same = one.compute_array is other.compute_array
        assert (one.architecture == other.architecture) is same


@pytest.mark.parametrize("device", COUNTED, ids=lambda each: each.key)
def test_a_multiplier_array_has_a_power_of_two_of_products(
    device: catalog.Accelerator,
) -> None:
    assert device.compute_array is not None
    for per_cycle in device.compute_array.flops_per_cycle.values():
        assert log2(float(per_cycle)).is_integer()


@pytest.mark.parametrize("device", STACKED, ids=lambda each: each.key)
def test_memory_bandwidth_is_pins_times_bits_per_second(
    device: catalog.Accelerator, agrees: Agrees
) -> None:
    assert device.hbm_stacks is not None
    counted = device.hbm_stacks.counted_bytes_per_s()
    assert agrees(counted, float(device.hbm_bw))
    if device.key == "h200-sxm":  # the pin rate is what the printed rate needs
        assert counted == float(device.hbm_bw)
    if clock := PRINTED[device.key].memory_hz:
        assert float(device.hbm_stacks.pin_rate) == 2 * clock


@pytest.mark.parametrize("device", STACKED, ids=lambda each: each.key)
def test_the_stacks_hold_what_is_sold_and_a_little_more(
    device: catalog.Accelerator,
) -> None:
    assert device.hbm_stacks is not None
    counted = device.hbm_stacks.counted_bytes()
    assert counted == PRINTED[device.key].package_gib * 2**30
    assert 1 < counted / float(device.hbm_bytes) < 1.15
    assert device.hbm_stacks.bus_bits.value == 1024


@pytest.mark.parametrize("device", STACKED, ids=lambda each: each.key)
def test_a_system_holds_its_devices(device: catalog.Accelerator) -> None:
    printed = PRINTED[device.key]
    assert device.num_devices == printed.num_devices
    assert device.num_devices * float(device.hbm_bytes) == printed.system_gb * 1e9


@pytest.mark.parametrize("device", STACKED, ids=lambda each: each.key)
def test_dense_peaks_are_half_of_what_the_system_prints(
    device: catalog.Accelerator,
) -> None:
    for precision, petaflops in PRINTED[device.key].sparse_pflops.items():
        total = device.num_devices * float(device.peak(precision))
        assert 2 * total == petaflops * 1e15


@pytest.mark.parametrize("device", DISCLOSED, ids=lambda each: each.key)
def test_fewer_bits_are_never_slower(device: catalog.Accelerator) -> None:
    there = [float(device.peak_flops[key]) for key in ORDER if key in device.peak_flops]
    assert there == sorted(there)
    if device.key != "tpu-v6e":  # which has no FP16
        assert device.peak("fp16") is device.peak("bf16")
    if "int8" in device.peak_flops and device.key != "b300-sxm":  # which gave it up
        assert device.peak("int8").value >= device.peak("bf16").value


def test_a_gb200_runs_a_ninth_faster_than_a_b200() -> None:
    rack, board = catalog.accelerator("gb200-nvl72"), catalog.accelerator("b200-sxm")
    for precision in board.peak_flops:
        ratio = float(rack.peak(precision)) / float(board.peak(precision))
        assert ratio == pytest.approx(10 / 9)
    assert float(rack.hbm_bw) * 72 == 576e12
    assert float(board.hbm_bw) * 8 == 64e12


def test_an_h800_is_an_h100_with_fewer_links() -> None:
    full, cut = catalog.accelerator("h100-sxm"), catalog.accelerator("h800-sxm")
    assert cut.peak_flops == full.peak_flops
    assert float(cut.hbm_bytes) == float(full.hbm_bytes)
    assert float(cut.hbm_bw) == float(full.hbm_bw)
    assert cut.scale_up != full.scale_up


SIZES = {"MiB": 2**20, "GiB": 2**30}


REPORTED = [each for each in DISCLOSED if each.driver_bytes is not None]


@pytest.mark.parametrize("device", REPORTED, ids=lambda each: each.key)
def test_what_a_driver_reports_is_the_size_in_its_note(
    device: catalog.Accelerator,
) -> None:
    given = device.driver_bytes
    assert given is not None
    said = re.match(r"([\d,.]+) (MiB|GiB)", given.note)
    assert said, given.note
    size = float(said[1].replace(",", "")) * SIZES[said[2]]
    assert float(given) == pytest.approx(size, rel=1e-9)


@pytest.mark.parametrize("device", DISCLOSED, ids=lambda each: each.key)
def test_every_device_names_a_link_that_scales_up(device: catalog.Accelerator) -> None:
    card = device.scale_up.startswith("pcie")
    assert catalog.link(device.scale_up).scope == ("host" if card else "scale-up")


def test_the_levels_of_an_h100_as_its_whitepaper_adds_them_up() -> None:
    levels = {each.name: each for each in catalog.accelerator("h100-sxm").memory_levels}
    assert float(levels["registers"].bytes) == 33_792 * 1024
    assert float(levels["shared memory"].bytes) == 132 * (256 - 28) * 1024
    assert float(L1_BYTES_PER_SM) == 2**18
    assert float(levels["L2"].bytes) == 50_000_000
    assert float(levels["L2"].bandwidth) == 5_000 * 1e9
    banks, lanes, clock = 32, 4 * 32, 1830e6
    per_sm = float(levels["shared memory"].bandwidth) / 132
    assert per_sm == pytest.approx(banks * 4 * clock)
    per_sm = float(levels["registers"].bandwidth) / 132
    assert per_sm == pytest.approx(lanes * 3 * 4 * clock)


def test_each_level_down_is_slower_and_from_l2_on_larger() -> None:
    levels = catalog.accelerator("h100-sxm").memory_levels
    rates = [float(level.bandwidth) for level in levels]
    assert rates == sorted(rates, reverse=True)
    assert float(levels[2].bytes) < float(levels[3].bytes)
    assert levels[-1].bandwidth is catalog.accelerator("h100-sxm").hbm_bw
