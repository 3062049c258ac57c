"""Open-loop and closed-loop arrivals: a trace that does not wait, or clients that do.

In an open loop each request has an arrival time of its own, however long the queue is.
In a closed loop, as with ``--max-concurrency`` of a benchmark, each client sends the
next request when its last one is answered, so that a slow engine is asked less.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import inf

from llmserve_lab.checks import at_least, whole
from llmserve_lab.engine.scheduler.request import Request

MOST_CLIENTS = 10**6


def _following(requests: Iterator[Request]) -> Request | None:
    """The next request, nothing where they end."""
    for request in requests:
        if not isinstance(request, Request):
            raise TypeError(f"requests must be of type Request, got {request!r}")
        return request
    return None


class OpenLoop:
    """Requests in the order of their arrival, read one ahead."""

    def __init__(self, requests: Iterable[Request]) -> None:
        self._requests = iter(requests)
        self._next: Request | None = None
        self.next_s = 0.0
        self._read()

    def _read(self) -> None:
        last_s, self._next = self.next_s, _following(self._requests)
        self.next_s = inf if self._next is None else self._next.arrival_s
        if self.next_s < last_s:
            raise ValueError(
                f"requests must come in order of arrival_s, got {self.next_s} after "
                f"{last_s}"
            )

    def pop(self) -> Request:
        """The request that arrives at ``next_s``."""
        assert self._next is not None
        request = self._next
        self._read()
        return request

    def answered(self, now_s: float) -> None:
        """A request has been answered; an open loop does not wait for that."""


class ClosedLoop:
    """``clients`` that send one request at a time, and think before the next."""

    def __init__(
        self, requests: Iterable[Request], *, clients: int, think_s: float = 0.0
    ) -> None:
        whole(of="client", most=MOST_CLIENTS, clients=clients)
        at_least("think_s", think_s, 0)
        self._requests = iter(requests)
        self._think_s = think_s
        self._due: deque[tuple[float, Request]] = deque()
        for _ in range(clients):
            self._ask(0.0)

    @property
    def next_s(self) -> float:
        """When the next request arrives, infinite if none is under way."""
        return self._due[0][0] if self._due else inf

    def _ask(self, due_s: float) -> None:
        request = _following(self._requests)
        if request is not None:
            self._due.append((due_s, request))

    def pop(self) -> Request:
        """The request that arrives at ``next_s``."""
        due_s, request = self._due.popleft()
        if request.arrival_s == due_s:
            return request
        return replace(request, arrival_s=due_s)

    def answered(self, now_s: float) -> None:
        """A client has its answer, and sends the next request when it has thought."""
        self._ask(now_s + self._think_s)


ArrivalSource = OpenLoop | ClosedLoop
