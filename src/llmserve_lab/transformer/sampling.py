"""From logits to a token: temperature, top-p, and a draw."""

from __future__ import annotations

import math

import numpy as np

from llmserve_lab.transformer.arithmetic import Array, Mask
from llmserve_lab.transformer.rowwise import softmax

LEAST_P = 1e-9


def chances(logits: Array, temperature: float = 1.0, top_p: float = 1.0) -> Array:
    """Probabilities [V] of the next token, those outside the top p set to 0.

    Raises:
        ValueError: the temperature is not positive and finite, or p not in (0, 1].
    """
    if not 0 < temperature < math.inf:
        raise ValueError(
            f"temperature must be positive and finite, got {temperature}; "
            "greedy decoding takes the largest logit"
        )
    if not LEAST_P <= top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, got {top_p}")
    found = softmax(logits / temperature)
    found[~nucleus(found, top_p)] = 0.0
    return np.asarray(found / found.sum())


def nucleus(probabilities: Array, top_p: float) -> Mask:
    """The fewest likeliest tokens whose probabilities reach p, as a mask [V]."""
    if top_p == 1:
        return np.ones(len(probabilities), dtype=bool)
    order = np.argsort(-probabilities, kind="stable")
    before = np.cumsum(probabilities[order]) - probabilities[order]
    kept = np.zeros(len(probabilities), dtype=bool)
    kept[order[before < top_p - 1e-12]] = True
    return kept


def draw(probabilities: Array, rng: np.random.Generator) -> int:
    """One token: a random number is looked up in the running sum."""
    reached = np.cumsum(probabilities)
    return int(np.searchsorted(reached, rng.random() * reached[-1], side="right"))
