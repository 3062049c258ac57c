"""Tiles of the attention square: which rows meet which keys, one small block at a time.

A GPU computes scores in tiles, because a tile is what fits on the chip. The order of
the visits is a choice: with ``outer="queries"`` a tile of rows stays while all its keys
go by (FlashAttention-2), with ``outer="keys"`` a tile of keys stays while all rows go
by (FlashAttention-1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from llmserve_lab.checks import one_of, whole
from llmserve_lab.transformer.arithmetic import Mask
from llmserve_lab.transformer.packing import Piece

Outer = Literal["queries", "keys"]
MOST_TOKENS = 2**22  # of a prompt whose tiles are walked over


@dataclass(frozen=True)
class Tile:
    """A visit of the kernel: rows, keys, and which row may see which key of them."""

    rows: slice
    keys: slice
    seen: Mask

    @property
    def useful(self) -> int:
        """Pairs of the tile that the mask allows."""
        return int(self.seen.sum())


def tiles(
    pieces: Iterable[Piece],
    tile_rows: int,
    tile_keys: int | None = None,
    *,
    skip: bool = False,
    outer: Outer = "queries",
) -> Iterator[Tile]:
    """Tiles of at most ``tile_rows`` × ``tile_keys`` pairs that cover ``pieces``.

    Without ``tile_keys`` they are square. With ``skip`` a tile in which no row may see
    any key is left out.

    Raises:
        TypeError, ValueError: a side is no whole number of at least 1, or the outer
            loop is over something else.
    """
    tile_keys = tile_rows if tile_keys is None else tile_keys
    whole(tile_rows=tile_rows, tile_keys=tile_keys)
    one_of("outer", outer, Outer)
    for rows, keys, mask in pieces:
        for i, j in _corners(mask.shape, tile_rows, tile_keys, outer):
            seen = mask[i : i + tile_rows, j : j + tile_keys]
            if skip and not seen.any():
                continue
            yield Tile(
                _part(rows, i, seen.shape[0]), _part(keys, j, seen.shape[1]), seen
            )


def _corners(
    shape: tuple[int, ...], tile_rows: int, tile_keys: int, outer: Outer
) -> Iterator[tuple[int, int]]:
    """First row and first key of each tile, in the order of the loops."""
    down, across = range(0, shape[0], tile_rows), range(0, shape[1], tile_keys)
    if outer == "queries":
        return product(down, across)
    return ((i, j) for j, i in product(across, down))


def _part(whole_: slice, offset: int, length: int) -> slice:
    """A part of a slice that may be open at both ends."""
    start = (whole_.start or 0) + offset
    return slice(start, start + length)


def tiles_of(lengths: Sequence[int], side: int) -> int:
    """Tiles of ``side`` rows by ``side`` keys of a varlen kernel that skips the future.

    A request of s tokens has t = s / ``side`` rows of tiles, rounded up, and the i-th
    of them has i tiles that are not wholly in its future.
    """
    whole(side=side)
    counts = [-(-length // side) for length in lengths]
    return sum(t * (t + 1) // 2 for t in counts)


def tile_reads(*, prompt_len: int, chunk: int, tile: int) -> int:
    """Keys that a tiled kernel fetches for a prompt in chunks, per layer and head.

    Queries are worked off in tiles of ``tile`` rows; each tile fetches every key that
    its last row may see, cached or new.

    Raises:
        TypeError: a count is no whole number.
        ValueError: a count is below 1, or the prompt too long to be played out.
    """
    whole(of="token", most=MOST_TOKENS, prompt_len=prompt_len)
    whole(of="token", chunk=chunk, tile=tile)
    fetched = 0
    for prefix in range(0, prompt_len, chunk):
        end = min(prefix + chunk, prompt_len)
        fetched += sum(min(start + tile, end) for start in range(prefix, end, tile))
    return fetched
