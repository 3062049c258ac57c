"""What makes no sense is refused by name, rule and value; nothing has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from llmserve_lab.paged_cache import BlockPool, NoFreeBlockError, PagedAllocator
from tests.paged_cache.test_machine import state

HALF: Any = [0.5]


def full() -> PagedAllocator:
    """Four blocks of four tokens: A has two, one of them computed; one is cached."""
    paged = PagedAllocator(4, 4)
    paged.admit("A", [1] * 6)
    paged.computed("A", 4)
    paged.admit("B", [2] * 4)
    paged.computed("B", 4)
    paged.free("B")
    return paged


WRONG: dict[str, Callable[[PagedAllocator], Any]] = {
    "count must be at most the 2 free blocks of 4, got 3": lambda p: p.pool.take(3),
    "count must be at least 0 block, got -1": lambda p: p.pool.take(-1),
    "tokens must fit into the 2 free blocks of 4, got 9 that need 3": (
        lambda p: p.admit("C", [3] * 9)
    ),
    "tokens must be at least 1 token, got 0": lambda p: p.admit("C", []),
    "tokens must be whole numbers, got 0.5": lambda p: p.admit("C", HALF),
    "tokens must be from 0 up to 2⁶³ - 1, got -1": lambda p: p.append("A", -1),
    "request must hold no blocks yet, got 'A'": lambda p: p.admit("A", [1]),
    "child must hold no blocks yet, got 'A'": lambda p: p.fork("A", "A"),
    "request must hold blocks, got 'B'": lambda p: p.free("B"),
    "request must hold blocks, got 'C'": lambda p: p.append("C", 1),
    "block must be used to be released, got free 3": lambda p: p.pool.release(3),
    "block must be used or have a name, got free 3": lambda p: p.pool.share(3),
    "block must be from 0 up to 3, got 4": lambda p: p.pool.release(4),
    "block must be from 0 up to 3, got -1": lambda p: p.pool.share(-1),
    "block must be used and have no other name, got 0": lambda p: p.pool.keep(0, "x"),
    "count must be from 4 up to 6 tokens, got 3": lambda p: p.computed("A", 3),
    "count must be from 4 up to 6 tokens, got 7": lambda p: p.computed("A", 7),
}


@pytest.mark.parametrize("message", WRONG)
def test_the_allocator_is_as_it_was(message: str) -> None:
    paged = full()
    before = state(paged)
    with pytest.raises((ValueError, TypeError)) as refused:
        WRONG[message](paged)
    assert str(refused.value) == message
    assert state(paged) == before


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BlockPool(0), "num_blocks must be at least 1 block, got 0"),
        (lambda: BlockPool(HALF[0]), "num_blocks must be a whole number, got 0.5"),
        (
            lambda: PagedAllocator(4, 0),
            "block_tokens must be at least 1 token, got 0",
        ),
    ],
)
def test_a_memory_of_nothing_is_none(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError) as refused:
        make()
    assert str(refused.value) == message


def test_two_requests_that_ask_for_the_last_block_do_not_both_get_it() -> None:
    paged = PagedAllocator(2, 4)
    paged.admit("A", [1] * 4)
    paged.admit("B", [2] * 4)
    with pytest.raises(NoFreeBlockError):
        paged.append("A", 1)
    paged.free("B")
    paged.append("A", 1)
    assert paged.table("A") == (0, 1)
