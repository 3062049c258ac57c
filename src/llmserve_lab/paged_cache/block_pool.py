"""Pool of physical blocks: free blocks, reference counts, and an index of contents.

A block is *used* (its reference count is positive) or *free*. A free block may still
contain keys and values under a name; then it can be shared again until it is taken for
something else. Taking it for something else is eviction, and nothing else is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from llmserve_lab.checks import whole

MOST_BLOCKS = 1 << 24  # each has an entry in three lists
BlockEventKind = Literal["taken", "shared", "copied", "released", "freed", "evicted"]


class BlockEvent(NamedTuple):
    """What happened to a block; ``copied`` names the block it was copied from."""

    kind: BlockEventKind
    block: int
    source: int | None = None


class NoFreeBlockError(ValueError):
    """More blocks are asked for than are free; nothing has been changed."""


class BlockPool:
    """``num_blocks`` blocks with reference counts, and an index of their contents.

    Free blocks without a name are on a stack and are taken first; named ones are in a
    linked list, the least recently used first (LRU). Every operation takes the same
    time however many blocks there are. With ``log``, events are kept in ``events``.

    Raises:
        TypeError: the number is no whole one.
        ValueError: it is below 1, or more than are kept book of.
    """

    def __init__(self, num_blocks: int, *, log: bool = False) -> None:
        whole(of="block", most=MOST_BLOCKS, num_blocks=num_blocks)
        self.num_blocks = num_blocks
        self.events: list[BlockEvent] | None = [] if log else None
        self.evictions = 0
        self._blank = [*reversed(range(num_blocks))]
        self._idle: OrderedDict[int, None] = OrderedDict()
        self._references = [0] * num_blocks
        self._names: list[Hashable | None] = [None] * num_blocks
        self._found: dict[Hashable, int] = {}

    @property
    def num_free(self) -> int:
        """Blocks that nothing uses, those with a name included."""
        return len(self._blank) + len(self._idle)

    @property
    def evictable(self) -> bool:
        """Whether a free block still contains what could be shared."""
        return bool(self._idle)

    @property
    def num_named(self) -> int:
        """Blocks whose contents can be found by name, used or free."""
        return len(self._found)

    def references(self, block: int) -> int:
        """How many block tables point to a block."""
        return self._references[self._known(block)]

    def free_order(self) -> tuple[int, ...]:
        """Free blocks in the order in which they will be taken."""
        return (*reversed(self._blank), *self._idle)

    def kept_blocks(self) -> tuple[int, ...]:
        """Free blocks with contents that could be shared, the first to go first."""
        return tuple(self._idle)

    def contents(self) -> Mapping[Hashable, int]:
        """Blocks by the names of what they contain, used or free; read-only."""
        return MappingProxyType(self._found)

    def find(self, name: Hashable) -> int | None:
        """The block with these contents, used or free; None where there is none."""
        return self._found.get(name)

    def find_run(self, names: Iterable[Hashable]) -> list[int]:
        """Blocks with these contents, in this order, up to the first not found."""
        found = map(self._found.get, names)
        return list(iter(found.__next__, None))

    def num_used(self, blocks: Iterable[int]) -> int:
        """How many of these blocks a block table points to."""
        known = self._all_known(blocks)
        return len(known) - [*map(self._references.__getitem__, known)].count(0)

    def take(self, count: int = 1) -> list[int]:
        """Take free blocks for new contents; what they contained is evicted.

        Raises:
            NoFreeBlockError: fewer are free; the pool is as it was.
        """
        taken = self.lend(count)
        for block in taken:
            self._references[block] = 1
        return taken

    def lend(self, count: int) -> list[int]:
        """Take blocks that will not be shared: whose reference counts are not kept.

        They are returned by :meth:`give_back`, or made sharable by :meth:`adopt`.

        Raises:
            NoFreeBlockError: fewer are free; the pool is as it was.
        """
        # Once per request and block: the checks are made only where this one comparison
        # says that something is wrong, or that named blocks have to go.
        kept = len(self._blank) - count
        if type(count) is not int or count < 0 or kept < 0:
            self._check_count(count)
            kept = max(kept, 0)
        taken = self._blank[kept:]
        del self._blank[kept:]
        taken.reverse()  # the top of the stack first
        if self.events is not None:
            self.events += [BlockEvent("taken", block) for block in taken]
        if len(taken) < count:
            taken += [self._evict() for _ in range(count - len(taken))]
        return taken

    def _check_count(self, count: int) -> None:
        whole(first=0, of="block", count=count)
        if count > self.num_free:
            raise NoFreeBlockError(
                f"count must be at most the {self.num_free} free blocks of "
                f"{self.num_blocks}, got {count}"
            )

    def _evict(self) -> int:
        """Take the named block that has not been used for longest."""
        block, _ = self._idle.popitem(last=False)
        del self._found[self._names[block]]
        self._names[block] = None
        self.evictions += 1
        self._note("evicted", block)
        self._note("taken", block)
        return block

    def give_back(self, blocks: Sequence[int]) -> None:
        """Free blocks that were lent, the last first."""
        self._blank += blocks
        if self.events is not None:
            self.events += [BlockEvent("freed", block) for block in blocks]

    def adopt(self, block: int, name: Hashable) -> bool:
        """Let a block that was lent be found and shared; false if another is found."""
        if name in self._found:
            return False
        self._references[block] = 1
        self._found[name], self._names[block] = block, name
        return True

    def share(self, *blocks: int) -> None:
        """Point one more table to blocks that are used or still have their contents.

        Raises:
            ValueError: nothing is known of the contents of one; those before it are
                shared.
        """
        references, events = self._references, self.events
        for block in self._all_known(blocks):
            if references[block] == 0:
                if self._names[block] is None:
                    raise ValueError(
                        f"block must be used or have a name, got free {block}"
                    )
                del self._idle[block]
            references[block] += 1
            if events is not None:
                self._note("shared", block)

    def release(self, *blocks: int) -> int:
        """Point one table less to each block, in this order.

        Returns:
            How many of them are free now.

        Raises:
            ValueError: one was free already; those before it are released.
        """
        references, names, free = self._references, self._names, self.num_free
        events = self.events
        for block in self._all_known(blocks):
            if (left := references[block] - 1) < 0:
                raise ValueError(f"block must be used to be released, got free {block}")
            references[block] = left
            if not left:
                if names[block] is None:
                    self._blank.append(block)
                else:
                    self._idle[block] = None
            if events is not None:
                self._note("released" if left else "freed", block)
        return self.num_free - free

    def keep(self, block: int, name: Hashable) -> bool:
        """Let a used block be found by its contents; false if another already is.

        Two blocks may come to hold the same, if two requests compute it side by side;
        the first stays in the index, and neither table is changed.

        Raises:
            ValueError: it is free, or known by another name.
        """
        known = self._names[self._known(block)]
        if not self._references[block] or known not in (None, name):
            raise ValueError(f"block must be used and have no other name, got {block}")
        if name in self._found:
            return self._found[name] == block
        self._found[name], self._names[block] = block, name
        return True

    def copied(self, source: int, target: int) -> None:
        """Log that the contents of one block were copied to another."""
        self._note("copied", target, source)

    def _all_known(self, blocks: Iterable[int]) -> Sequence[int]:
        """The blocks, all in the pool: checked together, which millions of calls feel.

        Raises:
            ValueError: one is not in the pool; nothing is done to those before it.
        """
        blocks = tuple(blocks)
        if blocks and not 0 <= min(blocks) <= max(blocks) < self.num_blocks:
            for block in blocks:
                self._known(block)
        return blocks

    def _known(self, block: int) -> int:
        if not 0 <= block < self.num_blocks:
            raise ValueError(
                f"block must be from 0 up to {self.num_blocks - 1}, got {block}"
            )
        return block

    def _note(
        self, kind: BlockEventKind, block: int, source: int | None = None
    ) -> None:
        if self.events is not None:
            self.events.append(BlockEvent(kind, block, source))
