"""A meter between the chip and its memory (HBM), and plain attention that passes it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from llmserve_lab.checks import of_type
from llmserve_lab.transformer.arithmetic import Array, Mask


@dataclass
class HbmMeter:
    """Numbers that were read from memory and written to it, by what they are."""

    reads: Counter[str] = field(default_factory=Counter)
    writes: Counter[str] = field(default_factory=Counter)

    def read(self, name: str, array: Array) -> Array:
        """Bring an array on chip; it is counted."""
        self.reads[name] += array.size
        return array

    def write(self, name: str, array: Array) -> Array:
        """Bring an array to memory; it is counted."""
        self.writes[name] += array.size
        return array

    @property
    def numbers(self) -> int:
        """All numbers that passed, either way."""
        return self.reads.total() + self.writes.total()


def plain_attention(
    query: Array, key: Array, value: Array, mask: Mask, *, hbm: HbmMeter
) -> Array:
    """Attention of one head in three kernels, as the formula stands; arrays [n, d].

    The first writes the scores to memory, the second reads them and writes weights,
    the third reads the weights.
    """
    of_type(np.ndarray, mask=mask)
    q, k = hbm.read("query", query), hbm.read("key", key)
    scores = hbm.write("scores", np.where(mask, q @ k.T / np.sqrt(q.shape[1]), -np.inf))
    scores = hbm.read("scores", scores)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = hbm.write("weights", weights / weights.sum(axis=1, keepdims=True))
    weights, v = hbm.read("weights", weights), hbm.read("value", value)
    return hbm.write("output", np.asarray(weights @ v))
