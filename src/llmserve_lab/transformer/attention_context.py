"""What the rows of one layer may look back on: their positions, requests and cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from llmserve_lab.transformer.arithmetic import PLAIN, Array, Execution, Integers
from llmserve_lab.transformer.packing import AttentionKernel, Packing, varlen_attention

Entries = Mapping[str, Array]


def nothing_before(fresh: Entries) -> Entries:
    """Without a cache, the entries of the new rows are all there is."""
    return fresh


@dataclass(frozen=True)
class AttentionContext:
    """Positions [n] of the rows, the packing, the kernel, and the cache of one layer.

    ``recall(fresh)`` takes the cache entries of the n new rows, by part, each [n, …],
    and returns those of all m keys, request by request, cached ones first, [m, …].
    """

    packing: Packing
    positions: Integers
    kernel: AttentionKernel = varlen_attention
    recall: Callable[[Entries], Entries] = nothing_before

    def attend(
        self,
        query: Array,
        key: Array,
        value: Array,
        *,
        scale: float | None = None,
        run: Execution = PLAIN,
    ) -> Array:
        """[n, h, d_k], [m, h_kv, d_k], [m, h_kv, d_v] → [n, h, d_v], by the kernel."""
        return self.kernel.attend(query, key, value, self.packing, scale=scale, run=run)
