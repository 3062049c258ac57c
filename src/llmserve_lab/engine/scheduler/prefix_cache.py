"""Prefix caching: a prompt that begins as an earlier one did reuses its KV blocks."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from llmserve_lab.engine.scheduler.request import Request


@dataclass(frozen=True, kw_only=True)
class PrefixCache:
    """Prefix cache with room for ``capacity_tokens`` tokens of prompts, in blocks.

    The blocks are those that requests name in ``prefix``, of ``block_tokens`` tokens;
    the least recently used one is evicted (LRU). Looking up and fetching take no time.
    What a decode pool holds need not be sent to it; what only the prefill pool holds,
    must.

    Raises:
        ValueError: there is no room for one block.
    """

    capacity_tokens: int
    block_tokens: int = 512

    def __post_init__(self) -> None:
        if not 1 <= self.block_tokens <= self.capacity_tokens:
            raise ValueError(
                f"capacity_tokens must be at least one block of {self.block_tokens} "
                f"tokens, got {self.capacity_tokens}"
            )

    def opened(self) -> CachedPrefixes:
        """An empty cache for one run."""
        return CachedPrefixes(self)


class CachedPrefixes:
    """Contents of a prefix cache during a run, the least recently used block first."""

    def __init__(self, store: PrefixCache) -> None:
        self.store = store
        self.most_blocks = store.capacity_tokens // store.block_tokens
        self._held: OrderedDict[int, None] = OrderedDict()

    def match(self, request: Request) -> int:
        """Leading tokens of the prompt that are held; never the whole of it.

        The model has to run at least one token, or it would not say the next.

        Raises:
            ValueError: the names are not those of the blocks of this store.
        """
        size, blocks = self.store.block_tokens, 0
        wanted = -(-request.prompt_len // size)
        if len(request.prefix) not in (0, wanted):
            raise ValueError(
                f"prefix of request {request.id} must name none or all {wanted} blocks "
                f"of {size} tokens, got {len(request.prefix)} names"
            )
        for name in request.prefix:
            if name not in self._held:
                break
            self._held.move_to_end(name)
            blocks += 1
        return min(blocks * size, request.prompt_len - 1)

    def keep(self, request: Request) -> None:
        """Hold the full blocks of a prompt that has been computed."""
        full = request.prompt_len // self.store.block_tokens
        for name in request.prefix[:full]:
            self._held[name] = None
            self._held.move_to_end(name)
        while len(self._held) > self.most_blocks:
            self._held.popitem(last=False)
