"""Attention in a dozen lines of NumPy: one head, with and without a cache.

The transformer of the book has the same with heads, masks and meters
(:func:`llmserve_lab.transformer.attend`); tests compare the two.
"""

from __future__ import annotations

import numpy as np

from llmserve_lab.transformer.arithmetic import Array

Weights = tuple[Array, Array, Array]  # those that make queries, keys and values


def softmax(scores: Array) -> Array:
    """Turn each row of scores into positive weights that add up to 1."""
    grown = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=-1, keepdims=True))


def look(q: Array, k: Array) -> Array:
    """How much each query [n, d] looks at each key [m, d]: weights [n, m].

    The n queries belong to the last n of the m positions.
    """
    scores = q @ k.T / np.sqrt(k.shape[-1])
    n, m = scores.shape
    later = np.triu(np.ones((n, m), dtype=bool), m - n + 1)
    scores[later] = -np.inf
    return softmax(scores)


def attend(q: Array, k: Array, v: Array) -> Array:
    """Mix the values [m, d] for each query [n, d], by how well its key fits."""
    return look(q, k) @ v


def read_all(rows: Array, weights: Weights) -> Array:
    """Attention over a whole sentence: rows [n, d] → [n, d]."""
    w_q, w_k, w_v = weights
    return attend(rows @ w_q, rows @ w_k, rows @ w_v)


def read_next(
    row: Array, weights: Weights, keys: list[Array], values: list[Array]
) -> Array:
    """Attention for one new row [d], the earlier ones in two lists: the KV cache."""
    w_q, w_k, w_v = weights
    keys.append(row @ w_k)
    values.append(row @ w_v)
    mixed = attend((row @ w_q)[None], np.array(keys), np.array(values))
    return np.asarray(mixed[0])
