"""FlashAttention as two nested loops over one head, without the meter of the kernel."""

from __future__ import annotations

from math import ceil

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.transformer import RunningSoftmax
from llmserve_lab.transformer.arithmetic import Array

MOST_TOKENS = 2**22


def two_loops(q: Array, k: Array, v: Array, n_q: int, n_k: int) -> Array:
    """Causal attention of one head: queries [s, d], keys [s, d], values [s, d_v]."""
    out = np.zeros((len(q), v.shape[1]))
    for i in range(0, len(q), n_q):  # each round is a thread block
        queries = q[i : i + n_q]  # read once, stays on chip
        end = i + len(queries)  # keys from here on are the future
        row = RunningSoftmax.empty((len(queries),), v.shape[1])
        for j in range(0, end, n_k):
            keys, values = k[j : j + n_k], v[j : j + n_k]
            scores = queries @ keys.T / np.sqrt(q.shape[1])
            future = np.arange(j, j + len(keys)) > np.arange(i, end)[:, None]
            row.add(np.where(future, -np.inf, scores), values)
        out[i:end] = row.output  # written once; no score ever is
    return out


def keys_met(prompt_len: int, tile_rows: int, tile_keys: int) -> int:
    """Keys read, tile after tile, where each tile of keys that is begun is read whole.

    Equal to the closed form where the tile of keys divides that of queries.

    Raises:
        TypeError, ValueError: an argument is no whole number of at least 1.
    """
    whole(tile_rows=tile_rows, tile_keys=tile_keys)
    whole(of="token", most=MOST_TOKENS, prompt_len=prompt_len)
    ends = (min(i + tile_rows, prompt_len) for i in range(0, prompt_len, tile_rows))
    return sum(min(prompt_len, ceil(end / tile_keys) * tile_keys) for end in ends)
