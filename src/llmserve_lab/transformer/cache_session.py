"""A forward pass over many requests reads all their caches, and writes them at the end.

Nothing is written before every layer has been computed, and room is asked for before
the first, so no error leaves one cache longer than the others, or one layer ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from llmserve_lab.catalog import ModelShape
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.attention_context import Entries
from llmserve_lab.transformer.cache import KVCache, cache_parts
from llmserve_lab.transformer.packing import Packing


class CacheSession:
    """The caches of the requests of one forward pass, and each layer's new entries.

    Raises:
        ValueError: there is not one cache per request, one is given twice, belongs to
            another model, or has no room for its request's new rows.
    """

    def __init__(
        self,
        shape: ModelShape,
        cu_seqlens: Sequence[int],
        caches: Sequence[KVCache] | None,
    ) -> None:
        num_requests = max(len(cu_seqlens) - 1, 0)
        contexts = [0] * num_requests
        if caches is not None:
            _check(shape, caches, num_requests)
            contexts = [cache.length for cache in caches]
        self.packing = Packing(tuple(cu_seqlens), tuple(contexts))
        self.caches = tuple(caches or ())
        self._fresh: list[Entries] = []
        for cache, length in zip(self.caches, self.packing.lengths, strict=False):
            cache.check_room(length)

    def of_layer(self, layer: int) -> Callable[[Entries], Entries]:
        """The function that gives the entries of all keys, given those of new rows."""

        def recall(fresh: Entries) -> Entries:
            if not self.caches:
                return fresh
            self._fresh.append(fresh)
            past = [cache.read(layer) for cache in self.caches]
            return {part: self._joined(part, fresh, past) for part in fresh}

        return recall

    def _joined(self, part: str, fresh: Entries, past: Sequence[Entries]) -> Array:
        pieces = []
        for held, (rows, _) in zip(past, self.packing.slices(), strict=True):
            pieces += [held[part], fresh[part][rows]]
        return np.concatenate(pieces)

    def write(self) -> None:
        """Append every request's new entries to its cache."""
        for cache, (rows, _) in zip(self.caches, self.packing.slices(), strict=False):
            new = [
                {part: array[rows] for part, array in entries.items()}
                for entries in self._fresh
            ]
            cache.append(new, num_tokens=rows.stop - rows.start)


def _check(shape: ModelShape, caches: Sequence[KVCache], num_requests: int) -> None:
    if len(caches) != num_requests or len({*map(id, caches)}) != num_requests:
        raise ValueError(
            f"caches must be one per request, {num_requests} different ones, "
            f"got {len(caches)}"
        )
    wanted = (shape.n_layers, cache_parts(shape))
    for cache in caches:
        if (cache.n_layers, cache.parts) != wanted:
            raise ValueError(
                f"cache must hold {wanted[1]} in {wanted[0]} layers, "
                f"got {cache.parts} in {cache.n_layers}"
            )
