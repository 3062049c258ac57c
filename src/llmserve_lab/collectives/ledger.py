"""Communication log: calls, bytes, and the seconds that a link would need for them.

Bytes on the wire are those that leave a rank under the ring algorithm, counted chunk by
chunk (:mod:`llmserve_lab.collectives.ring_algorithm`). A call takes as long as the
latencies of its steps and the larger of what goes out and what comes in, over the
link's one-way bandwidth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmserve_lab.catalog.records.link import Link
from llmserve_lab.checks import at_least, key_of, positive
from llmserve_lab.collectives.ring_algorithm import Traffic
from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Cell, Table

CALLS = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "barrier",
    "send",
    "recv",
    "sendrecv",
)
ON_THE_WIRE = "on the wire: bytes that leave the rank under the ring algorithm"


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A link as a call sees it: seconds per step, bytes per second one way.

    Raises:
        ValueError: the latency is negative, the bandwidth is not above zero, or one of
            them is not finite.
    """

    latency_s: float
    bytes_per_s: float

    def __post_init__(self) -> None:
        at_least("latency_s", self.latency_s, 0)
        positive("bytes_per_s", self.bytes_per_s)

    @classmethod
    def of(cls, link: Link, latency_s: float | None, eff_link: float) -> Wire:
        """Take the numbers from the catalog, the latency from the caller if given.

        Raises:
            ValueError: the catalog has no latency and none was given, it is negative
                or not finite, or the efficiency is not in (0, 1].
        """
        if latency_s is None:
            if link.latency is None:
                raise ValueError(
                    f"latency_s must be given for {link.name}: the catalog has none"
                )
            latency_s = float(link.latency)
        at_least("latency_s", latency_s, 0)
        if not 0 < eff_link <= 1:
            raise ValueError(f"eff_link must be in (0, 1], got {eff_link}")
        return cls(latency_s=latency_s, bytes_per_s=float(link.bandwidth) * eff_link)

    def seconds(self, traffic: Traffic) -> float:
        """Latency of every step, and the busier direction at full bandwidth."""
        busier = max(traffic.sent_bytes, traffic.received_bytes)
        return traffic.steps * self.latency_s + busier / self.bytes_per_s


@dataclass(frozen=True)
class Record:
    """One call of one rank: its name, the whole tensor it is about, what it put out.

    The whole tensor is the result of an all-gather, and what goes into any other call.
    """

    call: str
    shape: tuple[int, ...]
    tensor_bytes: int
    wire: Traffic


@dataclass(frozen=True)
class Ledger:
    """What every rank recorded, in the order of its calls: ``records[rank]``.

    Counts may be asked of one ``rank`` or of all, of one ``call`` or of all; an unknown
    rank or call is a ValueError.
    """

    records: tuple[tuple[Record, ...], ...]

    @property
    def num_ranks(self) -> int:
        """How many ranks there are."""
        return len(self.records)

    def select(
        self, call: str | None = None, *, rank: int | None = None
    ) -> tuple[Record, ...]:
        """The records of one call or rank, or of all."""
        if call is not None:
            key_of("call", call, CALLS)
        if rank is not None and rank not in range(self.num_ranks):
            raise ValueError(f"rank must be from 0 to {self.num_ranks - 1}, got {rank}")
        pages = self.records if rank is None else (self.records[rank],)
        return tuple(
            each for page in pages for each in page if call in (None, each.call)
        )

    def calls(self, call: str | None = None, *, rank: int | None = None) -> int:
        """How many calls."""
        return len(self.select(call, rank=rank))

    def tensor_bytes(self, call: str | None = None, *, rank: int | None = None) -> int:
        """Bytes of the whole tensors."""
        return sum(each.tensor_bytes for each in self.select(call, rank=rank))

    def sent_bytes(self, call: str | None = None, *, rank: int | None = None) -> int:
        """Bytes on the wire: what leaves the rank."""
        return sum(each.wire.sent_bytes for each in self.select(call, rank=rank))

    def received_bytes(
        self, call: str | None = None, *, rank: int | None = None
    ) -> int:
        """Bytes that come in from the wire."""
        return sum(each.wire.received_bytes for each in self.select(call, rank=rank))

    def seconds(
        self,
        link: Link,
        call: str | None = None,
        *,
        rank: int,
        latency_s: float | None = None,
        eff_link: float = 1.0,
    ) -> float:
        """Time that one rank spends on the link, its calls one after another.

        Errors as in :meth:`Wire.of`. Nothing overlaps, and no rank is a straggler.
        """
        wire = Wire.of(link, latency_s, eff_link)
        return sum(wire.seconds(each.wire) for each in self.select(call, rank=rank))

    def table(
        self,
        link: Link | None = None,
        *,
        latency_s: float | None = None,
        eff_link: float = 1.0,
    ) -> Table:
        """One row per rank and kind of call; with a ``link``, the time it takes.

        Errors as in :meth:`Wire.of`.
        """
        columns = ["rank", "call", "calls", "tensor, bytes", "on the wire, bytes"]
        notes, wire = [ON_THE_WIRE], None
        if link is not None:
            wire = Wire.of(link, latency_s, eff_link)
            columns.append(f"time on {link.name}")
            notes.append(
                f"{si(wire.latency_s, 's')} per step, {si(wire.bytes_per_s, 'byte/s')} "
                "one way"
            )
        rows = [
            _row(rank, call, self.select(call, rank=rank), wire)
            for rank, page in enumerate(self.records)
            for call in dict.fromkeys(each.call for each in page)
        ]
        return Table(f"Exchanged between {self.num_ranks} ranks", columns, rows, notes)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def _row(
    rank: int, call: str, records: Sequence[Record], wire: Wire | None
) -> list[Cell]:
    row: list[Cell] = [
        str(rank),
        call,
        len(records),
        sum(each.tensor_bytes for each in records),
        sum(each.wire.sent_bytes for each in records),
    ]
    if wire is not None:
        row.append(si(sum(wire.seconds(each.wire) for each in records), "s"))
    return row
