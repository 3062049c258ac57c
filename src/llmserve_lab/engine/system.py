"""One loop, one event: somebody arrives, or somebody's iteration ends.

Whatever comes next in time is done next; at equal times arrivals come first, so that
who is there when an iteration is planned can be in it.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from operator import attrgetter

from llmserve_lab.engine.gaps import Gaps
from llmserve_lab.engine.pool import Disaggregated, Pool
from llmserve_lab.engine.record import Record
from llmserve_lab.engine.replica import Replica
from llmserve_lab.engine.sequence import Sequence
from llmserve_lab.engine.source import Source
from llmserve_lab.engine.wire import Wire

Stop = Callable[[float], bool]
TURNS_BETWEEN_LOOKS = 256
BY_END = attrgetter("end_s")
BY_REQUESTS = attrgetter("num_requests")


class System:
    """All replicas, by pool, and what is on its way from one pool to the next."""

    def __init__(
        self, deployment: Pool | Disaggregated, *, leap: bool = True, log: bool = False
    ) -> None:
        self.gaps = Gaps()
        self.now_s = 0.0
        self.pools: dict[str, list[Replica]] = {}
        self._sent: list[tuple[float, int, Sequence, Replica]] = []
        self._num_sent = 0
        self._leap, self._log = leap, log
        if isinstance(deployment, Disaggregated):
            wires = [_wire(deployment) for _ in range(deployment.prefill.replicas)]
            self._open("prefill", deployment.prefill, wires)
            self._open("decode", deployment.decode)
        else:
            self._open("pool", deployment)
        self.front, self.back = (list(self.pools.values()) * 2)[:2]
        self.replicas = [each for pool in self.pools.values() for each in pool]

    def _open(self, name: str, pool: Pool, wires: list[Wire] | None = None) -> None:
        prefixes = pool.prefixes.opened() if pool.prefixes else None
        self.pools[name] = [
            Replica(
                pool,
                self.gaps,
                where=(name, place),
                prefixes=prefixes,
                wire=wires[place] if wires else None,
                leap=self._leap,
                log=self._log,
            )
            for place in range(pool.replicas)
        ]

    def serve(self, source: Source, record: Record, stop: Stop | None) -> bool:
        """Run until nothing is left to do, or until ``stop`` says so; then false."""
        turns = 0
        while True:
            replica = min(self.replicas, key=BY_END)
            outside_s = source.next_s
            if self._sent and self._sent[0][0] <= outside_s:
                outside_s = self._sent[0][0]
            if outside_s <= replica.end_s:
                if outside_s == inf:
                    return True
                self._deliver(outside_s, source)
            elif replica.run is None:
                replica.begin()
            else:
                self._commit(replica, source, record)
            turns += 1
            if stop and turns % TURNS_BETWEEN_LOOKS == 0 and stop(self.now_s):
                return False

    def _deliver(self, now_s: float, source: Source) -> None:
        """A prompt's cache has come over the link, or a new request has come in."""
        self.now_s = now_s
        if self._sent and self._sent[0][0] <= now_s:
            _, _, sequence, sender = heappop(self._sent)
            sender.give_back(sequence, now_s)
            min(self.back, key=BY_REQUESTS).submit(sequence, now_s)
        else:
            sequence = Sequence(source.pop())
            min(self.front, key=BY_REQUESTS).submit(sequence, now_s)

    def _commit(self, replica: Replica, source: Source, record: Record) -> None:
        """An iteration is over: note who has been answered, send on who must leave."""
        self.now_s = now_s = replica.end_s
        for sequence in replica.commit():
            record.add(sequence, now_s)
            source.answered(now_s)
        while replica.leaving:
            assert replica.wire is not None
            sequence = replica.leaving.pop(0)
            there_s = replica.wire.arrival_s(sequence, now_s)
            sequence.transfer_s = there_s - now_s
            self._num_sent += 1
            heappush(self._sent, (there_s, self._num_sent, sequence, replica))


def _wire(deployment: Disaggregated) -> Wire:
    cost = deployment.prefill.cost
    return Wire(
        bytes_per_s=deployment.bytes_per_s,
        latency_s=deployment.latency_s,
        token_bytes=cost.kv_bytes_per_token,
        n_layers=cost.n_layers,
        streamed=deployment.streamed,
    )
