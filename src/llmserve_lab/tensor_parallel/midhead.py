"""A cut through a head leaves every rank with half a score, and softmax will not wait.

Each rank keeps a slice of every head's query, key and value. The scores that it can
take are partial sums over its features. Either the ranks add them up before the
softmax, which is a third all-reduce, or the output is wrong.
"""

from __future__ import annotations

import numpy as np

from llmserve_lab.checks import whole_number
from llmserve_lab.collectives import ClusterRun, Rank, run
from llmserve_lab.transformer import attend, causal_mask
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.rowwise import linear, merge_heads, softmax
from llmserve_lab.transformer.shard import piece

Projections = dict[str, Array]
PARTS = ("query", "key", "value")


def projections(d_model: int, n_heads: int, *, seed: int = 0) -> Projections:
    """Seeded weights: query, key and value [d, h, d/h], output [d, d]."""
    whole_number("n_heads", n_heads)
    whole_number("d_model", d_model, of="element", most=16_384)
    rng = np.random.default_rng(seed)
    shape = (d_model, n_heads, d_model // n_heads)
    drawn = {part: rng.standard_normal(shape) * d_model**-0.5 for part in PARTS}
    return drawn | {"output": rng.standard_normal((d_model,) * 2) * d_model**-0.5}


def whole(rows: Array, weights: Projections) -> Array:
    """Causal attention on rows [n, d] without positions, uncut: the reference."""
    query, key, value = (np.tensordot(rows, weights[part], 1) for part in PARTS)
    heads = attend(query, key, value, causal_mask(len(rows), len(rows)))
    return linear(merge_heads(heads), weights["output"])


def cut(rank: Rank, rows: Array, weights: Projections, *, synced: bool) -> Array:
    """Attention cut inside every head; ``synced`` adds scores up before the softmax.

    Rows [n, d] → [n, d]; the scores that are added up are [h, n, n].

    Raises:
        ValueError: the ranks cannot share the width of a head equally.
    """
    mine = {part: piece(weights[part], rank, axis=2) for part in PARTS}
    query, key, value = (
        np.tensordot(rows, mine[part], 1).transpose(1, 0, 2) for part in PARTS
    )
    # Each rank's scores are sums over its own features alone; the scale is that of the
    # whole head, or the parts would not add up to it.
    scores = query @ key.transpose(0, 2, 1) * weights["query"].shape[2] ** -0.5
    if synced:
        scores = rank.all_reduce(scores)
    mask = causal_mask(len(rows), len(rows))
    mixed = softmax(np.where(mask, scores, -np.inf)) @ value
    output = weights["output"].reshape(*weights["query"].shape[1:], -1)
    kept = piece(output, rank, axis=1).reshape(-1, output.shape[-1])
    return rank.all_reduce(linear(merge_heads(mixed.transpose(1, 0, 2)), kept))


def execute(
    tp: int, rows: Array, weights: Projections, *, synced: bool = True
) -> ClusterRun[Array]:
    """Run :func:`cut` on ``tp`` ranks."""
    return run(lambda rank: cut(rank, rows, weights, synced=synced), tp)


def error(tp: int, rows: Array, weights: Projections, *, synced: bool) -> float:
    """Largest difference from the uncut output, over its largest element."""
    right = whole(rows, weights)
    found = execute(tp, rows, weights, synced=synced).results[0]
    return float(np.abs(found - right).max() / np.abs(right).max())
