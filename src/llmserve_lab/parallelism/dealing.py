"""Dealing tokens to ranks: one stretch each, or zig-zag, an early and a late piece.

Under a causal mask a late token sees more keys than an early one, so that equal numbers
of tokens are not equal work.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.transformer.arithmetic import Integers

Deal = Callable[[int, int], list[Integers]]


def contiguous(n_tokens: int, num_ranks: int) -> list[Integers]:
    """Places of each rank's tokens: the first stretch, the second, ….

    Raises:
        ValueError: there is no token or rank, or the ranks do not divide the tokens.
    """
    _divides(n_tokens, num_ranks, 1)
    return list(np.split(np.arange(n_tokens), num_ranks))


def zigzag(n_tokens: int, num_ranks: int) -> list[Integers]:
    """Places of each rank's tokens: of 2g equal pieces, rank i has i and 2g − 1 − i.

    Raises:
        ValueError: there is no token or rank, or twice the ranks do not divide them.
    """
    _divides(n_tokens, num_ranks, 2)
    pieces = np.split(np.arange(n_tokens), 2 * num_ranks)
    return [
        np.concatenate([pieces[rank], pieces[2 * num_ranks - 1 - rank]])
        for rank in range(num_ranks)
    ]


def pairs_of(places: Integers) -> int:
    """Query–key pairs under a causal mask, for queries at these places of a prompt."""
    return int((places + 1).sum())


def _divides(n_tokens: int, num_ranks: int, pieces: int) -> None:
    whole(num_ranks=num_ranks)
    whole(of="token", n_tokens=n_tokens)
    if n_tokens % (pieces * num_ranks):
        raise ValueError(
            f"n_tokens must be a multiple of {pieces * num_ranks}, {pieces} for each "
            f"of {num_ranks} ranks, got {n_tokens}"
        )
