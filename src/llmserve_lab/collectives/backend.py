"""Backend interface: what a rank asks of its transport, in three verbs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from llmserve_lab.collectives.rendezvous import State

Array = np.ndarray[Any, np.dtype[Any]]
MOST_RANKS = 4096  # each is a thread here


class Backend(Protocol):
    """Threads that take turns, or processes that MPI started."""

    num_ranks: int

    def meet(self, index: int, state: State, parts: Sequence[Any]) -> list[Any]:
        """Hand ``parts[i]`` to rank i; return what each rank had for this one.

        Raises:
            ClusterError: the ranks do not agree on what they do here.
        """

    def post(self, src: int, dst: int, array: Array) -> None:
        """Send a copy of an array; the sender does not wait."""

    def take(self, dst: int, src: int) -> Array:
        """Wait for the next array from ``src``, in the order of sending.

        Raises:
            ClusterError: it will never come.
        """
