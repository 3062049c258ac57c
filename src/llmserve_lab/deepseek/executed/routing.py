"""Rows draw their experts; we look which GPU has to read most of them.

The paper estimates the busiest GPU by balls in bins. The mean over all GPUs has an
exact form; the largest has none that is simple, and so we draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.transformer.arithmetic import Array, Integers

MOST_SCORES = 10**9


@dataclass(frozen=True)
class Draws:
    """Distinct experts per GPU over many draws: mean of all, mean of the busiest."""

    mean: float
    busiest: float
    balancedness: float


def draw(
    *, n_rows: int, n_experts: int, top_k: int, n_gpus: int, times: int, seed: int = 0
) -> Draws:
    """Let ``n_rows`` rows each draw ``top_k`` different experts evenly, ``times`` over.

    Experts lie on the GPUs in blocks as equal as can be. ``balancedness`` is the mean
    over the largest number of rows of a GPU, which even routing does not make 1.

    Raises:
        ValueError: a count is below 1, or a row is to draw more experts than there are.
    """
    whole(n_rows=n_rows, n_experts=n_experts, top_k=top_k, n_gpus=n_gpus, times=times)
    if top_k > n_experts:
        raise ValueError(f"top_k must be at most n_experts = {n_experts}, got {top_k}")
    if (scores := n_rows * n_experts * times) > MOST_SCORES:
        raise ValueError(
            f"n_rows × n_experts × times must be at most {MOST_SCORES:,} scores, "
            f"which are drawn one by one, got {scores:,}"
        )
    home = np.arange(n_experts, dtype=np.int64) * n_gpus // n_experts
    found = [
        _spread(counts, home, n_gpus)
        for counts in _counts(n_rows, n_experts, top_k, times, seed)
    ]
    mean, busiest, balance = np.mean(found, axis=0)
    return Draws(float(mean), float(busiest), float(balance))


def _counts(
    n_rows: int, n_experts: int, top_k: int, times: int, seed: int
) -> Iterator[Array]:
    """Rows of each expert [E], draw after draw."""
    rng = np.random.default_rng(seed)
    for _ in range(times):
        scores = rng.random((n_rows, n_experts), dtype=np.float32)
        chosen = np.argpartition(scores, top_k - 1, axis=1)[:, :top_k]
        yield np.bincount(chosen.ravel(), minlength=n_experts).astype(np.float64)


def _spread(counts: Array, home: Integers, n_gpus: int) -> tuple[float, float, float]:
    touched = np.bincount(home, weights=counts > 0, minlength=n_gpus)
    load = np.bincount(home, weights=counts, minlength=n_gpus)
    return touched.mean(), touched.max(), load.mean() / load.max()
