"""Event log: when each request was admitted, preempted, answered, and where."""

from __future__ import annotations

from typing import Literal, NamedTuple

EventKind = Literal[
    "arrived", "admitted", "first_token", "preempted", "finished", "sent", "freed"
]


class RequestEvent(NamedTuple):
    """One thing that happened to the request ``id`` on a replica, in order of time.

    ``arrived`` in the queue, ``admitted`` to the batch, ``first_token`` said,
    ``preempted``, ``finished`` with the last token, ``sent`` to the decode pool, and
    its blocks ``freed`` (in a static batch later than ``finished``).
    """

    time_s: float
    kind: EventKind
    id: int
    pool: str
    replica: int


class EventLog:
    """The events of one replica."""

    def __init__(self, pool: str, replica: int) -> None:
        self.pool, self.replica = pool, replica
        self.events: list[RequestEvent] = []

    def add(self, time_s: float, kind: EventKind, request_id: int) -> None:
        """Append an event."""
        event = RequestEvent(time_s, kind, request_id, self.pool, self.replica)
        self.events.append(event)
