"""Bytes to and from memory of one head: plain, in tiles, and at the very least.

A head of one layer with keys of its own, a prompt read at once, causal. Tiles of the
future are skipped; bytes are counted at the door of the chip, so that what the L2 cache
answers is in them.
"""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import at, ceiling, limit, maximum
from llmserve_lab.formula.formula import Formula

FLASH = "Dao et al. 2022"
FLASH_2 = "Dao 2023"

__all__ = [
    "CHIP_SHARE",
    "HEAD_FLOPS",
    "KEYS_READ",
    "ONCE_BYTES",
    "ONCE_INTENSITY",
    "OUTER_KEYS_BYTES",
    "PLAIN_BYTES",
    "PLAIN_INTENSITY",
    "PLAIN_LIMIT",
    "REGISTER_BYTES",
    "ROWS_VISITED",
    "ROW_TILES",
    "SHARED_BYTES",
    "SQUARE_BYTES",
    "TILED_BYTES",
    "TILED_INTENSITY",
    "TILED_LIMIT",
]


def _outer_keys_bytes(
    bytes_number: Any,
    key_and_value: Any,
    prompt_len: Any,
    d_head: Any,
    state_rows: Any,
    rows_visited: Any,
    bytes_sum: Any,
    two_sums: Any,
) -> Any:
    """Keys and values once, queries at each visit, the state there and back."""
    inputs = key_and_value * prompt_len + state_rows * rows_visited
    state = state_rows * (2 * rows_visited - prompt_len) * (d_head + two_sums)
    return bytes_number * inputs * d_head + bytes_sum * state


def _register_bytes(
    bytes_sum: Any,
    state_rows: Any,
    tile_rows: Any,
    d_head: Any,
    score_of_tile: Any,
    tile_keys: Any,
    bytes_number: Any,
) -> Any:
    """Scores and running output, and the weights that are multiplied with values."""
    scores = score_of_tile * tile_keys
    return (
        state_rows * tile_rows * (bytes_sum * (d_head + scores) + bytes_number * scores)
    )


def _rows_visited(prompt_len: Any, tile_keys: Any) -> Any:
    """For each tile of keys, the queries from its first key on."""
    rounds = ceiling(prompt_len / tile_keys)
    return prompt_len * rounds - tile_keys * rounds * (rounds - 1) / 2


def _shared_bytes(
    bytes_number: Any,
    d_head: Any,
    state_rows: Any,
    tile_rows: Any,
    tile_stages: Any,
    key_and_value: Any,
    tile_keys: Any,
) -> Any:
    """A tile of queries, and for each stage a tile of keys and one of values."""
    on_chip = state_rows * tile_rows + tile_stages * key_and_value * tile_keys
    return bytes_number * d_head * on_chip


