"""FlashAttention: attention in tiles with a running softmax, and a meter on memory.

Scores never leave the chip: a tile of them is made, taken into the running softmax of
its rows, and forgotten. The meter stands between the chip and the memory (HBM) and
counts every number that passes, by what it is.

Source: Dao et al. 2022, arXiv 2205.14135, algorithm 1 (outer loop over keys); Dao 2023,
arXiv 2307.08691, algorithm 1 (outer loop over queries).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from llmserve_lab.checks import one_of, whole
from llmserve_lab.transformer.arithmetic import PLAIN, Array, Execution
from llmserve_lab.transformer.attention import check_attention, check_finite
from llmserve_lab.transformer.hbm import HbmMeter
from llmserve_lab.transformer.online_softmax import RunningSoftmax
from llmserve_lab.transformer.packing import (
    AttentionKernel,
    Packing,
    Pieces,
    varlen_attention,
)
from llmserve_lab.transformer.tiling import Outer, Tile, tiles


@dataclass(frozen=True)
class Visit:
    """What lies on chip when a tile has been taken in.

    ``scores`` [h_kv, h / h_kv, n, m] are those of the tile, ``factor`` what its rows
    were rescaled by.
    """

    tile: Tile
    scores: Array
    factor: Array
    state: RunningSoftmax


def _unwatched(_visit: Visit) -> None:
    """No observer."""


def attend_tiles(
    query: Array,
    key: Array,
    value: Array,
    visited: Iterable[Tile],
    *,
    outer: Outer = "queries",
    scale: float | None = None,
    run: Execution = PLAIN,
    hbm: HbmMeter | None = None,
    watch: Callable[[Visit], None] = _unwatched,
) -> Array:
    """Attention of queries [n, h, d_k], keys and values [m, h_kv, d], tile by tile.

    What the outer loop holds stays on chip as long as it does not change; the other
    operand comes anew with each visit. With keys outside, the running softmax of a
    row goes to memory and back between two visits. A key–value tile serves all query
    heads of its group.

    Returns:
        [n, h, d_v]. A row that no tile shows a key has an output of 0.

    Raises:
        ValueError: a score is not a number, or the outer loop is unknown.
    """
    one_of("outer", outer, Outer)
    walk = _Walk(query, key, value, outer, scale, run, hbm or HbmMeter())
    for tile in visited:
        watch(walk.visit(tile))
    return walk.finish()


class _Walk:
    """A kernel under way: what is on chip, and the states that are in memory."""

    def __init__(
        self,
        query: Array,
        key: Array,
        value: Array,
        outer: Outer,
        scale: float | None,
        run: Execution,
        hbm: HbmMeter,
    ) -> None:
        self.arrays = query, key, value
        self.outer, self.run, self.hbm = outer, run, hbm
        self.scale = query.shape[-1] ** -0.5 if scale is None else scale
        self.out = np.zeros((*query.shape[:2], value.shape[-1]))
        self.states: dict[int, tuple[slice, RunningSoftmax]] = {}
        self.rows: slice | None = None
        self.keys: slice | None = None

    def visit(self, tile: Tile) -> Visit:
        """Bring on chip what the tile needs, compute it, and forget its scores."""
        self._fetch(tile)
        q, k, v = self.on_chip_q, *self.on_chip_kv
        self.run.see(tile.seen)
        scores = self.run.attention(q * self.scale, k)
        scores = np.where(tile.seen, scores, -np.inf)
        _, state = self.states[tile.rows.start]
        factor = state.add(scores, v, run=self.run)
        if self.outer == "keys":
            self._store(state)
        return Visit(tile, scores, factor, state)

    def _fetch(self, tile: Tile) -> None:
        if self.outer == "keys" or tile.rows != self.rows:
            self._take_rows(tile.rows)
        if self.outer == "queries" or tile.keys != self.keys:
            key, value = self.arrays[1:]
            k = self.hbm.read("key", key[tile.keys])
            v = self.hbm.read("value", value[tile.keys])
            self.on_chip_kv = (
                k.transpose(1, 2, 0)[:, np.newaxis],
                v.transpose(1, 0, 2)[:, np.newaxis],
            )
        self.keys = tile.keys

    def _take_rows(self, rows: slice) -> None:
        """A tile of queries [h_kv, h / h_kv, n, d_k], and the state of its rows."""
        if self.outer == "queries":
            self._put(self.rows)
        query, key, value = self.arrays
        q, kv_heads = self.hbm.read("query", query[rows]), key.shape[1]
        grouped = q.reshape(len(q), kv_heads, -1, q.shape[-1])
        self.on_chip_q = grouped.transpose(1, 2, 0, 3)
        self.rows = rows
        if rows.start not in self.states:
            empty = RunningSoftmax.empty(self.on_chip_q.shape[:3], value.shape[-1])
            self.states[rows.start] = rows, empty
        elif self.outer == "keys":
            _, state = self.states[rows.start]
            for name, part in _parts(state):
                self.hbm.read(name, part)

    def _store(self, state: RunningSoftmax) -> None:
        for name, part in _parts(state):
            self.hbm.write(name, part)

    def finish(self) -> Array:
        """Output of all rows; what is still on chip is written."""
        if self.outer == "queries":
            self._put(self.rows)
            return self.out
        for rows in [rows for rows, _ in self.states.values()]:
            self._settle(rows)
        return self.out

    def _put(self, rows: slice | None) -> None:
        """Rows that leave the chip for good: their output is written."""
        if rows is not None:
            self.hbm.write("output", self._settle(rows))

    def _settle(self, rows: slice) -> Array:
        """Divide the mixture of some rows by their sums: their output [n, h, d_v]."""
        _, state = self.states[rows.start]
        total = np.where(state.total > 0, state.total, 1.0)[..., np.newaxis]
        heads = (state.mixed / total).transpose(2, 0, 1, 3)
        self.out[rows] = heads.reshape(len(heads), *self.out.shape[1:])
        return self.out[rows]


def _parts(state: RunningSoftmax) -> Iterable[tuple[str, Array]]:
    yield "output", state.mixed
    yield "maximum", state.highest
    yield "sum", state.total


def flash_attention(
    query: Array,
    key: Array,
    value: Array,
    *,
    tile_rows: int,
    tile_keys: int,
    outer: Outer = "queries",
    scale: float | None = None,
    run: Execution = PLAIN,
    hbm: HbmMeter | None = None,
    watch: Callable[[Visit], None] = _unwatched,
) -> Array:
    """Causal attention of one request, tile by tile; tiles of the future are skipped.

    Args:
        query: [n, h, d_k], the last n tokens of the request.
        key: [m, h_kv, d_k], all its tokens, cached ones first.
        value: [m, h_kv, d_v].
        tile_rows: queries of a tile.
        tile_keys: keys of a tile.
        outer: the operand that stays on chip while the other goes by.
        scale: 1/√d_k unless given.
        run: hooks for products.
        hbm: a meter on what is read and written.
        watch: is shown every visit.

    Returns:
        [n, h, d_v].

    Raises:
        TypeError: a side of the tile is no whole number.
        ValueError: a side is below 1, shapes do not fit, a number is not finite.
    """
    packing = Packing((0, len(query)), (len(key) - len(query),))
    check_finite(query=query, key=key, value=value)
    check_attention(query, key, value, packing.mask)
    visited = tiles(
        varlen_attention(packing), tile_rows, tile_keys, skip=True, outer=outer
    )
    return attend_tiles(
        query,
        key,
        value,
        visited,
        outer=outer,
        scale=scale,
        run=run,
        hbm=hbm,
        watch=watch,
    )


@dataclass(frozen=True, kw_only=True)
class FlashKernel(AttentionKernel):
    """The attention of a model, tile by tile: ``forward_packed(…, kernel=this)``.

    ``pieces`` are those of the attention square that the tiles cover, request by
    request unless another kernel is named.

    Raises:
        TypeError, ValueError: a side of the tile is no whole number of at least 1, or
            the outer loop is unknown.
    """

    tile_rows: int
    tile_keys: int
    outer: Outer = "queries"
    pieces: Pieces = varlen_attention

    def __post_init__(self) -> None:
        whole(tile_rows=self.tile_rows, tile_keys=self.tile_keys)
        one_of("outer", self.outer, Outer)

    def attend(
        self,
        query: Array,
        key: Array,
        value: Array,
        packing: Packing,
        *,
        scale: float | None = None,
        run: Execution = PLAIN,
    ) -> Array:
        """Attention of a packed batch, [n, h, d_v], tiles of the future skipped."""
        visited = tiles(
            self(packing), self.tile_rows, self.tile_keys, skip=True, outer=self.outer
        )
        return attend_tiles(
            query, key, value, visited, outer=self.outer, scale=scale, run=run
        )
