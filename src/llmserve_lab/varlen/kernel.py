"""The attention kernel of a packed batch: a loop over requests, and the same in tiles.

``cu_seqlens`` says where each request begins in the stack of rows. The loop over
requests is what a varlen kernel computes; the loop over tiles is how a GPU goes about
it, piece by piece, and keeps a record of the tiles that it visited.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.transformer.arithmetic import Array, Mask
from llmserve_lab.transformer.packing import Piece


def attend_packed(q: Array, k: Array, v: Array, cu_seqlens: Sequence[int]) -> Array:
    """Varlen attention of one head, rows [n, d] of all requests end to end."""
    out = np.empty_like(v)
    for start, end in pairwise(cu_seqlens):
        mine = slice(start, end)  # the rows of one request
        scores = q[mine] @ k[mine].T / np.sqrt(q.shape[1])
        future = np.triu(np.ones_like(scores, dtype=bool), k=1)
        scores[future] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        out[mine] = weights @ v[mine]
    return out


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


def tiles(pieces: Iterable[Piece], side: int, *, skip: bool = False) -> Iterator[Tile]:
    """The tiles of at most ``side`` × ``side`` pairs that cover ``pieces``, in order.

    With ``skip`` a tile in which no row may see any key is left out.

    Raises:
        TypeError, ValueError: the side is no whole number of at least 1.
    """
    whole(side=side)
    for rows, keys, mask in pieces:
        for i in range(0, mask.shape[0], side):
            for j in range(0, mask.shape[1], side):
                seen = mask[i : i + side, j : j + side]
                if skip and not seen.any():
                    continue
                yield Tile(
                    _part(rows, i, seen.shape[0]), _part(keys, j, seen.shape[1]), seen
                )


def _part(whole_: slice, offset: int, length: int) -> slice:
    """A part of a slice that may be open at both ends."""
    start = (whole_.start or 0) + offset
    return slice(start, start + length)


def attend_in_tiles(q: Array, k: Array, v: Array, visited: Iterable[Tile]) -> Array:
    """Attention of one head, scores computed tile by tile; what is not visited is 0.

    A row's softmax is taken when all its tiles have been visited. (FlashAttention keeps
    a running one, so that scores never leave the chip; the result is the same.)
    """
    scores = np.full((len(q), len(k)), -np.inf)
    for tile in visited:
        found = q[tile.rows] @ k[tile.keys].T / np.sqrt(q.shape[1])
        scores[tile.rows, tile.keys] = np.where(tile.seen, found, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights @ v / weights.sum(axis=1, keepdims=True))


def tiles_of(lengths: Sequence[int], side: int) -> int:
    """Tiles of ``side`` rows by ``side`` keys of a varlen kernel that skips the future.

    A request of s tokens has t = s / ``side`` rows of tiles, rounded up, and the i-th
    of them has i tiles that are not wholly in its future.
    """
    whole(side=side)
    counts = [-(-length // side) for length in lengths]
    return sum(t * (t + 1) // 2 for t in counts)
