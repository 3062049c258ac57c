"""A link's number is one way and per device; the headline is usually both ways.

Half the confusion about NVLink is a factor of two: "900 GB/s" is what goes in plus what
comes out. Here ``bandwidth`` is always what one device can send, and the headline is
kept beside it. Each is the product of its wires: links × lanes × bits per second ×
the share of the bits that is payload.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llmserve_lab.catalog.records.cited import Cited, cite_in
from llmserve_lab.checks import of_type, one_of, whole_fields

BITS_PER_BYTE = 8
Scope = Literal["scale-up", "scale-out", "host"]


@dataclass(frozen=True, kw_only=True)
class Wires:
    """What a link is made of: links, lanes in each, bits per second on a lane.

    ``payload`` of every ``line`` bits carry data: 128 of 130 on PCIe; where the rate
    is already one of data, all of them.
    """

    num_links: int
    lanes_per_link: int
    lane_rate: Cited
    payload: int = 1
    line: int = 1

    def __post_init__(self) -> None:
        cite_in(self, lane_rate="bit/s")
        whole_fields(self, "num_links", "lanes_per_link", "payload", "line")

    def counted_bytes_per_s(self) -> float:
        """Multiply the parts: bytes per second that one device can send."""
        bits = self.num_links * self.lanes_per_link * float(self.lane_rate)
        return bits * self.payload / self.line / BITS_PER_BYTE


@dataclass(frozen=True, kw_only=True)
class Link:
    """One kind of connection between devices, or between a device and its host.

    ``bandwidth`` is byte/s one way and per device; ``bidirectional`` the headline, both
    ways. ``latency`` is the one-way time of a small message in s, where one was
    published. A switched fabric gives every device its full bandwidth to any other:
    it says how many it joins and their ``total``, both ways.

    Raises:
        TypeError: a number has no source, or ``num_devices`` is not an int.
        ValueError: a number is in a foreign unit, ``num_devices`` is below 1, or the
            scope is another.
    """

    name: str
    key: str
    scope: Scope
    bandwidth: Cited
    bidirectional: Cited
    wires: Wires
    latency: Cited | None = None
    num_devices: int = 2
    total: Cited | None = None

    def __post_init__(self) -> None:
        cite_in(self, bandwidth="byte/s", bidirectional="byte/s", total="byte/s")
        cite_in(self, latency="s")
        whole_fields(self, "num_devices")
        of_type(str, name=self.name, key=self.key)
        of_type(Wires, wires=self.wires)
        one_of("scope", self.scope, Scope)
