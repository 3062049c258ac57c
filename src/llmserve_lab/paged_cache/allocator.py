"""Paged allocator: a block table for each request, over one pool of blocks.

Request → table → blocks: token i of a request lies in block ``table[i // b]``, at place
``i % b``. Full blocks are never written again and may be shared; a block that is not
full is written, so it is copied first if another table points to it (copy-on-write).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from llmserve_lab.checks import of_type, whole, whole_number, whole_numbers
from llmserve_lab.paged_cache.block_hash import ROOT, block_hash, chained_hashes
from llmserve_lab.paged_cache.block_pool import BlockPool, NoFreeBlockError

LARGEST_ID = 1 << 63  # of what a block's hash is made of


class BlockCopy(NamedTuple):
    """Contents to be copied before anything is written: from a block to another."""

    source: int
    target: int


class _Held:
    """What one request holds: token ids, block table, and how far it is computed."""

    __slots__ = ("blocks", "computed", "named", "parent", "salt", "tokens")

    def __init__(self, tokens: list[int], blocks: list[int], salt: str) -> None:
        self.tokens, self.blocks, self.salt = tokens, blocks, salt
        self.computed = self.named = 0  # tokens; leading blocks whose hash is known
        self.parent = ROOT  # hash of the last of them


class PagedAllocator:
    """Block tables of all requests, over ``num_blocks`` blocks of ``block_tokens``.

    An operation that is refused changes nothing. Without ``prefix_caching`` no contents
    are found again.

    Raises:
        TypeError: a number is no whole one.
        ValueError: it is below 1.
    """

    def __init__(
        self,
        num_blocks: int,
        block_tokens: int = 16,
        *,
        prefix_caching: bool = True,
        log: bool = False,
    ) -> None:
        whole(of="token", block_tokens=block_tokens)
        of_type(bool, prefix_caching=prefix_caching, log=log)
        self.pool = BlockPool(num_blocks, log=log)
        self.block_tokens, self.prefix_caching = block_tokens, prefix_caching
        self._held: dict[Hashable, _Held] = {}

    @property
    def requests(self) -> tuple[Hashable, ...]:
        """Names of the requests that hold blocks."""
        return tuple(self._held)

    def table(self, request: Hashable) -> tuple[int, ...]:
        """Block table of a request."""
        return tuple(self._of(request).blocks)

    def tokens(self, request: Hashable) -> tuple[int, ...]:
        """Token ids of a request."""
        return tuple(self._of(request).tokens)

    def salt(self, request: Hashable) -> str:
        """Salt of a request's prefix: what keeps tenants apart."""
        return self._of(request).salt

    def lookup(self, tokens: Sequence[int], *, salt: str = "") -> list[int]:
        """Blocks that hold the longest known beginning of a prompt.

        Never all of its tokens: the model has to run at least one, or it would not say
        the next. A tenant with another ``salt`` finds nothing.
        """
        found: list[int] = []
        if not self.prefix_caching:
            return found
        for name in chained_hashes(tokens[:-1], self.block_tokens, salt=salt):
            block = self.pool.find(name)
            if block is None:
                break
            found.append(block)
        return found

    def admit(self, request: Hashable, tokens: Sequence[int], *, salt: str = "") -> int:
        """Give a request blocks for all its tokens; return how many are computed.

        Raises:
            NoFreeBlockError: not enough blocks are free for what is not shared.
            TypeError: a token id is no whole number.
            ValueError: it holds blocks already, has no token, or an id is negative.
        """
        if request in self._held:
            raise ValueError(f"request must hold no blocks yet, got {request!r}")
        whole(of="token", tokens=len(tokens))
        _check_ids(tokens)
        shared = self.lookup(tokens, salt=salt)
        fresh = -(-len(tokens) // self.block_tokens) - len(shared)
        idle = sum(self.pool.references(block) == 0 for block in shared)
        self._check_free(fresh + idle, len(tokens))
        for block in shared:
            self.pool.share(block)
        held = _Held(list(tokens), shared + self.pool.take(fresh), salt)
        held.computed = len(shared) * self.block_tokens
        self._held[request] = held
        self._chain(held)
        return held.computed

    def append(self, request: Hashable, token: int) -> BlockCopy | None:
        """Give the next token a place; return the copy that must be made first.

        Raises:
            NoFreeBlockError: a new block is needed, and none is free.
            ValueError: the request holds no blocks.
        """
        held = self._of(request)
        _check_ids((token,))
        if len(held.tokens) % self.block_tokens == 0:
            held.blocks += self.pool.take()
            held.tokens.append(token)
            return None
        last = held.blocks[-1]
        copy = None
        if self.pool.references(last) > 1:
            (own,) = self.pool.take()
            self.pool.copied(last, own)
            self.pool.release(last)
            held.blocks[-1], copy = own, BlockCopy(last, own)
        held.tokens.append(token)
        return copy

    def fork(self, request: Hashable, child: Hashable) -> None:
        """Let ``child`` continue what ``request`` has, on the same blocks.

        Raises:
            ValueError: the parent holds no blocks, or the child does.
        """
        held = self._of(request)
        if child in self._held:
            raise ValueError(f"child must hold no blocks yet, got {child!r}")
        for block in held.blocks:
            self.pool.share(block)
        twin = _Held(list(held.tokens), list(held.blocks), held.salt)
        twin.computed, twin.named = held.computed, held.named
        twin.parent = held.parent
        self._held[child] = twin

    def computed(self, request: Hashable, count: int) -> None:
        """Say that the keys and values of the first ``count`` tokens are in place.

        Full blocks of them can be found from now on.

        Raises:
            ValueError: the request has fewer tokens, or had more computed before.
        """
        held = self._of(request)
        whole_number("count", count, of="token", first=0)
        if not held.computed <= count <= len(held.tokens):
            raise ValueError(
                f"count must be from {held.computed} up to {len(held.tokens)} tokens, "
                f"got {count}"
            )
        held.computed = count
        self._chain(held)

    def num_computed(self, request: Hashable) -> int:
        """Tokens of a request whose keys and values are in place."""
        return self._of(request).computed

    def free(self, request: Hashable) -> None:
        """Give all blocks of a request back, the last first.

        The end of a text is of use to fewer than its beginning, so it is evicted first.

        Raises:
            ValueError: the request holds no blocks.
        """
        held = self._of(request)
        del self._held[request]
        for block in reversed(held.blocks):
            self.pool.release(block)

    def _chain(self, held: _Held) -> None:
        """Name the full blocks that are computed and have no name yet."""
        size = self.block_tokens
        while self.prefix_caching and (held.named + 1) * size <= held.computed:
            start = held.named * size
            salt = "" if start else held.salt
            block = held.tokens[start : start + size]
            held.parent = block_hash(held.parent, block, salt)
            self.pool.keep(held.blocks[held.named], held.parent)
            held.named += 1

    def _check_free(self, needed: int, tokens: int) -> None:
        if needed > self.pool.num_free:
            raise NoFreeBlockError(
                f"tokens must fit into the {self.pool.num_free} free blocks of "
                f"{self.block_tokens}, got {tokens} that need {needed}"
            )

    def _of(self, request: Hashable) -> _Held:
        try:
            return self._held[request]
        except KeyError:
            raise ValueError(f"request must hold blocks, got {request!r}") from None


def _check_ids(tokens: Sequence[int]) -> None:
    """Refuse what is no token id, before anything has been changed."""
    whole_numbers("tokens", tokens)
    if not 0 <= min(tokens) <= max(tokens) < LARGEST_ID:
        raise ValueError(f"tokens must be from 0 up to 2⁶³ - 1, got {min(tokens)}")
