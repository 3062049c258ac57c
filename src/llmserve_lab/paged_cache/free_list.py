"""Free list of blocks: a doubly linked list in two arrays, every operation O(1).

The head is taken next. A block that is used again while it waits here leaves the list
from its middle, which is why a plain queue would not do.
"""

from __future__ import annotations

from collections.abc import Iterator


class FreeList:
    """Numbers from 0 up to ``size``, all of them in the list at first, in order."""

    __slots__ = ("_after", "_before", "_end", "length")

    def __init__(self, size: int) -> None:
        self._end: int = size  # stands before the head and after the tail
        self._after = [*range(1, size + 1), 0]
        self._before = [size, *range(size)]
        self.length = size

    def pop(self) -> int:
        """Take the head out; the list must not be empty."""
        head: int = self._after[self._end]
        self.remove(head)
        return head

    def remove(self, block: int) -> None:
        """Take out a block that is in the list, wherever it stands."""
        before, after = self._before[block], self._after[block]
        self._after[before], self._before[after] = after, before
        self.length -= 1

    def push_tail(self, block: int) -> None:
        """Append: it will be taken last."""
        self._insert(self._before[self._end], block, self._end)

    def push_head(self, block: int) -> None:
        """Prepend: it will be taken next."""
        self._insert(self._end, block, self._after[self._end])

    def _insert(self, before: int, block: int, after: int) -> None:
        self._before[block], self._after[block] = before, after
        self._after[before] = self._before[after] = block
        self.length += 1

    def __iter__(self) -> Iterator[int]:
        """From the head to the tail."""
        at = self._after[self._end]
        while at != self._end:
            yield at
            at = self._after[at]