SQUARE_BYTES = Formula(
    result=q.square_bytes,
    expr=lambda bytes_number, score_per_pair, n_heads, prompt_len: (
        bytes_number * score_per_pair * n_heads * prompt_len**2
    ),
    title="Bytes of the score matrix",
    source=f"{FLASH}, §2",
    holds="one request, one layer, every query against every key",
)
PLAIN_BYTES = Formula(
    result=q.plain_bytes,
    expr=lambda bytes_number, four_rows, prompt_len, d_head, four_scores: (
        bytes_number * (four_rows * prompt_len * d_head + four_scores * prompt_len**2)
    ),
    title="Memory traffic of plain attention",
    source=f"{FLASH}, algorithm 0",
    holds="three kernels: scores, softmax, mixing; the mask costs no pass of its own",
)
ROW_TILES = Formula(
    result=q.row_tiles,
    expr=lambda prompt_len, tile_rows: ceiling(prompt_len / tile_rows),
    title="Tiles of queries",
    source="counted",
    holds="the last tile may be smaller",
)
KEYS_READ = Formula(
    result=q.keys_read,
    expr=lambda tile_rows, row_tiles, prompt_len: (
        tile_rows * row_tiles * (row_tiles - 1) / 2 + prompt_len
    ),
    uses=(ROW_TILES,),
    title="Keys read, tile after tile",
    source="counted",
    holds="causal, tiles of the future skipped; the key tile divides the query tile",
)
TILED_BYTES = Formula(
    result=q.tiled_bytes,
    expr=lambda bytes_number, two_rows, prompt_len, d_head, key_and_value, keys_read: (
        bytes_number * d_head * (two_rows * prompt_len + key_and_value * keys_read)
    ),
    uses=(KEYS_READ,),
    title="Memory traffic in tiles",
    source=f"{FLASH_2}, algorithm 1",
    holds="loop over queries outside; no tile is found in the L2 cache",
)
ROWS_VISITED = Formula(
    result=q.rows_visited,
    expr=_rows_visited,
    title="Queries read, tile after tile",
    source="counted",
    holds="causal, tiles of the future skipped; the query tile divides the key tile",
)
OUTER_KEYS_BYTES = Formula(
    result=q.outer_keys_bytes,
    expr=_outer_keys_bytes,
    uses=(ROWS_VISITED,),
    title="Memory traffic in tiles, loop over keys outside",
    source=f"{FLASH}, algorithm 1",
    holds=(
        "square tiles; output, maximum and sum of a row, as wide as sums, are written "
        "at each visit, read again but at its first; no tile is found in the L2 cache"
    ),
)
ONCE_BYTES = Formula(
    result=q.once_bytes,
    expr=lambda bytes_number, four_rows, prompt_len, d_head: (
        bytes_number * four_rows * prompt_len * d_head
    ),
    title="Memory traffic, every number once",
    source="counted",
    holds="a cache holds all keys and values of the head: the least there can be",
)
HEAD_FLOPS = Formula(
    result=q.head_flops,
    expr=lambda flops_per_score, d_head, prompt_len, own_row: (
        flops_per_score * d_head * prompt_len * (prompt_len + own_row) / 2
    ),
    title="FLOPs of a head that count",
    source="counted",
    holds="pairs that the causal mask allows; the softmax is not counted",
)
PLAIN_INTENSITY = Formula(
    result=q.plain_intensity,
    expr=lambda head_flops, plain_bytes: head_flops / plain_bytes,
    uses=(HEAD_FLOPS, PLAIN_BYTES),
    title="Intensity of plain attention",
    source="[head_flops](#eq-head_flops) over [plain_bytes](#eq-plain_bytes)",
    holds="as both",
)
TILED_INTENSITY = Formula(
    result=q.tiled_intensity,
    expr=lambda head_flops, tiled_bytes: head_flops / tiled_bytes,
    uses=(HEAD_FLOPS, TILED_BYTES),
    title="Intensity in tiles",
    source="[head_flops](#eq-head_flops) over [tiled_bytes](#eq-tiled_bytes)",
    holds="as both",
)
ONCE_INTENSITY = Formula(
    result=q.once_intensity,
    expr=lambda head_flops, once_bytes: head_flops / once_bytes,
    uses=(HEAD_FLOPS, ONCE_BYTES),
    title="Intensity, every number once",
    source="[head_flops](#eq-head_flops) over [once_bytes](#eq-once_bytes)",
    holds="as both",
)
PLAIN_LIMIT = Formula(
    result=q.plain_limit,
    expr=lambda: limit(PLAIN_INTENSITY, q.prompt_len, "oo"),
    derived=True,
    title="Plain intensity of an endless prompt",
    source="limit of [plain_intensity](#eq-plain_intensity)",
    holds="a prompt much longer than a head is wide",
)
TILED_LIMIT = Formula(
    result=q.tiled_limit,
    expr=lambda: limit(
        at(
            TILED_INTENSITY,
            keep=(q.row_tiles,),
            row_tiles=q.prompt_len.sympy / q.tile_rows.sympy,
        ),
        q.prompt_len,
        "oo",
    ),
    derived=True,
    title="Tiled intensity of an endless prompt",
    source="limit of [tiled_intensity](#eq-tiled_intensity)",
    holds="a prompt much longer than a tile; no tile is found in the L2 cache",
)
SHARED_BYTES = Formula(
    result=q.shared_bytes,
    expr=_shared_bytes,
    title="Shared memory of the tiles",
    source="FlashAttention-3, hopper/tile_size.h, counted",
    holds="one tile of queries, and as many of keys and of values as there are stages",
)
REGISTER_BYTES = Formula(
    result=q.register_bytes,
    expr=_register_bytes,
    title="Registers of scores, weights and sums",
    source="counted",
    holds="the scores and weights of one tile and the running output, nothing else",
)
CHIP_SHARE = Formula(
    result=q.chip_share,
    expr=lambda shared_bytes, shared_room, register_bytes, register_room: maximum(
        shared_bytes / shared_room, register_bytes / register_room
    ),
    uses=(SHARED_BYTES, REGISTER_BYTES),
    title="Room on chip that a tile takes",
    source="counted",
    holds="one thread block to a multiprocessor; above one the tile does not fit",
)
