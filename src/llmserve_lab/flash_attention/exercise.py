"""The reader's own online softmax: scores come one by one, and none may be kept.

The check hands scores and values over in tiles, large ones and rising ones among them,
and compares with a softmax over all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from llmserve_lab.transformer.arithmetic import Array

Tiles = Iterable[tuple[Array, Array]]
Online = Callable[[Tiles], Array]
CLOSE = 1e-9
TILES = 5
TRIALS = ("falling scores", "rising scores", "scores near 1,000")


def without_maximum(tiles: Tiles) -> Array:
    """The naive way: sums of exp(score), which overflow for large scores."""
    total, mixed = 0.0, np.zeros(2)
    for scores, values in tiles:
        weights = np.exp(scores)
        total += weights.sum()
        mixed = mixed + weights @ values
    return np.asarray(mixed / total)


def online_softmax(tiles: Tiles) -> Array:
    """Maximum, sum and mixture so far; rescaled when a larger score comes."""
    highest, total, mixed = -np.inf, 0.0, np.zeros(2)
    for scores, values in tiles:
        now = max(highest, scores.max())
        factor = np.exp(highest - now)
        weights = np.exp(scores - now)
        total = total * factor + weights.sum()
        mixed = mixed * factor + weights @ values
        highest = now
    return np.asarray(mixed / total)


def check(function: Online) -> str:
    """What is still wrong, beginning with "not yet"; or that all is well.

    Raises:
        ValueError: the function returns an array of another shape.
    """
    for name in TRIALS:
        scores, values = _trial(name)
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.asarray(function(_once(scores, values)))
        weights = np.exp(scores - scores.max())
        right = weights @ values / weights.sum()
        if found.shape != right.shape:
            raise ValueError(f"output must have shape {right.shape}, got {found.shape}")
        if not np.allclose(found, right, rtol=0, atol=CLOSE):
            got = ", ".join(f"{each:.3f}" for each in found)
            want = ", ".join(f"{each:.3f}" for each in right)
            return f"not yet: with {name} the output is {got}, not {want}."
    return "well done: the same as a softmax over all scores, and none was kept."


def _trial(name: str) -> tuple[Array, Array]:
    """Scores [15] and values [15, 2] of a trial."""
    rng = np.random.default_rng(7)
    scores = np.sort(rng.normal(0, 2, 3 * TILES))
    if name == TRIALS[0]:
        scores = scores[::-1]
    if name == TRIALS[2]:
        scores = scores + 1000
    return scores, rng.standard_normal((3 * TILES, 2))


def _once(scores: Array, values: Array) -> Iterator[tuple[Array, Array]]:
    """Tiles that can be walked over a single time."""
    yield from zip(np.split(scores, TILES), np.split(values, TILES), strict=True)
