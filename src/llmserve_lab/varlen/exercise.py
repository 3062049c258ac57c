"""The reader's own kernel loop: queries of a few rows, keys that reach into a cache.

The check runs it on a chunk of a prompt, a decode and a fresh prompt in one pass, and
compares each with attention of that request alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.attention import attend, causal_mask
from llmserve_lab.transformer.packing import cumulative

Kernel = Callable[[Array, Array, Array, Sequence[int], Sequence[int]], Array]
# New rows and cached tokens of each request.
REQUESTS = {
    "C, a fresh prompt": (4, 0),
    "A, a chunk after 6 cached tokens": (3, 6),
    "B, a decode after 5 cached tokens": (1, 5),
}
CLOSE = 1e-9


def aligned_at_the_start(
    q: Array, k: Array, v: Array, cu_q: Sequence[int], cu_k: Sequence[int]
) -> Array:
    """The naive loop: the i-th row sees the first i keys, as if nothing were cached."""
    out = np.empty((len(q), v.shape[1]))
    for (s, e), (a, b) in zip(pairwise(cu_q), pairwise(cu_k), strict=True):
        scores = q[s:e] @ k[a:b].T / np.sqrt(q.shape[1])
        future = np.triu(np.ones_like(scores, dtype=bool), k=1)
        scores[future] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[s:e] = weights @ v[a:b] / weights.sum(axis=1, keepdims=True)
    return out


def aligned_at_the_end(
    q: Array, k: Array, v: Array, cu_q: Sequence[int], cu_k: Sequence[int]
) -> Array:
    """The loop with a cache: a request's last row sees all of its keys."""
    out = np.empty((len(q), v.shape[1]))
    for (s, e), (a, b) in zip(pairwise(cu_q), pairwise(cu_k), strict=True):
        scores = q[s:e] @ k[a:b].T / np.sqrt(q.shape[1])
        cached = (b - a) - (e - s)
        future = np.triu(np.ones_like(scores, dtype=bool), k=1 + cached)
        scores[future] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[s:e] = weights @ v[a:b] / weights.sum(axis=1, keepdims=True)
    return out


def check(kernel: Kernel) -> str:
    """What is still wrong with a kernel, beginning with "not yet"; or that all is well.

    Raises:
        ValueError: the kernel returns an array of another shape.
    """
    rows = [new for new, _ in REQUESTS.values()]
    cu_q = cumulative(rows)
    cu_k = cumulative([new + cached for new, cached in REQUESTS.values()])
    rng = np.random.default_rng(4)
    q = rng.standard_normal((cu_q[-1], 8))
    k, v = (rng.standard_normal((cu_k[-1], 8)) for _ in range(2))
    out = kernel(q, k, v, cu_q, cu_k)
    if np.shape(out) != q.shape:
        raise ValueError(f"out must have shape {q.shape}, got {np.shape(out)}")
    places = zip(REQUESTS, pairwise(cu_q), pairwise(cu_k), strict=True)
    for name, (s, e), (a, b) in places:
        alone = _alone(q[s:e], k[a:b], v[a:b])
        wrong = np.abs(np.asarray(out)[s:e] - alone).max(axis=1) > CLOSE
        if wrong.any():
            return (
                f"not yet: {int(wrong.sum())} of {e - s} rows are wrong in request\n"
                f"{name}; its last row may see all {b - a} keys."
            )
    return "well done: every row is what it would be alone."


def _alone(q: Array, k: Array, v: Array) -> Array:
    """Attention of one request, by the book's transformer."""
    query, key, value = (each[:, np.newaxis, :] for each in (q, k, v))
    mask = causal_mask(len(q), len(k))
    return np.asarray(attend(query, key, value, mask))[:, 0]
