"""Paged memory of one replica: blocks are taken, shared, and evicted, not only counted.

Prompts are shared by the names of their blocks. The blocks that answers grow into
belong to one request each and have no name, so any of them will do: they are kept
together, and as many as a request has grown by go back with it.
"""

from __future__ import annotations

from llmserve_lab.engine.scheduler.request import Request
from llmserve_lab.engine.scheduler.sequence import Sequence
from llmserve_lab.paged_cache import BlockPool


class PagedMemory:
    """Block tables over a pool of ``num_blocks`` blocks of ``block_tokens`` tokens.

    ``owed`` are blocks that answers have grown into and that have not been taken yet:
    that is done when a request comes or goes and something could be evicted for them.
    They may be more than are free; then a preemption pays them at the end of the same
    iteration.
    """

    def __init__(self, num_blocks: int, block_tokens: int) -> None:
        self.pool = BlockPool(num_blocks)
        self.block_tokens = block_tokens
        self.owed = 0
        self._grown: list[int] = []

    @property
    def free_blocks(self) -> int:
        """Blocks that are free, less those that are owed."""
        return self.pool.num_free - self.owed

    def find(self, request: Request) -> list[int]:
        """Blocks that hold the longest known beginning of a prompt, never all of it.

        Raises:
            ValueError: the names are not those of blocks of this size.
        """
        if not request.prefix:
            return []
        self._settle()
        wanted = -(-request.prompt_len // self.block_tokens)
        if len(request.prefix) != wanted:
            raise ValueError(
                f"prefix of request {request.id} must name none or all {wanted} blocks "
                f"of {self.block_tokens} tokens, got {len(request.prefix)} names"
            )
        most = (request.prompt_len - 1) // self.block_tokens
        return self.pool.find_run(request.prefix[:most])

    def missing(self, sequence: Sequence, blocks: int) -> int:
        """Free blocks that a table of ``blocks`` takes; found ones in use are free."""
        if sequence.swapped or not sequence.request.prefix:
            return blocks
        found = self.find(sequence.request)
        return blocks - self.pool.num_used(found)

    def enter(self, sequence: Sequence, blocks: int) -> int:
        """Give a request a table of ``blocks``; return the tokens that are computed."""
        if self.pool.evictable:
            self._settle()
        if sequence.swapped or not sequence.request.prefix:
            sequence.table = ([], self.pool.lend(blocks))
            return 0
        found = self.find(sequence.request)
        self.pool.share(*found)
        sequence.table = (found, self.pool.lend(blocks - len(found)))
        return len(found) * self.block_tokens

    def keep(self, sequence: Sequence) -> None:
        """Let the full blocks of a prompt that has been computed be found."""
        full = sequence.request.prompt_len // self.block_tokens
        shared, own = sequence.table
        names = sequence.request.prefix[len(shared) : full]
        others = own[len(names) :]
        for block, name in zip(own, names, strict=False):
            (shared if self.pool.adopt(block, name) else others).append(block)
        own[:] = others

    def _settle(self) -> None:
        """Take the blocks that are owed, as far as they are free."""
        now = min(self.owed, self.pool.num_free)
        self._grown += self.pool.lend(now)
        self.owed -= now

    def leave(self, sequence: Sequence, blocks: int) -> int:
        """Give back a table and what the request has grown by, ``blocks`` in all.

        Returns:
            How many are free now: those that others share are not.
        """
        if self.pool.evictable:
            self._settle()
        shared, own = sequence.table
        grown = blocks - len(shared) - len(own)
        if grown and self._grown:
            kept = max(len(self._grown) - grown, 0)
            grown -= len(self._grown) - kept
            own += self._grown[kept:]
            del self._grown[kept:]
        self.owed -= grown
        self.pool.give_back(own)
        if not shared:
            return blocks
        return blocks - len(shared) + self.pool.release(*reversed(shared))
