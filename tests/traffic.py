"""Traffic of a forward pass: weights that its products read, rows that go in and out.

The transformer's meter counts FLOPs and pairs; here each product is told by the weight
that it multiplies with, and the bytes of its arrays are weighed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from llmserve_lab.transformer import Execution, KVCache, Meter
from llmserve_lab.transformer.arithmetic import Array


@dataclass
class Traffic:
    """FLOPs and bytes by the name of the weight, over all products of a pass."""

    weights: Mapping[str, Array]
    flops: Counter[str] = field(default_factory=Counter)
    weight_bytes: Counter[str] = field(default_factory=Counter)
    row_bytes: Counter[str] = field(default_factory=Counter)
    meter: Meter = field(default_factory=Meter)

    def on(self) -> Execution:
        """An execution that this traffic is seen in."""
        return replace(self.meter.on(), linear=self._product)

    def _product(self, left: Array, right: Array) -> Array:
        result = np.asarray(np.matmul(left, right))
        (name,) = (
            name
            for name, whole in self.weights.items()
            if np.may_share_memory(right, whole)
        )
        self.flops[name] += 2 * result.size * left.shape[-1]
        self.weight_bytes[name] += right.nbytes
        self.row_bytes[name] += left.nbytes + result.nbytes
        return result


def part(amounts: Counter[str], *names: str) -> int:
    """The sum over all weights whose name begins so."""
    return sum(amount for name, amount in amounts.items() if name.startswith(names))


def numbers(weights: Mapping[str, Array], *names: str) -> int:
    """Numbers in the matrices whose name begins so; gains of norms are left out."""
    matrices = {name: a for name, a in weights.items() if a.ndim > 2}
    return sum(a.size for name, a in matrices.items() if name.startswith(names))


class ReadCache(KVCache):
    """A cache that counts the bytes that are read of it."""

    read_bytes = 0

    def read(self, layer: int) -> dict[str, Array]:
        """Entries of one layer, counted."""
        found = super().read(layer)
        self.read_bytes += sum(entries.nbytes for entries in found.values())
        return found
