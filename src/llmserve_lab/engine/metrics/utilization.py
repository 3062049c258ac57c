"""Utilization of a pool: computing, reading, holding KV cache, or idle."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.engine.replica import Replica


@dataclass(frozen=True)
class Utilization:
    """Utilization of the replicas of one pool, all of them together, in seconds.

    ``kv_token_s`` is the sum over tokens in cache of the seconds that they were held,
    ``kv_tokens`` the room of all replicas, ``kv_peak`` the largest share of blocks that
    any replica held. ``recomputed_tokens`` had their KV thrown away by ``preemptions``
    and were prefilled again; ``swapped_tokens`` had it copied out and back.
    """

    replicas: int
    iterations: int
    busy_s: float
    compute_s: float
    memory_s: float
    kv_token_s: float
    kv_tokens: int
    kv_peak: float
    elapsed_s: float
    preemptions: int = 0
    recomputed_tokens: int = 0
    swapped_tokens: int = 0

    @classmethod
    def of(cls, replicas: list[Replica], elapsed_s: float) -> Utilization:
        """Add up what the replicas have booked over ``elapsed_s`` seconds."""
        books = [each.counters for each in replicas]
        rooms = [each.num_blocks for each in replicas]
        return cls(
            replicas=len(replicas),
            iterations=sum(book.iterations for book in books),
            busy_s=sum(book.busy_s for book in books),
            compute_s=sum(book.compute_s for book in books),
            memory_s=sum(book.memory_s for book in books),
            kv_token_s=sum(book.kv_token_s for book in books),
            kv_tokens=sum(each.num_blocks * each.block_tokens for each in replicas),
            kv_peak=max(
                b.kv_peak_blocks / n for b, n in zip(books, rooms, strict=True)
            ),
            elapsed_s=elapsed_s,
            preemptions=sum(each.preemptions for each in replicas),
            recomputed_tokens=sum(each.recomputed_tokens for each in replicas),
            swapped_tokens=sum(each.swapped_tokens for each in replicas),
        )

    def _share(self, busy_s: float) -> float:
        whole_s = self.replicas * self.elapsed_s
        return busy_s / whole_s if whole_s else 0.0

    @property
    def utilisation(self) -> float:
        """Share of the time in which an iteration ran."""
        return self._share(self.busy_s)

    @property
    def compute_utilisation(self) -> float:
        """Share of the time in which the replicas computed."""
        return self._share(self.compute_s)

    @property
    def memory_utilisation(self) -> float:
        """Share of the time in which they read weights or cache."""
        return self._share(self.memory_s)

    @property
    def kv_occupancy(self) -> float:
        """Share of the cache that tokens of the batch filled, averaged over time."""
        whole = self.kv_tokens * self.elapsed_s
        return self.kv_token_s / whole if whole else 0.0
