"""One query a rank, blocks of keys going round: the running maximum and the sum.

The same ring as in :mod:`llmserve_lab.parallelism.ring_attention`, for one head whose
keys and values are single numbers, so that a figure can show what each rank holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llmserve_lab.collectives import Rank, run
from llmserve_lab.parallelism.dealing import zigzag

TOKENS = 8
QUERIES = (1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0)  # of each token
KEYS = (0.5, 1.0, -0.5, 1.5, 0.0, 1.0, 2.0, -1.0)
VALUES = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)


@dataclass(frozen=True)
class BlockHeld:
    """A rank after a step: whose block it has, and what its last token knows so far.

    ``largest`` is the largest score yet, ``total`` the sum of exp(score − largest),
    ``mixed`` the values mixed with these weights; ``pairs`` of this step, both tokens.
    ``scores`` are of the last token with each key of the block, ``values`` what it
    weights by them; none of a later token.
    """

    block: int
    pairs: int
    largest: float
    total: float
    mixed: float
    sent_bytes: int
    scores: tuple[float | None, ...]
    values: tuple[float | None, ...]


def on_rank(rank: Rank) -> tuple[BlockHeld, ...]:
    """Pass blocks on, and take each into the running softmax of the last token."""
    ranks, here = rank.num_ranks, rank.index
    dealt = zigzag(TOKENS, ranks)
    last = int(dealt[here][-1])
    held = np.array([[KEYS[i], VALUES[i]] for i in dealt[here]])
    largest, total, mixed = -np.inf, 0.0, 0.0
    steps = []
    for step in range(ranks):
        if step:
            held = rank.sendrecv(held, dst=(here + 1) % ranks, src=(here - 1) % ranks)
        block = (here - step) % ranks
        seen = dealt[block] <= last
        scores = QUERIES[last] * held[seen, 0]
        new = max(largest, float(scores.max(initial=-np.inf)))
        kept = np.exp(largest - new) * total
        weights = np.exp(scores - new)
        sum_ = kept + float(weights.sum())
        mixed = (kept * mixed + float(weights @ held[seen, 1])) / sum_
        largest, total = new, sum_
        pairs = sum(int((dealt[block] <= q).sum()) for q in dealt[here])
        sent = sum(record.wire.sent_bytes for record in rank.records)
        told, weighted = (
            tuple(
                float(n) if sees else None for sees, n in zip(seen, all_, strict=True)
            )
            for all_ in (QUERIES[last] * held[:, 0], held[:, 1])
        )
        steps.append(
            BlockHeld(block, pairs, largest, total, mixed, sent, told, weighted)
        )
    return tuple(steps)


def play(ranks: int = 4) -> tuple[tuple[BlockHeld, ...], ...]:
    """What every rank held after every step: ``[rank][step]``."""
    return run(on_rank, ranks).results
