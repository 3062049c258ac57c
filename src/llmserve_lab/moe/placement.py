"""Which rank holds which experts, and copies of those that most rows choose.

Contiguous slices are the plain answer. Hot experts can be held more than once: first
the copies are given out, always one more to the expert whose copies are busiest; then
the copies are placed, the heaviest first, each on the rank that is least loaded and has
room (Graham's longest-processing-time-first rule, with a number of seats on each rank).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from llmserve_lab.checks import MOST_PLAYED, at_least, whole
from llmserve_lab.transformer.arithmetic import Array, Integers

Counts = Sequence[float] | npt.NDArray[Any]


@dataclass(frozen=True)
class Placement:
    """``seats[rank]`` are the experts that a rank holds, in order.

    Raises:
        ValueError: an expert lies nowhere, or twice on one rank.
    """

    seats: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        held = {expert for rank in self.seats for expert in rank}
        if held != set(range(len(held))):
            raise ValueError(f"seats must hold every expert, got {sorted(held)}")
        if any(len(set(rank)) < len(rank) for rank in self.seats):
            raise ValueError(f"seats of a rank must differ, got {self.seats}")

    @property
    def num_ranks(self) -> int:
        """How many ranks there are."""
        return len(self.seats)

    @cached_property
    def homes(self) -> tuple[tuple[int, ...], ...]:
        """The ranks that hold each expert."""
        n_experts = 1 + max(expert for rank in self.seats for expert in rank)
        ranks = list(enumerate(self.seats))
        return tuple(
            tuple(index for index, held in ranks if expert in held)
            for expert in range(n_experts)
        )

    def rank_of(self, expert: int, row: int) -> int:
        """The rank that ``row`` finds an expert on; copies take rows in turn."""
        homes = self.homes[expert]
        return homes[row % len(homes)]

    def loads(self, rows_of_experts: Counts) -> Array:
        """Rows of every rank [g], the rows of an expert shared by its copies."""
        each = np.asarray(rows_of_experts) / [len(homes) for homes in self.homes]
        return np.array([each[list(held)].sum() for held in self.seats])


def contiguous(n_experts: int, num_ranks: int) -> Placement:
    """Equal slices of the experts, in order.

    Raises:
        ValueError: the experts cannot be dealt out evenly.
    """
    whole(of="expert", most=MOST_PLAYED, n_experts=n_experts)
    whole(of="rank", num_ranks=num_ranks)
    if num_ranks < 1 or n_experts % num_ranks:
        raise ValueError(
            f"n_experts must be a multiple of the {num_ranks} ranks, got {n_experts}"
        )
    dealt = np.arange(n_experts).reshape(num_ranks, -1)
    return Placement(tuple(tuple(map(int, each)) for each in dealt))


def redundant(rows_of_experts: Counts, num_ranks: int, extra: int = 0) -> Placement:
    """Experts with ``extra`` copies of the busiest ones, placed heaviest first.

    Raises:
        ValueError: rows are negative or no number, experts and copies do not fill the
            ranks evenly, or an expert would need two seats on one rank.
    """
    rows = np.asarray(rows_of_experts, dtype=float)
    if not (rows >= 0).all():
        raise ValueError(f"rows_of_experts must be 0 or more, got {rows.min():g}")
    total = len(rows) + extra
    if extra < 0 or num_ranks < 1 or total % num_ranks:
        raise ValueError(
            f"experts and copies must fill {num_ranks} ranks evenly, got {total}"
        )
    copies = _copies(rows, extra, num_ranks)
    seats: list[list[int]] = [[] for _ in range(num_ranks)]
    loads, room = np.zeros(num_ranks), total // num_ranks
    # Longest processing time first: what comes last is light and fills the gaps. With
    # free seats everywhere the busiest rank is at most a third above the best (Graham).
    for expert in np.argsort(-rows / copies, kind="stable"):
        for _ in range(copies[expert]):
            rank = _place(int(expert), seats, loads, room)
            seats[rank].append(int(expert))
            loads[rank] += rows[expert] / copies[expert]
    return Placement(tuple(tuple(sorted(held)) for held in seats))


def _copies(rows: Array, extra: int, most: int) -> Integers:
    """One copy each, then always one more for the expert whose copies are busiest."""
    copies = np.ones(len(rows), dtype=np.int64)
    for _ in range(extra):
        # A copy on a rank that holds the expert already would share nothing.
        busy = np.where(copies < most, rows / copies, -1.0)
        if busy.max() < 0:
            raise ValueError(f"extra must leave one copy a rank, got {extra}")
        copies[busy.argmax()] += 1
    return copies


def _place(expert: int, seats: list[list[int]], loads: Array, room: int) -> int:
    """The least loaded rank that has a seat and does not hold the expert yet."""
    free = [
        rank
        for rank, held in enumerate(seats)
        if len(held) < room and expert not in held
    ]
    if not free:
        raise ValueError(f"expert {expert} must have a seat on a rank of its own")
    return min(free, key=lambda rank: loads[rank])


def balance(loads: Counts) -> float:
    """Balancedness: mean over largest load, 1 where nothing has come at all.

    Raises:
        ValueError: a load is negative or not finite, or there is none.
    """
    for load in np.asarray(loads, float).ravel():
        at_least("loads", load, 0)
    largest = float(np.max(loads))
    return float(np.mean(loads)) / largest if largest else 1.0
