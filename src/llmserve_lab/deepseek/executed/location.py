"""Location-aware choice of experts: rows choose, and we count what leaves their node.

A router has an affinity to each expert and takes the largest. It can be told to favour
the experts of the row's own node, or to keep each row within a few nodes. Either saves
copies between nodes, and changes which experts a row meets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.transformer.arithmetic import Array, Integers

Choose = Callable[[Array, Integers], Integers]
MOST_ROWS, MOST_EXPERTS = 65_536, 4096


def affinities(n_rows: int, n_experts: int, *, seed: int = 0) -> Array:
    """Affinities [rows, experts], drawn independently: sigmoids of normal scores.

    A stand-in for a trained router, whose affinities depend on each other.
    """
    whole(of="row", most=MOST_ROWS, n_rows=n_rows)
    whole(of="expert", most=MOST_EXPERTS, n_experts=n_experts)
    scores = np.random.default_rng(seed).standard_normal((n_rows, n_experts))
    return 1 / (1 + np.exp(-scores))


def largest(scores: Array, count: int) -> Integers:
    """Places of the ``count`` largest of each row, [rows, count]."""
    return np.argsort(-scores, axis=-1, kind="stable")[..., :count]


def favouring(bonus: float, *, top_k: int, n_nodes: int) -> Choose:
    """A choice that adds ``bonus`` to the affinities of the row's own node."""

    def choose(scores: Array, own: Integers) -> Integers:
        node_of = np.arange(scores.shape[1]) * n_nodes // scores.shape[1]
        return largest(scores + bonus * (node_of == own[:, None]), top_k)

    return choose


def node_limited(most: int, *, top_k: int, n_nodes: int) -> Choose:
    """A choice within ``most`` nodes: those whose best ``top_k / most`` sum highest."""

    def choose(scores: Array, own: Integers) -> Integers:
        by_node = scores.reshape(len(scores), n_nodes, -1)
        best = np.sort(by_node, axis=-1)[..., -(top_k // most) :].sum(axis=-1)
        allowed = np.zeros(best.shape, bool)
        np.put_along_axis(allowed, largest(best, most), True, axis=1)
        inside = np.where(allowed[..., None], by_node, -np.inf)
        return largest(inside.reshape(scores.shape), top_k)

    return choose


@dataclass(frozen=True)
class Placed:
    """What a choice does: shares of copies and of experts, nodes per row.

    ``far`` is the share of copies that leave the row's node, ``replaced`` that of
    experts which would not have been chosen by affinity alone, ``affinity`` the sum of
    affinities over the largest there could be. ``nodes`` is how many nodes a row
    reaches on average, and at most.
    """

    far: float
    replaced: float
    affinity: float
    nodes: float
    most_nodes: int


def placed(
    choose: Choose,
    *,
    n_rows: int = 4096,
    n_experts: int = 256,
    top_k: int = 8,
    n_nodes: int = 8,
    seed: int = 0,
) -> Placed:
    """Let rows of all nodes choose among experts that are spread over them.

    Raises:
        ValueError: a row does not get ``top_k`` different experts.
    """
    scores = affinities(n_rows, n_experts, seed=seed)
    own = np.arange(n_rows) % n_nodes
    chosen = np.asarray(choose(scores, own))
    if chosen.shape != (n_rows, top_k):
        raise ValueError(f"chosen must be [{n_rows}, {top_k}], got {chosen.shape}")
    if (np.diff(np.sort(chosen, axis=1), axis=1) == 0).any():
        raise ValueError("each row must get different experts, got one of them twice")
    free = largest(scores, top_k)
    kept = (chosen[..., None] == free[:, None]).any(axis=-1)
    nodes = chosen * n_nodes // n_experts
    reached = (np.diff(np.sort(nodes, axis=1), axis=1) > 0).sum(axis=1) + 1
    taken, best = (np.take_along_axis(scores, at, 1).sum() for at in (chosen, free))
    return Placed(
        far=float((nodes != own[:, None]).mean()),
        replaced=float(1 - kept.mean()),
        affinity=float(taken / best),
        nodes=float(reached.mean()),
        most_nodes=int(reached.max()),
    )
