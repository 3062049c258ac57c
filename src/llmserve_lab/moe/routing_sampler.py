"""Sampled routing: experts chosen (Gumbel top-k), experts touched, and hot ones.

Two ways to be uneven. A *hot rank* draws a share of all choices. A *popularity* gives
every expert a weight, and a row draws k different experts by weight (the Gumbel trick:
add noise to the logarithms, take the k largest).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from llmserve_lab.checks import whole, whole_number
from llmserve_lab.transformer.arithmetic import Array, Integers

MOST_SCORES = 10**8  # a row has one for each expert


def draw(
    popularity: Sequence[float] | Array, *, n_rows: int, top_k: int, seed: int = 0
) -> Integers:
    """Experts [n, k] of rows that draw k different ones by popularity [E].

    Raises:
        ValueError: k or the rows are below 1, there are fewer than k experts, or one
            has no popularity.
    """
    whole(n_rows=n_rows, top_k=top_k)
    weights = np.asarray(popularity, dtype=float)
    number = n_rows * weights.size
    whole_number("n_rows × popularity", number, of="score", first=0, most=MOST_SCORES)
    if top_k > len(weights) or not (weights > 0).all():
        raise ValueError(
            f"popularity must be positive and of at least {top_k} experts, got "
            f"{len(weights)} with a least of {weights.min():g}"
        )
    # Gumbel top-k: the k largest of log-weight plus noise are a draw without
    # replacement by weight, for all rows at once.
    noise = np.random.default_rng(seed).gumbel(size=(n_rows, len(weights)))
    scores = -(np.log(weights) + noise)
    # Of hundreds of experts the few that are drawn are found first, and then sorted.
    drawn = np.argpartition(scores, top_k - 1, axis=1)[:, :top_k]
    order = np.argsort(np.take_along_axis(scores, drawn, axis=1), axis=1)
    return np.take_along_axis(drawn, order, axis=1)


def zipf(n_experts: int, steepness: float = 1.0) -> Array:
    """Popularity of the 1st, 2nd, … expert as 1/rank to a power, summing to one."""
    weights = np.arange(1.0, n_experts + 1) ** -steepness
    return np.asarray(weights / weights.sum())


def rows_of_experts(chosen: Integers, n_experts: int) -> Integers:
    """How many rows each expert gets [E]."""
    return np.bincount(chosen.ravel(), minlength=n_experts)


def distinct(chosen: Integers) -> int:
    """How many experts at least one row was sent to."""
    return len(np.unique(chosen))


def mean_distinct(
    popularity: Sequence[float] | Array, *, n_rows: int, top_k: int, trials: int = 20
) -> float:
    """Distinct experts of a batch, mean over simulated batches.

    Raises:
        ValueError: there is no trial, or as in :func:`draw`.
    """
    whole(of="trial", most=10_000, trials=trials)
    found = [
        distinct(draw(popularity, n_rows=n_rows, top_k=top_k, seed=trial))
        for trial in range(trials)
    ]
    return float(np.mean(found))


def popular(
    *, n_experts: int, n_rows: int, top_k: int, steepness: float, seed: int = 0
) -> Integers:
    """Rows of each expert [E]: popularity falls by Zipf's law, in no order."""
    whole(of="expert", n_experts=n_experts)
    shuffled = np.random.default_rng(seed).permutation(zipf(n_experts, steepness))
    chosen = draw(shuffled, n_rows=n_rows, top_k=top_k, seed=seed)
    return rows_of_experts(chosen, n_experts)
