"""A matrix product in tiles: each tile of the weights is fetched once, or once a row.

The weights lie in the slow memory. A tile that has been fetched can be multiplied with
as many rows as there are; the meter counts both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from llmserve_lab.checks import MOST_PLAYED, whole

Array = np.ndarray[Any, np.dtype[np.float64]]
BYTES = 2  # of a number in 16 bits
TILE, SIDE = 4, 16  # numbers along a tile, and along the example's weights


@dataclass
class TiledWeights:
    """Weights [inputs, outputs] in square tiles, with a meter on what is fetched.

    Raises:
        TypeError: ``tile`` is no whole number.
        ValueError: ``tile`` is below 1 or does not divide both sides.
    """

    matrix: Array
    tile: int
    log: list[tuple[str, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        whole(tile=self.tile)
        if any(side % self.tile for side in self.matrix.shape):
            raise ValueError(
                f"tile must divide both sides of {self.matrix.shape}, got {self.tile}"
            )

    @property
    def places(self) -> list[tuple[int, int]]:
        """Row and column of every tile, line by line."""
        down, across = (side // self.tile for side in self.matrix.shape)
        return [(i, j) for i in range(down) for j in range(across)]

    def fetch(self, i: int, j: int) -> Array:
        """Read tile (i, j) from the slow memory; it is counted."""
        self.log.append(("fetch", i, j))
        return self.matrix[self.span(i), self.span(j)]

    def span(self, i: int) -> slice:
        """Where the tiles of line or column ``i`` begin and end."""
        return slice(i * self.tile, (i + 1) * self.tile)

    def times(self, row: Array, tile: Array, i: int, j: int) -> Array:
        """Multiply a piece of a row with a tile that was fetched; it is counted."""
        self.log.append(("multiply", i, j))
        return row @ tile

    def count(self, what: str) -> int:
        """How often a tile was fetched, or multiplied."""
        return sum(done == what for done, *_ in self.log)

    @property
    def bytes_read(self) -> int:
        """Bytes fetched from the slow memory."""
        return self.count("fetch") * self.tile**2 * BYTES

    @property
    def flops(self) -> int:
        """FLOPs done: a multiplication and an addition for each number of a tile."""
        return self.count("multiply") * self.tile**2 * 2


def multiply(rows: Array, weights: TiledWeights) -> Array:
    """Product of rows [n, inputs] and weights: each tile is fetched once."""
    result = np.zeros((len(rows), weights.matrix.shape[1]))
    for i, j in weights.places:
        tile = weights.fetch(i, j)
        for n, row in enumerate(rows):
            piece = row[weights.span(i)]
            result[n, weights.span(j)] += weights.times(piece, tile, i, j)
    return result


def multiply_row_by_row(rows: Array, weights: TiledWeights) -> Array:
    """The same product, one row after the other: each tile is fetched for each row."""
    return np.vstack([multiply(row[None], weights) for row in rows])


def example_weights() -> TiledWeights:
    """Sixteen tiles of numbers that are the same each time."""
    return TiledWeights(np.random.default_rng(0).normal(size=(SIDE, SIDE)), TILE)


def example_rows(count: int) -> Array:
    """Rows [count, inputs] for the example's weights."""
    whole(of="row", most=MOST_PLAYED, count=count)
    return np.random.default_rng(1).normal(size=(count, SIDE))


@dataclass(frozen=True)
class Busy:
    """When a unit worked on one tile: from ``start`` to ``end``, in ticks."""

    start: float
    end: float
    i: int
    j: int


def timeline(
    log: list[tuple[str, int, int]], *, per_tile: float, buffers: int = 2
) -> tuple[list[Busy], list[Busy]]:
    """Fetches and products on a machine that does both at once.

    Fetching a tile takes one tick, ``per_tile`` products of a row and a tile take one
    tick too. On the chip there is room for ``buffers`` tiles: the one in use, and the
    next. Products on the same tile are joined.

    Raises:
        ValueError: ``per_tile`` is not positive or there is room for no tile.
    """
    whole(buffers=buffers)
    if not per_tile > 0:
        raise ValueError(f"per_tile must be positive, got {per_tile}")
    fetched, computed = list[Busy](), list[Busy]()
    for what, i, j in log:
        if what == "fetch":
            free = computed[-buffers].end if len(computed) >= buffers else 0.0
            start = max(free, fetched[-1].end if fetched else 0.0)
            fetched.append(Busy(start, start + 1, i, j))
            computed.append(Busy(start + 1, start + 1, i, j))
            if len(computed) > 1:
                begin = max(start + 1, computed[-2].end)
                computed[-1] = Busy(begin, begin, i, j)
        else:
            last = computed[-1]
            computed[-1] = Busy(last.start, last.end + 1 / per_tile, i, j)
    return fetched, computed
