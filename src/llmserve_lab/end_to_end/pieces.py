"""The other pieces of a Llama block in NumPy: RMSNorm, SwiGLU, rotary positions.

The transformer of the book has the same with meters and checks; tests compare them.
"""

from __future__ import annotations

import numpy as np

from llmserve_lab.transformer.arithmetic import Array

EPSILON, BASE = 1e-6, 10_000.0  # Llama 3 turns more slowly: its base is 500,000


def normalised(rows: Array, gain: Array) -> Array:
    """RMSNorm: a row over the root of its mean square."""
    mean_square = (rows**2).mean(axis=-1, keepdims=True)
    return np.asarray(rows / np.sqrt(mean_square + EPSILON) * gain)


def swiglu(rows: Array, gate: Array, up: Array, down: Array) -> Array:
    """SwiGLU: widened twice, one result bent by SiLU weighs the other; narrowed."""
    opened = rows @ gate
    bent = opened / (1 + np.exp(-opened))
    return np.asarray((bent * (rows @ up)) @ down)


def turned(vectors: Array, positions: Array) -> Array:
    """RoPE: numbers i and i + d/2 are an arrow that turns."""
    half = vectors.shape[-1] // 2
    angles = positions[:, None] * BASE ** (-np.arange(half) / half)
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = vectors[:, :half], vectors[:, half:]
    both = (first * cos - second * sin, second * cos + first * sin)
    return np.concatenate(both, axis=-1)
