"""What one rank holds at each step: the shape of its weights, of its input and output.

The same steps on every rank, side by side, are the table that article 03 draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmserve_lab.page.table import Table
from llmserve_lab.transformer.arithmetic import Array

Shape = tuple[int, ...]
COLLECTIVES = ("all-gather", "all-reduce")


@dataclass(frozen=True)
class RankStep:
    """One step of one rank. ``weight`` is None where there is none.

    ``remark`` says what the shapes do not: which heads, or that a sum is partial.
    """

    name: str
    taken: Shape
    given: Shape
    weight: Shape | None = None
    remark: str = ""

    @property
    def is_collective(self) -> bool:
        """Whether the ranks exchange something here."""
        return self.name in COLLECTIVES

    def __str__(self) -> str:
        weight = f"W {shown(self.weight)}, " if self.weight else ""
        remark = f" ({self.remark})" if self.remark else ""
        return f"{weight}{shown(self.taken)} → {shown(self.given)}{remark}"


def shown(shape: Shape) -> str:
    """(4, 512) as ``[4×512]``."""
    return f"[{'×'.join(map(str, shape))}]"


class Log:
    """A rank's steps, in the order in which it took them."""

    def __init__(self) -> None:
        self.steps: list[RankStep] = []

    def __call__(
        self,
        name: str,
        taken: Shape,
        given: Array,
        weight: Array | None = None,
        remark: str = "",
    ) -> Array:
        """Write a step down and hand its output on."""
        size = None if weight is None else weight.shape
        self.steps.append(RankStep(name, taken, given.shape, size, remark))
        return given


def table(caption: str, ranks: Sequence[Sequence[RankStep]]) -> Table:
    """Table of the steps, a row each, with one column for every rank."""
    columns = ("step", *(f"rank {index}" for index in range(len(ranks))))
    rows = [(steps[0].name, *map(str, steps)) for steps in zip(*ranks, strict=True)]
    return Table(caption, columns, rows)
