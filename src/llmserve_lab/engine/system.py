"""The event loop: a request arrives, a KV transfer arrives, or an iteration ends.

Whatever comes next in time is done next. At the same moment iterations end first, then
requests come in, and then the next iteration is planned, so that a request that arrives
at a boundary is in the iteration that begins there.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf

from llmserve_lab.engine.arrivals import ArrivalSource
from llmserve_lab.engine.deployment import Disaggregated, Pool
from llmserve_lab.engine.kv_transfer import KVTransfer
from llmserve_lab.engine.metrics.request_log import RequestLog
from llmserve_lab.engine.metrics.tbt_histogram import TbtHistogram
from llmserve_lab.engine.replica import Replica
from llmserve_lab.engine.scheduler.prefix_cache import CachedPrefixes
from llmserve_lab.engine.scheduler.sequence import Sequence
from llmserve_lab.engine.timing.time_tolerance import earliest, latest

StopCondition = Callable[[float], bool]


class System:
    """All replicas by pool, and the KV caches on their way from one to the next."""

    def __init__(
        self, deployment: Pool | Disaggregated, *, leap: bool = True, log: bool = False
    ) -> None:
        self.gaps = TbtHistogram()
        self.now_s = 0.0
        self.pools: dict[str, list[Replica]] = {}
        self._sent: list[tuple[float, int, Sequence, Replica]] = []
        self._num_sent = 0
        self._leap, self._log = leap, log
        if isinstance(deployment, Disaggregated):
            prefill, decode = deployment.prefill, deployment.decode
            there = _opened(decode)
            wires = [_wire(deployment, there) for _ in range(prefill.replicas)]
            self._open("prefill", prefill, _opened(prefill), wires)
            self._open("decode", decode, there)
        else:
            self._open("pool", deployment, _opened(deployment))
        pools = list(self.pools.values())
        # Requests come in at the front and are answered at the back. One pool is both,
        # so that the event loop has no branch for a deployment that is not split.
        self.front, self.back = pools[0], pools[-1]
        self.replicas = [each for pool in self.pools.values() for each in pool]

    def _open(
        self,
        name: str,
        pool: Pool,
        prefixes: CachedPrefixes | None,
        wires: list[KVTransfer] | None = None,
    ) -> None:
        self.pools[name] = [
            Replica(
                pool,
                self.gaps,
                where=(name, place),
                prefix_cache=prefixes,
                kv_transfer=wires[place] if wires else None,
                leap=self._leap,
                log=self._log,
            )
            for place in range(pool.replicas)
        ]

    def serve(
        self, source: ArrivalSource, record: RequestLog, stop: StopCondition | None
    ) -> bool:
        """Run until nothing is left to do, or until ``stop`` says so; then false."""
        sent = self._sent
        alone = self.replicas[0] if len(self.replicas) == 1 else None
        while True:
            replica = alone or self._next_replica()
            outside_s = source.next_s
            if sent and sent[0][0] <= outside_s:
                outside_s = sent[0][0]
            # Times that differ by rounding alone are one moment: without the tolerance
            # the order of events there would be that of rounding errors.
            if replica.run is not None and replica.end_s <= latest(outside_s):
                self._commit(replica, source, record)
            elif outside_s == inf == replica.end_s:
                self._check_all_served()
                return True
            elif outside_s <= latest(replica.end_s):
                self._deliver(outside_s, source)
            else:
                replica.begin()
            if stop and stop(self.now_s):
                return False

    def _check_all_served(self) -> None:
        """Refuse an order that leaves a replica idle although requests wait."""
        left = sum(len(each.waiting) for each in self.replicas)
        if left:
            raise RuntimeError(
                f"next must admit a request where none runs, got None with {left} left"
            )

    def _next_replica(self) -> Replica:
        """The one that is due first; of several, one whose iteration ends.

        Replicas that are due at the same moment but only wait to plan come after, so
        that what the ended iterations send on can be in their plans.
        """
        ends = [each.end_s for each in self.replicas]
        soonest_s = min(ends)
        if soonest_s == inf:
            return self.replicas[0]
        now_s = latest(soonest_s)
        both = zip(self.replicas, ends, strict=True)
        due = [each for each, end_s in both if end_s <= now_s]
        if len(due) == 1:
            return due[0]
        return next((each for each in due if each.run), due[0])

    def _deliver(self, due_s: float, source: ArrivalSource) -> None:
        """A prompt's cache has come over the link, or a new request has come in."""
        self.now_s = now_s = max(self.now_s, due_s)
        if self._sent and self._sent[0][0] <= now_s:
            _, _, sequence, sender = heappop(self._sent)
            sender.give_back(sequence, now_s)
            self._choose(self.back, sequence).submit(sequence, now_s)
        else:
            sequence = Sequence(source.pop())
            self._choose(self.front, sequence).submit(sequence, now_s)

    @staticmethod
    def _choose(replicas: list[Replica], sequence: Sequence) -> Replica:
        """The replica that a request is sent to."""
        if len(replicas) == 1:
            return replicas[0]
        return replicas[replicas[0].routing.choose(replicas, sequence.request)]

    def _commit(
        self, replica: Replica, source: ArrivalSource, record: RequestLog
    ) -> None:
        """End an iteration: log the requests it answered, send on those that leave."""
        self.now_s = now_s = max(self.now_s, replica.end_s)
        for sequence in replica.commit():
            record.add(sequence, now_s)
            source.answered(now_s)
        while replica.leaving:
            assert replica.kv_transfer is not None
            sequence = replica.leaving.pop(0)
            there_s = replica.kv_transfer.arrival_s(sequence, now_s)
            sequence.transfer_s = there_s - now_s
            self._expect(there_s, sequence, replica)

    def _expect(self, there_s: float, sequence: Sequence, sender: Replica) -> None:
        """Queue an arrival; at the same moment, in the order in which it was sent."""
        # The heap compares times exactly: what is one moment gets one number, and then
        # the order of sending decides.
        for other_s, *_ in self._sent:
            if earliest(there_s) <= other_s <= latest(there_s):
                there_s = other_s
        self._num_sent += 1
        heappush(self._sent, (there_s, self._num_sent, sequence, sender))


def _opened(pool: Pool) -> CachedPrefixes | None:
    return pool.prefix_cache.opened() if pool.prefix_cache else None


def _wire(deployment: Disaggregated, held: CachedPrefixes | None) -> KVTransfer:
    cost = deployment.prefill.cost
    return KVTransfer(
        bytes_per_s=deployment.bytes_per_s,
        latency_s=deployment.latency_s,
        token_bytes=cost.kv_bytes_per_token,
        n_layers=cost.n_layers,
        streamed=deployment.streamed,
        held=held,
    )
