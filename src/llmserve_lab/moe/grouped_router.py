"""DeepSeek-V3's router by groups, on random scores (node-limited routing).

The experts lie in eight groups. A token takes the four groups whose two best scores add
up to most, and then the best experts of these. A group is kept *because* two of its
scores are high, so nearly every kept group is used: drawing four groups at random and
then eight experts would leave more of them unused.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.checks import MOST_PLAYED, whole
from llmserve_lab.moe.serving import SPEC
from llmserve_lab.transformer.arithmetic import Integers

TOP_GROUPS, ROUTER_GROUPS = 4, 8
GROUP_EXPERTS = SPEC.n_experts // ROUTER_GROUPS


def chosen(n_rows: int, seed: int = 0) -> Integers:
    """Experts [n, k] of rows with random scores."""
    whole(of="row", most=MOST_PLAYED, n_rows=n_rows)
    shape = (n_rows, ROUTER_GROUPS, GROUP_EXPERTS)
    scores = np.random.default_rng(seed).random(shape)
    best = np.sort(scores, axis=2)[:, :, -2:].sum(axis=2)
    left_out = np.argsort(best, axis=1)[:, : ROUTER_GROUPS - TOP_GROUPS]
    np.put_along_axis(scores, left_out[:, :, None], -1.0, axis=1)
    flat = scores.reshape(n_rows, -1)
    return np.asarray(np.argsort(-flat, axis=1)[:, : SPEC.top_k])


def experts_on_each(places: int) -> int:
    """Experts of each of so many GPUs or nodes.

    Raises:
        ValueError: the experts cannot be dealt out to the places evenly.
    """
    whole(places=places)
    if SPEC.n_experts % places:
        raise ValueError(f"places must divide {SPEC.n_experts} experts, got {places}")
    return SPEC.n_experts // places


def routed(n_rows: int, seed: int = 0, places: int = ROUTER_GROUPS) -> list[int]:
    """Experts read on each GPU; eight of them hold one of the router's groups each.

    Raises:
        ValueError: the experts cannot be dealt out to the places evenly.
    """
    read = np.unique(chosen(n_rows, seed)) // experts_on_each(places)
    return [int(each) for each in np.bincount(read, minlength=places)]


@cache
def busiest_reads(n_rows: int, places: int = ROUTER_GROUPS, trials: int = 400) -> float:
    """Experts that the busiest GPU reads in a layer, mean over draws.

    Rounded to a tenth, which is as much as so many draws can tell.
    """
    mean = np.mean([max(routed(n_rows, seed, places)) for seed in range(trials)])
    return round(float(mean), 1)


@cache
def places_reached(places: int, n_rows: int = 5_000) -> float:
    """Places (nodes or GPUs, in order of the experts) that a token reaches, on average.

    Raises:
        ValueError: the experts cannot be dealt out to the places evenly.
    """
    where = np.sort(chosen(n_rows) // experts_on_each(places), axis=1)
    return float(1 + (np.diff(where, axis=1) > 0).sum(axis=1).mean())
