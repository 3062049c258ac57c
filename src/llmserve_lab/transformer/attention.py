"""Attention: a query scores the keys it may see, and mixes their values.

The one step in which rows meet. Which query may see which key is an argument, a mask;
attention itself knows neither requests nor positions.
"""

from __future__ import annotations

import numpy as np

from llmserve_lab.checks import MOST_PLAYED, whole
from llmserve_lab.transformer.arithmetic import PLAIN, Array, Execution, Mask
from llmserve_lab.transformer.rowwise import softmax


def causal_mask(n_queries: int, n_keys: int) -> Mask:
    """Mask [n, m] in which the n queries are the last n of m positions.

    Raises:
        ValueError: there are more queries than keys.
    """
    whole(of="query", first=0, most=MOST_PLAYED, n_queries=n_queries)
    whole(of="key", first=0, most=MOST_PLAYED, n_keys=n_keys)
    if n_queries > n_keys:
        raise ValueError(
            f"n_queries must be at most n_keys = {n_keys}, got {n_queries}"
        )
    return np.tri(n_queries, n_keys, n_keys - n_queries, dtype=np.bool_)


def attend(
    query: Array,
    key: Array,
    value: Array,
    mask: Mask,
    *,
    scale: float | None = None,
    run: Execution = PLAIN,
) -> Array:
    """softmax(query · key · scale) · value, head by head, where ``mask`` is true.

    Args:
        query: [n, h, d_k].
        key: [m, h_kv, d_k]; query head j uses key–value head j // (h / h_kv).
        value: [m, h_kv, d_v].
        mask: [n, m], true where the query may see the key.
        scale: 1/√d_k unless given.
        run: hooks for products and for an observer.

    Returns:
        [n, h, d_v].

    Raises:
        ValueError: shapes do not fit, or a query may see no key at all.
    """
    check_attention(query, key, value, mask)
    n, m = len(query), len(key)
    run.see(mask)
    run.note("mask", "n ℓ+n", mask)
    scores = grouped_scores(query, key, scale=scale, run=run)
    run.note("scores", "h n ℓ+n", scores.reshape(-1, n, m))
    masked = np.where(mask, scores, -np.inf)
    run.note("masked scores", "h n ℓ+n", masked.reshape(-1, n, m))
    weights = softmax(masked, run=run)
    run.note("attention weights", "h n ℓ+n", weights.reshape(-1, n, m))
    return mixture(weights, value, run=run)


def grouped_scores(
    query: Array, key: Array, *, scale: float | None, run: Execution
) -> Array:
    """Scores query · key · scale, head by head, [h_kv, h/h_kv, n, m].

    Query heads of a group meet their one key–value head by broadcasting, so that it is
    never copied. Shapes and ``scale`` are those of :func:`attend`.
    """
    n, d_k = len(query), query.shape[-1]
    scaled = query * (d_k**-0.5 if scale is None else scale)
    grouped = scaled.reshape(n, key.shape[1], -1, d_k).transpose(1, 2, 0, 3)
    return run.attention(grouped, key.transpose(1, 2, 0)[:, None])


def mixture(weights: Array, value: Array, *, run: Execution) -> Array:
    """Values [m, h_kv, d_v] mixed by weights [h_kv, h/h_kv, n, m], [n, h, d_v]."""
    mixed = run.attention(weights, value.transpose(1, 0, 2)[:, None])
    return mixed.transpose(2, 0, 1, 3).reshape(weights.shape[2], -1, value.shape[-1])


def check_attention(query: Array, key: Array, value: Array, mask: Mask) -> None:
    """Refuse arrays that do not fit each other, and a query that sees no key.

    Raises:
        ValueError: they do not, or there is one.
    """
    (n, h, d_k), (m, n_kv, key_width) = query.shape, key.shape
    if key_width != d_k:
        raise ValueError(f"key must be {d_k} wide, as the query, got {key_width}")
    if value.shape[:2] != (m, n_kv):
        raise ValueError(
            f"value must have {m} rows and {n_kv} heads, as the key, "
            f"got {value.shape[:2]}"
        )
    if h % n_kv:
        raise ValueError(
            f"n_heads must be a multiple of n_kv_heads, got {h} and {n_kv}"
        )
    if mask.dtype != np.bool_ or mask.shape != (n, m):
        raise ValueError(
            f"mask must be bool of shape {(n, m)}, got {mask.dtype} of {mask.shape}"
        )
    blind = np.flatnonzero(~mask.any(axis=1))
    if blind.size:
        raise ValueError(
            f"mask must let every query see a key, query {blind[0]} sees none"
        )


def check_finite(**arrays: Array) -> None:
    """Refuse an array that holds NaN or infinity, by name and place.

    Raises:
        ValueError: one does.
    """
    for name, array in arrays.items():
        wrong = np.argwhere(~np.isfinite(array))
        if len(wrong):
            place = tuple(int(i) for i in wrong[0])
            raise ValueError(
                f"{name} must hold finite numbers, got {array[place]} at {place}"
            )
