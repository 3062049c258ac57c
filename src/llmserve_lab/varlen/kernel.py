"""The attention kernel of a packed batch: a loop over requests.

``cu_seqlens`` says where each request begins in the stack of rows. The loop is what a
varlen kernel computes; how a GPU goes about it, tile by tile, is in
``transformer/flash.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.packing import check_bounds


def attend_packed(q: Array, k: Array, v: Array, cu_seqlens: Sequence[int]) -> Array:
    """Varlen attention of one head, rows [n, d] of all requests end to end."""
    check_bounds(cu_seqlens, n_rows=len(q))
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
