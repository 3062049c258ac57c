"""Lockstep backend: ranks in one process take turns, each until it must wait.

Each rank is a thread, and only one of them ever runs, so that every run does the same
in the same order. When all wait, either the meeting can be held or no rank will ever go
on, and that is known at once: a deadlock is an error here, never a hang.
"""

from __future__ import annotations

import contextvars
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.collectives.backend import MOST_RANKS, Array
from llmserve_lab.collectives.rendezvous import (
    Call,
    ClusterError,
    Raised,
    Returned,
    State,
    Waiting,
    check,
    meanwhile,
)


class Lockstep:
    """The conductor: it gives the turn to one rank after another.

    A rank that has the turn may hold it for ``timeout_s`` seconds.
    """

    def __init__(self, num_ranks: int, timeout_s: float) -> None:
        whole(of="rank", most=MOST_RANKS, num_ranks=num_ranks)
        self.num_ranks = num_ranks
        self.timeout_s = timeout_s
        self.failure: ClusterError | None = None
        self.errors: dict[int | None, BaseException] = {}
        self._states: list[State | None] = [None] * num_ranks
        self._parts: list[Sequence[Any]] = [()] * num_ranks
        self._inbox: list[list[Any]] = [[]] * num_ranks
        self._mail: dict[tuple[int, int], deque[Array]] = defaultdict(deque)
        self._turns: list[SimpleQueue[None]] = [SimpleQueue() for _ in self._states]
        self._back: SimpleQueue[int] = SimpleQueue()

    def meet(self, index: int, state: State, parts: Sequence[Any]) -> list[Any]:
        """See :meth:`llmserve_lab.collectives.backend.Backend.meet`."""
        self._parts[index] = parts
        self._pause(index, state)
        return self._inbox[index]

    def post(self, src: int, dst: int, array: Array) -> None:
        """See :meth:`llmserve_lab.collectives.backend.Backend.post`."""
        self._raise_failure()
        self._mail[src, dst].append(array.copy())

    def take(self, dst: int, src: int) -> Array:
        """See :meth:`llmserve_lab.collectives.backend.Backend.take`."""
        if not self._mail[src, dst]:
            self._pause(dst, Waiting(src))
        return self._mail[src, dst].popleft()

    def _pause(self, index: int, state: State) -> None:
        """Called by a rank: hand the turn back, and wait for the next one."""
        self._raise_failure()
        self._states[index] = state
        self._back.put(index)
        self._turns[index].get()
        self._raise_failure()

    def _raise_failure(self) -> None:
        if self.failure is not None:
            raise ClusterError(str(self.failure))

    def conduct(self, bodies: Sequence[Callable[[], State]]) -> None:
        """Run one body per rank to its end; each returns how it ended.

        Raises:
            ClusterError: the ranks cannot go on together. All have been released.
        """
        for index, body in enumerate(bodies):
            context = contextvars.copy_context()  # np.errstate holds in every rank
            threading.Thread(
                target=context.run, args=(self._play, index, body), daemon=True
            ).start()
        try:
            ready: Iterable[int] = range(self.num_ranks)
            while ready := self._round(ready):
                pass
        except ClusterError as failure:
            self._release(failure)
            raise failure from self.errors.get(failure.rank)
        except BaseException:  # the reader pressed Ctrl-C
            self._release(ClusterError("the run was interrupted"))
            raise

    def _play(self, index: int, body: Callable[[], State]) -> None:
        """The life of a rank's thread."""
        self._turns[index].get()
        if self.failure is None:
            self._states[index] = body()
        self._back.put(index)

    def _round(self, ready: Iterable[int]) -> Sequence[int]:
        """Give each rank that can go on a turn; return those that can go on then."""
        for index in ready:
            # None while it has the turn: so a rank that never gives it back is known.
            self._states[index] = None
            self._turns[index].put(None)
            self._await(index)
        states = [state for state in self._states if state is not None]
        served = [
            index
            for index, state in enumerate(states)
            if isinstance(state, Waiting) and self._mail[state.src, index]
        ]
        # Messages first: a rank that can go on may still come to the meeting that the
        # others wait for, so it is too early to call this a deadlock.
        if served:
            return served
        check(states)
        return [] if isinstance(states[0], Returned) else self._hand_over()

    def _await(self, index: int) -> None:
        try:
            self._back.get(timeout=self.timeout_s)
        except Empty:
            others = {i: s for i, s in enumerate(self._states) if s is not None}
            raise ClusterError(
                f"a rank must call or return within {self.timeout_s:g} s: rank {index} "
                f"did not{meanwhile(others)}"
            ) from None

    def _hand_over(self) -> Sequence[int]:
        """Copy every part to its rank while all wait: no memory is shared after."""
        everyone = range(self.num_ranks)
        self._inbox = [
            [np.array(self._parts[src][dst]) for src in everyone] for dst in everyone
        ]
        return everyone

    def _release(self, failure: ClusterError) -> None:
        """Let every rank that waits end with the failure, one after another."""
        self.failure = failure
        for index, state in enumerate(self._states):
            if not isinstance(state, Returned | Raised):
                self._turns[index].put(None)
            if isinstance(state, Call | Waiting):
                # One after another, so that two ranks never write to the same thing at
                # the end.
                with suppress(Empty):  # it may not want to end
                    self._back.get(timeout=self.timeout_s)
