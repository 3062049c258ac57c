"""Rotary positions: turn each pair of features by an angle that grows with position.

A score between a query at position i and a key at j then depends on i − j alone (Su et
al., arXiv 2104.09864). Convention here, as in the Llama and Qwen checkpoints: feature p
is paired with feature p + width/2, pair p turns by 10,000^(−2p/width) radians a token.
"""

from __future__ import annotations

import numpy as np

from llmserve_lab.transformer.arithmetic import Array, Integers

BASE = 10_000.0


def rotate(vectors: Array, positions: Integers) -> Array:
    """Turn vectors [n, h, width], row i to positions[i]; lengths are kept.

    Raises:
        ValueError: the width is odd, or there is not one position per row.
    """
    n_rows, width = len(vectors), vectors.shape[-1]
    if width % 2:
        raise ValueError(f"width must be even to be rotated in pairs, got {width}")
    if positions.shape != (n_rows,):
        raise ValueError(
            f"positions must have shape ({n_rows},), got {positions.shape}"
        )
    # Halves, not neighbours: the checkpoints were trained with this pairing, and the
    # other one gives wrong scores without an error.
    rates = BASE ** (-np.arange(0, width, 2) / width)
    angles = positions[:, None, None] * rates
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = vectors[..., : width // 2], vectors[..., width // 2 :]
    turned = (first * cos - second * sin, second * cos + first * sin)
    return np.concatenate(turned, axis=-1)
