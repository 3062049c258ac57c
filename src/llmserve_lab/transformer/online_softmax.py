"""Online softmax: maximum, sum and mixture of what has been seen, and nothing else.

Scores come tile by tile and are forgotten. What is kept of each row are three things:
the largest score so far, the sum of exp(score − largest), and the values mixed with
these weights. When a larger score comes, the sum and the mixture are rescaled.

Source: Milakov and Gimelshein 2018, arXiv 1805.02867; Dao et al. 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.transformer.arithmetic import PLAIN, Array, Execution


@dataclass
class RunningSoftmax:
    """Maximum […, n], sum […, n] and mixed values […, n, d_v] of rows, so far."""

    highest: Array
    total: Array
    mixed: Array

    @classmethod
    def empty(cls, shape: tuple[int, ...], width: int) -> RunningSoftmax:
        """Rows that have seen nothing: maximum −∞, sum 0."""
        whole(width=width)
        zero = np.zeros((*shape, width))
        return cls(np.full(shape, -np.inf), np.zeros(shape), zero)

    def add(self, scores: Array, value: Array, *, run: Execution = PLAIN) -> Array:
        """Take in the scores […, n, m] and values […, m, d_v] of one tile.

        A score of −∞ is a key that the row may not see.

        Returns:
            The factor […, n] by which what was there has been rescaled.

        Raises:
            ValueError: a score is not a number, or +∞.
        """
        highest = np.maximum(self.highest, scores.max(axis=-1))
        if not np.all(highest < np.inf):  # a comparison with NaN is false
            raise ValueError(f"scores must be numbers or -inf, got {highest.max()}")
        base = np.where(np.isneginf(highest), 0.0, highest)
        factor = np.exp(self.highest - base)
        weights = np.exp(scores - base[..., np.newaxis])
        self.total = self.total * factor + weights.sum(axis=-1)
        self.mixed = self.mixed * factor[..., np.newaxis] + run.attention(
            weights, value
        )
        self.highest = highest
        return factor

    @property
    def output(self) -> Array:
        """Attention's output […, n, d_v]: the mixture over its sum.

        Raises:
            ValueError: a row has seen no key at all.
        """
        if not np.all(self.total > 0):
            raise ValueError("every row must see a key, got one that sees none")
        return np.asarray(self.mixed / self.total[..., np.newaxis])

    @property
    def log_sum_exp(self) -> Array:
        """Log of the sum of exp(score) […, n]: maximum and sum in one number."""
        return np.asarray(self.highest + np.log(self.total))


@dataclass(frozen=True)
class Partial:
    """What a split of the keys leaves: its output […, d_v], its log-sum-exp […].

    A row that sees no key of the split has −∞ there, and counts for nothing.
    """

    output: Array
    log_sum_exp: Array


def merge(parts: Sequence[Partial]) -> Partial:
    """Attention over all keys from attention over each split of them.

    Each split counts with its share of the sum of exp(score), which is what the
    log-sum-exp knows of it. Merging two and then a third gives the same.

    Raises:
        ValueError: there is nothing to merge.
    """
    if not parts:
        raise ValueError("parts must hold at least 1 split, got none")
    logs = np.stack([part.log_sum_exp for part in parts])
    outputs = np.stack([part.output for part in parts])
    highest = logs.max(axis=0)
    shares = np.exp(logs - np.where(np.isneginf(highest), 0.0, highest))
    total = shares.sum(axis=0)
    shares = shares / np.where(total > 0, total, 1.0)
    output = (shares[..., np.newaxis] * outputs).sum(axis=0)
    with np.errstate(divide="ignore"):  # of a row that has seen no key yet
        return Partial(output, highest + np.log(total))
