"""Any sequence of operations: no block lost, wrongly shared, or freed twice.

A machine of hypothesis plays the allocator beside a naive memory that knows no hashes
and counts no references, and beside the bytes themselves: each computed token writes
into its place what it is and all that came before it.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from llmserve_lab.paged_cache import NoFreeBlockError, PagedAllocator
from tests.depth import examples
from tests.paged_cache.naive import NaiveCache

token = st.integers(0, 1)
texts = st.integers(1, 12).map(lambda n: [0] * n) | st.lists(
    token, min_size=1, max_size=12
)
salts = st.sampled_from(["", "tenant"])


class Machine(RuleBasedStateMachine):
    """Three memories that must agree: the allocator, the naive one, the places."""

    @initialize(blocks=st.integers(3, 9), size=st.integers(1, 3))
    def start(self, blocks: int, size: int) -> None:
        self.paged = PagedAllocator(blocks, size, log=True)
        self.naive = NaiveCache(blocks, size)
        self.places: dict[tuple[int, int], Any] = {}
        self.next = 0

    def refused(self, call: Any, *args: Any, **named: Any) -> None:
        before = state(self.paged)
        with pytest.raises(NoFreeBlockError, match="must"):
            call(*args, **named)
        assert state(self.paged) == before

    def some(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from(sorted(self.naive.held)))

    @rule(tokens=texts, salt=salts)
    def admit(self, tokens: list[int], salt: str) -> None:
        self.next += 1
        if self.naive.needed(tokens, salt) > len(self.naive.free):
            self.refused(self.paged.admit, self.next, tokens, salt=salt)
        else:
            found = self.paged.admit(self.next, tokens, salt=salt)
            assert found == self.naive.admit(self.next, tokens, salt)

    @rule(tokens=texts, stays=st.booleans())
    def serve(self, tokens: list[int], stays: bool) -> None:
        """Read a whole prompt, and perhaps be done with it."""
        if self.naive.needed(tokens, "") > len(self.naive.free):
            return
        self.admit(tokens, "")
        self.finish(self.next, len(tokens))
        if not stays:
            self.naive.release(self.next)
            self.paged.free(self.next)

    @precondition(lambda self: self.naive.held)
    @rule(data=st.data(), token=token)
    def append(self, data: st.DataObject, token: int) -> None:
        key = self.some(data)
        if self.naive.append_needs(key) > len(self.naive.free):
            self.refused(self.paged.append, key, token)
            return
        copy = self.paged.append(key, token)
        assert copy == self.naive.append(key, token)
        if copy is not None:
            for slot in range(self.naive.size):
                self.places[copy.target, slot] = self.places.get((copy.source, slot))

    @precondition(lambda self: self.naive.held)
    @rule(data=st.data())
    def compute(self, data: st.DataObject) -> None:
        key = self.some(data)
        one = self.naive.held[key]
        self.finish(key, data.draw(st.integers(one.computed, len(one.tokens))))

    def finish(self, key: int, count: int) -> None:
        one = self.naive.held[key]
        for i in range(one.computed, count):
            place = one.table[i // self.naive.size], i % self.naive.size
            self.places[place] = (one.salt, tuple(one.tokens[: i + 1]))
        self.naive.compute(key, count)
        self.paged.computed(key, count)

    @precondition(lambda self: self.naive.held)
    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        key, self.next = self.some(data), self.next + 1
        self.naive.held[self.next] = deepcopy(self.naive.held[key])
        self.paged.fork(key, self.next)

    @precondition(lambda self: self.naive.held)
    @rule(data=st.data())
    def free(self, data: st.DataObject) -> None:
        key = self.some(data)
        self.naive.release(key)
        self.paged.free(key)
        with pytest.raises(ValueError, match="request must hold blocks"):
            self.paged.free(key)

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "paged"):
            return
        paged, naive, pool = self.paged, self.naive, self.paged.pool
        assert set(paged.requests) == set(naive.held)
        for key, one in naive.held.items():
            assert list(paged.table(key)) == one.table
            assert list(paged.tokens(key)) == one.tokens
            assert paged.num_computed(key) == one.computed
        assert list(pool.free_order()) == naive.free
        assert pool.evictions == naive.evictions
        assert pool.num_named == len(naive.content)
        for block in range(naive.num_blocks):
            assert pool.references(block) == naive.users(block)

    @invariant()
    def reads_back_its_own(self) -> None:
        if not hasattr(self, "paged"):
            return
        for key, one in self.naive.held.items():
            table = self.paged.table(key)
            for i in range(one.computed):
                place = table[i // self.naive.size], i % self.naive.size
                assert self.places[place] == (one.salt, tuple(one.tokens[: i + 1]))

    @invariant()
    def every_event_adds_up(self) -> None:
        if not hasattr(self, "paged"):
            return
        events = self.paged.pool.events or []
        count = {kind: 0 for kind in ("taken", "freed", "shared", "released")}
        for event in events:
            count[event.kind] = count.get(event.kind, 0) + 1
        tables = sum(len(one.table) for one in self.naive.held.values())
        given = count["taken"] + count["shared"]
        assert given - count["freed"] - count["released"] == tables


def state(paged: PagedAllocator) -> Any:
    """Everything that an operation could have changed."""
    held = {
        key: (paged.table(key), paged.tokens(key), paged.num_computed(key))
        for key in paged.requests
    }
    pool = paged.pool
    references = [pool.references(block) for block in range(pool.num_blocks)]
    return held, pool.free_order(), references, list(pool._names), pool.evictions


TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=examples(120), stateful_step_count=40, deadline=None
)
