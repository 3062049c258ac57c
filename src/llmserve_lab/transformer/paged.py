"""Paged KV cache (PagedAttention): keys are read through a block table.

One array of blocks serves all requests. A request's cache looks to the forward pass as
a contiguous one does: reading gathers its blocks, writing scatters into them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from llmserve_lab.catalog import ModelShape
from llmserve_lab.checks import whole, whole_number
from llmserve_lab.paged_cache import PagedAllocator
from llmserve_lab.transformer.arithmetic import Array, Integers
from llmserve_lab.transformer.attention_context import Entries
from llmserve_lab.transformer.cache import MOST_TOKENS, KVCache, cache_parts


class SwappedOut(NamedTuple):
    """A request whose blocks are given back: its tokens, and a copy of its cache."""

    tokens: tuple[int, ...]
    salt: str
    held: dict[str, Array]


class PagedKVStore:
    """``num_blocks`` blocks of ``block_tokens`` tokens for all requests of a model.

    Raises:
        TypeError: a number is no whole one.
        ValueError: it is below 1.
    """

    def __init__(
        self,
        shape: ModelShape,
        *,
        num_blocks: int,
        block_tokens: int = 16,
        prefix_caching: bool = True,
        log: bool = False,
    ) -> None:
        whole(num_blocks=num_blocks, block_tokens=block_tokens)
        room_for = num_blocks * block_tokens
        whole_number(
            "num_blocks × block_tokens", room_for, of="token", most=MOST_TOKENS
        )
        self.shape = shape
        self.allocator = PagedAllocator(
            num_blocks, block_tokens, prefix_caching=prefix_caching, log=log
        )
        room = (shape.n_layers, num_blocks, block_tokens)
        parts = cache_parts(shape)
        self.blocks = {part: np.zeros((*room, *one)) for part, one in parts.items()}

    def admit(
        self, request: Hashable, tokens: Sequence[int], *, salt: str = ""
    ) -> PagedKVCache:
        """Take blocks for a prompt; the cache returned holds what was found of it.

        Raises:
            ValueError: as :meth:`PagedAllocator.admit`; the store is as it was.
        """
        self.allocator.admit(request, tokens, salt=salt)
        return PagedKVCache(self, request)

    def append(self, request: Hashable, token: int) -> None:
        """Give the next token of a request a place, which may copy a shared block.

        Raises:
            ValueError: as :meth:`PagedAllocator.append`; the store is as it was.
        """
        copy = self.allocator.append(request, token)
        if copy is not None:
            for array in self.blocks.values():
                array[:, copy.target] = array[:, copy.source]

    def fork(self, request: Hashable, child: Hashable) -> PagedKVCache:
        """Let ``child`` continue ``request`` on the same blocks.

        Raises:
            ValueError: as :meth:`PagedAllocator.fork`.
        """
        self.allocator.fork(request, child)
        return PagedKVCache(self, child)

    def free(self, request: Hashable) -> None:
        """Give the blocks of a request back."""
        self.allocator.free(request)

    def swap_out(self, request: Hashable) -> SwappedOut:
        """Copy the cache of a request away, and give its blocks back (preemption)."""
        places = self.places(request)[: self.allocator.num_computed(request)]
        held = {part: _flat(array)[:, places] for part, array in self.blocks.items()}
        tokens, salt = self.allocator.tokens(request), self.allocator.salt(request)
        self.allocator.free(request)
        return SwappedOut(tokens, salt, held)

    def swap_in(self, request: Hashable, copy: SwappedOut) -> PagedKVCache:
        """Take blocks again for a request that was swapped out, and fill them.

        Raises:
            NoFreeBlockError: not enough are free; the store is as it was.
        """
        found = self.allocator.admit(request, copy.tokens, salt=copy.salt)
        count = max(found, next(iter(copy.held.values())).shape[1])
        places = self.places(request)[found:count]
        for part, array in copy.held.items():
            _flat(self.blocks[part])[:, places] = array[:, found:]
        self.allocator.computed(request, count)
        return PagedKVCache(self, request)

    def places(self, request: Hashable) -> Integers:
        """Places of a request's tokens, [n]: block · block_tokens + place within it."""
        size = self.allocator.block_tokens
        table = np.array(self.allocator.table(request), dtype=np.int64)
        number = np.arange(len(self.allocator.tokens(request)))
        return table[number // size] * size + number % size


def _flat(blocks: Array) -> Array:
    """A view of one part in which blocks lie end to end: [layer, place, …]."""
    return blocks.reshape(blocks.shape[0], -1, *blocks.shape[3:])


class PagedKVCache(KVCache):
    """The cache of one request of a store, for a forward pass.

    Room is what the allocator has given it: a token is known to the store before the
    model runs it.
    """

    def __init__(self, store: PagedKVStore, request: Hashable) -> None:
        self.store, self.request = store, request
        self.n_layers = store.shape.n_layers
        self.parts = cache_parts(store.shape)
        self.length = store.allocator.num_computed(request)

    @property
    def capacity_tokens(self) -> int:
        """Tokens of the request that have a place."""
        return len(self.store.allocator.tokens(self.request))

    @property
    def num_bytes(self) -> int:
        """Bytes of the entries held, 8 a number; shared ones are counted too."""
        return sum(part.nbytes for part in self.read_all().values())

    @property
    def capacity_bytes(self) -> int:
        """Bytes of the blocks of its table, 8 a number."""
        blocks = len(self.store.allocator.table(self.request))
        return sum(blocks * array[:, 0].nbytes for array in self.store.blocks.values())

    def read_all(self) -> dict[str, Array]:
        """Entries of all layers, by part, [layer, length, …]: copies."""
        places = self.store.places(self.request)[: self.length]
        return {
            part: _flat(array)[:, places] for part, array in self.store.blocks.items()
        }

    def read(self, layer: int) -> dict[str, Array]:
        """Entries of one layer, by part, [length, …], gathered through the table."""
        places = self.store.places(self.request)[: self.length]
        parts = {}
        for part, array in self.store.blocks.items():
            parts[part] = _flat(array)[layer, places]
            parts[part].flags.writeable = False
        return parts

    def _write(self, layers: Sequence[Entries], new: slice) -> None:
        places = self.store.places(self.request)[new]
        for layer, entries in enumerate(layers):
            for part, array in entries.items():
                _flat(self.store.blocks[part])[layer, places] = array
        self.store.allocator.computed(self.request, new.stop)
