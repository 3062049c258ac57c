"""Rendezvous of a collective: all ranks must come, and all must mean the same thing.

Before any array is handed over, what every rank is about to do is laid side by side.
Either all agree, or all learn which rank did not: the message is the same
on every rank and on both backends.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

REFUSALS = ("ValueError", "TypeError", "NotWholeError", "UnknownKeyError")


class ClusterError(RuntimeError):
    """The ranks cannot go on together; the message names them, the call and the rule.

    ``rank`` is the rank that raised an error of its own, where that was the reason; the
    error itself is the ``__cause__`` on the process where it was raised.
    """

    def __init__(self, message: str, *, rank: int | None = None) -> None:
        super().__init__(message)
        self.rank = rank


class RefusedOnRankError(ClusterError, ValueError):
    """A rank refused what it was given, and says so by name."""


@dataclass(frozen=True)
class Call:
    """A rank has come to its ``number``-th collective; ``terms`` must be equal on all.

    ``terms`` are pairs of a name and a value: ``(("shape", (4, 8)), ("axis", 1))``.
    In groups of ``group_size`` neighbours they must be equal within each.
    """

    name: str
    number: int
    terms: tuple[tuple[str, Hashable], ...] = ()
    group_size: int | None = None

    def __str__(self) -> str:
        return f"in {self.name} (collective {self.number})"


@dataclass(frozen=True)
class Waiting:
    """A rank waits for a message of rank ``src``."""

    src: int

    def __str__(self) -> str:
        return f"waiting in recv from rank {self.src}"


@dataclass(frozen=True)
class Returned:
    """A rank has ended well; messages ``sent`` to and ``received`` from each rank."""

    sent: tuple[int, ...]
    received: tuple[int, ...]

    def __str__(self) -> str:
        return "done: it returned"


@dataclass(frozen=True)
class Raised:
    """A rank has ended with an error, here as text."""

    error: str

    def __str__(self) -> str:
        return f"raised {self.error}"


State = Call | Waiting | Returned | Raised


def check(states: Sequence[State]) -> None:
    """Refuse a meeting in which the ranks do not all mean the same.

    Raises:
        ClusterError: a rank raised, ranks are in different calls, one has returned
            while others wait, they disagree on a term, or a message was never received.
    """
    # The reason first: a rank that raised is why the others wait or are elsewhere.
    _check_nobody_raised(states)
    everyone = dict(enumerate(states))
    if any(isinstance(state, Waiting) for state in states):
        raise ClusterError(f"no rank can go on: {_who(everyone)}")
    if len({(type(state), getattr(state, "name", "")) for state in states}) > 1:
        raise ClusterError(
            "all ranks must call the same collectives in the same order: "
            f"{_who(everyone)}"
        )
    _check_terms({i: s for i, s in enumerate(states) if isinstance(s, Call)})
    _check_messages([state for state in states if isinstance(state, Returned)])


def _check_nobody_raised(states: Sequence[State]) -> None:
    raised = {i: s for i, s in enumerate(states) if isinstance(s, Raised)}
    others = {i: s for i, s in enumerate(states) if i not in raised}
    if raised:
        refused = all(state.error.startswith(REFUSALS) for state in raised.values())
        kind = RefusedOnRankError if refused else ClusterError
        raise kind(f"{_who(raised)}{meanwhile(others)}", rank=min(raised))


def meanwhile(others: Mapping[int, State]) -> str:
    """What the other ranks are doing, as the end of a message."""
    return f"; meanwhile {_who(others)}" if others else ""


def _check_terms(calls: Mapping[int, Call]) -> None:
    groups: dict[int, dict[int, Call]] = {}
    for rank, call in calls.items():
        groups.setdefault(rank // (call.group_size or len(calls)), {})[rank] = call
    for group in groups.values():
        _check_same_terms(group)


def _check_same_terms(calls: Mapping[int, Call]) -> None:
    first, *others = calls.values()
    for i, (name, value) in enumerate(first.terms):
        if any(other.terms[i][1] != value for other in others):
            given = {rank: f"gave {call.terms[i][1]}" for rank, call in calls.items()}
            where = "on every rank" + " of a group" * (first.group_size is not None)
            raise ClusterError(
                f"{first.name} (collective {first.number}) must have the same "
                f"{name} {where}: {_who(given)}"
            )


def _check_messages(ends: Sequence[Returned]) -> None:
    for src, end in enumerate(ends):
        for dst, sent in enumerate(end.sent):
            if sent != (received := ends[dst].received[src]):
                raise ClusterError(
                    f"every send must have its recv: rank {src} sent {sent} to rank "
                    f"{dst}, which received {received}"
                )


def _who(states: Mapping[int, object]) -> str:
    """What each rank is doing, those that do the same together."""
    groups: dict[str, list[int]] = {}
    for rank, state in states.items():
        groups.setdefault(str(state), []).append(rank)
    return ", ".join(f"{named(ranks)} {text}" for text, ranks in groups.items())


def named(ranks: Sequence[int]) -> str:
    """``rank 3``, ``ranks 0 and 2``, ``ranks 0, 1 and 2``."""
    *most, last = map(str, ranks)
    return f"ranks {', '.join(most)} and {last}" if most else f"rank {last}"
