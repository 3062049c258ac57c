"""The reader's own top-p: which words may be drawn? The check tries several cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

KeptIds = Callable[[Sequence[float], float], Sequence[int]]
CASES: tuple[tuple[tuple[float, ...], float], ...] = (
    ((0.48, 0.24, 0.16, 0.08, 0.04), 0.9),
    ((0.05, 0.1, 0.6, 0.25), 0.8),
    ((0.97, 0.02, 0.01), 0.9),
    ((0.5, 0.3, 0.2), 1.0),
    ((0.25, 0.25, 0.25, 0.25), 0.5),
)


def largest_until(probabilities: Sequence[float], top_p: float) -> list[int]:
    """The ids of the fewest likeliest words that reach p together."""
    ids = range(len(probabilities))
    order = sorted(ids, key=lambda i: -probabilities[i])
    kept, reached = [], 0.0
    for token in order:
        if reached >= top_p - 1e-12:
            break
        kept.append(token)
        reached += probabilities[token]
    return kept


def check(top_p_ids: KeptIds) -> str:
    """What is still wrong, beginning with "not yet"; or that all is well."""
    for probabilities, top_p in CASES:
        kept = [int(i) for i in top_p_ids(list(probabilities), top_p)]
        chances = f"{list(probabilities)}, p = {top_p:g}:"
        if len(set(kept)) < len(kept):
            return f"not yet: {chances} you keep a word twice: {kept}."
        if not set(kept) <= set(range(len(probabilities))):
            return f"not yet: {chances} you keep ids that do not exist: {kept}."
        total = float(np.sum([probabilities[i] for i in kept]))
        if total < top_p - 1e-9:
            return f"not yet: {chances} {kept} have only {total:.2f} together."
        fewest = len(largest_until(probabilities, top_p))
        if len(kept) > fewest:
            return f"not yet: {chances} {fewest} words do, you keep {len(kept)}."
    return "well done: the fewest likeliest words that reach p, in every case."
