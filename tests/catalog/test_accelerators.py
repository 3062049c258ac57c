"""Headline numbers, counted from the chip and from the boxes that hold the chips."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise
from math import log2

import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog.data.hopper import L1_BYTES_PER_SM

Agrees = Callable[[float, float], bool]
DISCLOSED = [each for each in catalog.ACCELERATORS.values() if each.disclosed]
COUNTED = [each for each in DISCLOSED if each.compute_array]
MEASURED_CLOCK = {"a100-80-sxm": 1593e6, "h100-sxm": 2619e6, "h800-sxm": 2619e6}
# Megahertz in the vendors' tables, and their multiprocessors.
CHIPS = {"a100-80-sxm": (108, 1410), "mi300x": (304, 2100)} | dict.fromkeys(
    ("h100-sxm", "h200-sxm", "h800-sxm"), (132, 1830)
)
PACKAGE_GIB = {
    "a100-80-sxm": 5 * 16,
    "h100-sxm": 5 * 16,
    "h800-sxm": 5 * 16,
    "h200-sxm": 6 * 24,
    "b200-sxm": 8 * 24,
    "gb200-nvl72": 8 * 24,
    "mi300x": 8 * 24,
}
# What the datasheets of whole systems print: devices, GB of memory.
SYSTEMS = {
    "a100-80-sxm": (8, 640),
    "h100-sxm": (8, 640),
    "h800-sxm": (8, 640),
    "h200-sxm": (8, 1128),
    "b200-sxm": (8, 1440),
    "gb200-nvl72": (72, 13_392),
    "mi300x": (8, 1536),
}
# Petaflops of whole systems as printed, with 2:4 sparsity, which doubles them.
SPARSE_PFLOPS = {
    "b200-sxm": {"bf16": 36, "fp8": 72, "fp4": 144},
    "gb200-nvl72": {"bf16": 360, "fp8": 720, "fp4": 1440},
}


@pytest.mark.parametrize("device", COUNTED, ids=lambda each: each.key)
def test_peak_is_multiprocessors_times_clock_times_flops_per_cycle(
    device: catalog.Accelerator, agrees: Agrees
) -> None:
    assert device.compute_array is not None
    assert set(device.compute_array.flops_per_cycle) == set(device.peak_flops)
    for precision, peak in device.peak_flops.items():
        counted = device.compute_array.counted_flops_per_s(precision)
        assert agrees(counted, float(peak)), precision
    num_sms, megahertz = CHIPS[device.key]
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


@pytest.mark.parametrize("device", DISCLOSED, ids=lambda each: each.key)
def test_memory_bandwidth_is_pins_times_bits_per_second(
    device: catalog.Accelerator, agrees: Agrees
) -> None:
    assert device.hbm_stacks is not None
    counted = device.hbm_stacks.counted_bytes_per_s()
    assert agrees(counted, float(device.hbm_bw))
    if device.key == "h200-sxm":  # the pin rate is what the printed rate needs
        assert counted == float(device.hbm_bw)
    if device.key in MEASURED_CLOCK:
        assert float(device.hbm_stacks.pin_rate) == 2 * MEASURED_CLOCK[device.key]


@pytest.mark.parametrize("device", DISCLOSED, ids=lambda each: each.key)
def test_the_stacks_hold_what_is_sold_and_a_little_more(
    device: catalog.Accelerator,
) -> None:
    assert device.hbm_stacks is not None
    counted = device.hbm_stacks.counted_bytes()
    assert counted == PACKAGE_GIB[device.key] * 2**30
    assert 1 < counted / float(device.hbm_bytes) < 1.15
    assert device.hbm_stacks.bus_bits.value == 1024


@pytest.mark.parametrize("device", DISCLOSED, ids=lambda each: each.key)
def test_a_system_holds_its_devices(device: catalog.Accelerator) -> None:
    num_devices, gigabytes = SYSTEMS[device.key]
    assert device.num_devices == num_devices
    assert device.num_devices * float(device.hbm_bytes) == gigabytes * 1e9


@pytest.mark.parametrize("key", SPARSE_PFLOPS)
def test_dense_peaks_are_half_of_what_the_system_prints(key: str) -> None:
    device = catalog.accelerator(key)
    for precision, petaflops in SPARSE_PFLOPS[key].items():
        total = device.num_devices * float(device.peak(precision))
        assert 2 * total == petaflops * 1e15


@pytest.mark.parametrize("device", DISCLOSED, ids=lambda each: each.key)
def test_halving_the_bits_doubles_the_peak(device: catalog.Accelerator) -> None:
    order = ["bf16", "fp8", "fp4"]
    there = [float(device.peak_flops[key]) for key in order if key in device.peak_flops]
    for wide, narrow in pairwise(there):
        assert narrow == pytest.approx(2 * wide, rel=1e-4)
    assert device.peak("fp16") is device.peak("bf16")
    assert float(device.peak("int8")) == float(device.peak_flops.get("fp8", 624e12))


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


@pytest.mark.parametrize("device", DISCLOSED, ids=lambda each: each.key)
def test_every_device_names_a_link_that_scales_up(device: catalog.Accelerator) -> None:
    assert catalog.link(device.scale_up).scope == "scale-up"


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
