"""A machine so small that every multiplication and every byte can be counted.

It runs one iteration of a toy decoder with numbers that report their own arithmetic
and a memory that reports what is read from it. Nothing here knows a closed form.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Meter:
    """What one run did: FLOPs by kind, query–key pairs, bytes read by kind."""

    linear_flops: int = 0
    attn_flops: int = 0
    cached_attn_flops: int = 0
    pairs: int = 0
    weight_bytes: float = 0.0
    kv_read_bytes: float = 0.0

    @property
    def flops(self) -> int:
        """All multiplications and additions."""
        return self.linear_flops + self.attn_flops

    @property
    def bytes_read(self) -> float:
        """All bytes that came from memory."""
        return self.weight_bytes + self.kv_read_bytes


@dataclass(frozen=True)
class Toy:
    """Shape of the toy: one list of (inputs, outputs) per layer, and its attention."""

    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    matrices: tuple[tuple[int, int], ...]
    d_latent: int = 0
    d_rope: int = 0
    bytes_weight: int = 2
    bytes_kv: int = 2

    @property
    def params(self) -> int:
        """Entries of all weight matrices, one at a time."""
        return self.n_layers * sum(
            1 for rows, columns in self.matrices for _ in range(rows * columns)
        )


def dot(left: list[int], right: list[int], spent: list[int]) -> int:
    """Inner product; ``spent`` receives one for each product and for each sum."""
    total = 0
    for a, b in zip(left, right, strict=True):
        total = total + a * b
        spent[0] += 2
    return total


@dataclass
class Machine:
    """Runs iterations of a :class:`Toy` and keeps a :class:`Meter`."""

    toy: Toy
    meter: Meter = field(default_factory=Meter)

    def iteration(self, *, contexts: list[int], chunk: int) -> Meter:
        """One forward pass: each request has its cache and brings ``chunk`` rows."""
        for _ in range(self.toy.n_layers):
            for rows, columns in self.toy.matrices:
                self._matrix(rows, columns, n_rows=chunk * len(contexts))
            for context in contexts:
                self._attention(context, chunk)
        return self.meter

    def _matrix(self, rows: int, columns: int, *, n_rows: int) -> None:
        weights = [[1] * rows for _ in range(columns)]
        self.meter.weight_bytes += sum(map(len, weights)) * self.toy.bytes_weight
        spent = [0]
        for _ in range(n_rows):
            for column in weights:
                dot([1] * rows, column, spent)
        self.meter.linear_flops += spent[0]

    def _attention(self, context: int, chunk: int) -> None:
        """Load the cache once, whoever shares it; then walk the causal mask."""
        toy = self.toy
        latent = toy.d_latent > 0
        stored = [toy.d_latent + toy.d_rope] if latent else [toy.d_head] * 2
        for _ in range(1 if latent else toy.n_kv_heads):
            for _ in range(context):
                self.meter.kv_read_bytes += sum(stored) * toy.bytes_kv
        key, value = (
            (toy.d_latent + toy.d_rope, toy.d_latent) if latent else (toy.d_head,) * 2
        )
        for head in range(toy.n_heads):
            for row in range(chunk):
                for position in range(context + row + 1):
                    self._pair(key, value, first=head == 0, cached=position < context)

    def _pair(self, key: int, value: int, *, first: bool, cached: bool) -> None:
        spent = [0]
        score = dot([1] * key, [1] * key, spent)
        for _ in range(value):  # weighted sum: one product, one sum per element
            dot([score], [1], spent)
        self.meter.attn_flops += spent[0]
        self.meter.cached_attn_flops += spent[0] * cached
        # A pair is a pair whichever layer and head looks at it.
        self.meter.pairs += first
