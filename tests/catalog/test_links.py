"""A link is its wires, and one way is half of the headline."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from llmserve_lab import catalog

Agrees = Callable[[float, float], bool]
LINKS = list(catalog.LINKS.values())
# Second reading: GB/s one way of one link, and links, from the vendors' tables.
PER_LINK = {
    "nvlink3": (12, 25),
    "nvlink4": (18, 25),
    "nvlink4-h800": (8, 25),
    "nvlink5": (18, 50),
    "infinity-fabric-mi300x": (7, 64),
    "infinity-fabric-mi355x": (7, 76.8),
    "neuronlink-v3": (4, 160),
    "ici-v6e": (4, 100),
    "roce-400g": (1, 50),
    "infiniband-hdr": (1, 25),
    "infiniband-ndr": (1, 50),
}
LANES = (
    {"neuronlink-v3": 1, "ici-v6e": 1, "infinity-fabric-mi355x": 16}
    | {"roce-400g": 4, "nvlink3": 4, "infinity-fabric-mi300x": 16, "infiniband-hdr": 4}
    | {"infiniband-ndr": 4}
)


@pytest.mark.parametrize("link", LINKS, ids=lambda each: each.key)
def test_bandwidth_is_links_times_lanes_times_rate(
    link: catalog.Link, agrees: Agrees
) -> None:
    assert agrees(link.wires.counted_bytes_per_s(), float(link.bandwidth))


@pytest.mark.parametrize("link", LINKS, ids=lambda each: each.key)
def test_one_way_is_half_of_both_ways(link: catalog.Link) -> None:
    assert 2 * float(link.bandwidth) == float(link.bidirectional)


@pytest.mark.parametrize("key", PER_LINK)
def test_links_and_lanes_are_those_of_the_vendor(key: str) -> None:
    link = catalog.link(key)
    num_links, per_link = PER_LINK[key]
    assert link.wires.num_links == num_links
    assert float(link.bandwidth) == num_links * per_link * 1e9
    assert link.wires.counted_bytes_per_s() == num_links * per_link * 1e9
    assert link.wires.lanes_per_link == LANES.get(key, 2)


@pytest.mark.parametrize(("generation", "transfers"), [(4, 16), (5, 32)])
def test_pcie_loses_two_bits_in_130(generation: int, transfers: int) -> None:
    link = catalog.link(f"pcie-gen{generation}")
    exact = 16 * transfers * Fraction(128, 130) / 8
    assert link.wires.counted_bytes_per_s() == pytest.approx(float(exact) * 1e9)
    assert link.wires.lanes_per_link == 16
    assert link.name == f"PCIe Gen{generation} x16"


def test_each_generation_of_pcie_doubles() -> None:
    ratio = float(catalog.link("pcie-gen5").bandwidth) / float(
        catalog.link("pcie-gen4").bandwidth
    )
    assert ratio == 2


@pytest.mark.parametrize(
    ("key", "device", "terabytes_per_s"),
    [("nvswitch-hgx-h100", "h100-sxm", 7.2), ("nvswitch-nvl72", "gb200-nvl72", 130)],
)
def test_a_switch_gives_every_device_its_full_link(
    key: str, device: str, terabytes_per_s: float, agrees: Agrees
) -> None:
    fabric, scale_up = catalog.link(key), catalog.accelerator(device).scale_up
    assert fabric.bandwidth == catalog.link(scale_up).bandwidth
    assert fabric.num_devices == catalog.accelerator(device).num_devices
    assert fabric.total is not None
    assert float(fabric.total) == terabytes_per_s * 1e12
    counted = fabric.num_devices * float(fabric.bidirectional)
    assert agrees(counted, float(fabric.total))


def test_a_mesh_joins_a_device_to_one_fewer_than_there_are() -> None:
    mesh = catalog.link("infinity-fabric-mi300x")
    assert mesh.num_devices == mesh.wires.num_links + 1


def test_other_links_join_two() -> None:
    joined = {each.key: each.num_devices for each in LINKS if each.num_devices != 2}
    assert set(joined) == {
        "nvswitch-hgx-h100",
        "nvswitch-nvl72",
        "infinity-fabric-mi300x",
        "infinity-fabric-mi355x",
        "neuronlink-v3",
        "ici-v6e",
    }


def test_latencies_are_the_published_microseconds() -> None:
    printed = {"infiniband-ndr": "2.8", "nvlink4": "3.33", "nvlink4-h800": "3.33"}
    printed |= {"nvswitch-hgx-h100": "3.33", "roce-400g": "3.6"}
    found = {each.key: each.latency for each in LINKS if each.latency is not None}
    assert set(found) == set(printed)
    for key, microseconds in printed.items():
        assert float(found[key]) == pytest.approx(float(microseconds) / 1e6, rel=1e-12)
        assert found[key].kind == "measured"
