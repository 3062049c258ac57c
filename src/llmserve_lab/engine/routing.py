"""Routing: which replica of a pool a request is sent to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from llmserve_lab.checks import whole
from llmserve_lab.engine.scheduler.request import Request


class Target(Protocol):
    """What a routing may ask of a replica."""

    num_requests: int

    def known_tokens(self, request: Request) -> int:
        """Leading tokens of the prompt whose KV the replica still has."""
        ...


class Routing:
    """Least-loaded routing: to the replica with the fewest requests, or a subclass.

    Of equals, the first is chosen.
    """

    def choose(self, replicas: Sequence[Target], request: Request) -> int:
        """Place of the chosen one among ``replicas``."""
        return min(range(len(replicas)), key=lambda at: replicas[at].num_requests)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class LeastLoaded(Routing):
    """Least-loaded routing, by its name."""


@dataclass(frozen=True)
class PrefixAware(Routing):
    """Prefix-aware routing: to the replica that knows most of the prompt.

    Only among those with at most ``slack`` requests more than the least loaded one; of
    equals, to the least loaded.

    Raises:
        ValueError: the slack is negative.
    """

    slack: int = 8

    def __post_init__(self) -> None:
        whole(first=0, of="request", slack=self.slack)

    def choose(self, replicas: Sequence[Target], request: Request) -> int:
        """Place of the chosen one among ``replicas``."""
        most = min(each.num_requests for each in replicas) + self.slack
        return min(
            (at for at, each in enumerate(replicas) if each.num_requests <= most),
            key=lambda at: (
                -replicas[at].known_tokens(request),
                replicas[at].num_requests,
            ),
        )


LEAST_LOADED = LeastLoaded()
