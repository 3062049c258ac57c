"""Balancing a router: auxiliary loss, bias (auxiliary-loss-free), capacity factor.

A router with favourites, small enough to watch. The auxiliary loss changes the scores
themselves, by gradient; the bias helps to choose and leaves the scores as they are; a
capacity drops what is too much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from llmserve_lab.checks import positive
from llmserve_lab.formula.text import plain
from llmserve_lab.moe.layer import batch
from llmserve_lab.moe.routing_sampler import rows_of_experts
from llmserve_lab.page.table import Table
from llmserve_lab.transformer.arithmetic import Array, Integers
from llmserve_lab.transformer.rowwise import softmax

EXPERTS, TOP_K, WIDTH, ROWS, STEPS = 16, 2, 16, 512, 300
FAVOUR = 1.0  # of the first expert, in its logit; the last is disliked as much
CAPACITY = 1.25  # of the mean, as GShard and its successors set it


@dataclass(frozen=True, eq=False)
class Router:
    """Logits are ``rows · weights + offset``; ``bias`` is added only to choose."""

    weights: Array
    offset: Array
    bias: Array

    def probabilities(self, rows: Array) -> Array:
        """Scores [n, E] of rows [n, d]; each row's sum to 1."""
        return softmax(rows @ self.weights + self.offset)

    def choose(self, rows: Array) -> Integers:
        """The k experts [n, k] of each row."""
        preference = self.probabilities(rows) + self.bias
        return np.argsort(-preference, axis=1, kind="stable")[:, :TOP_K]

    def loads(self, rows: Array) -> Integers:
        """How many rows each expert gets [E]."""
        return rows_of_experts(self.choose(rows), EXPERTS)


def with_favourites() -> Router:
    """A router that prefers some experts, whatever the row."""
    weights = np.random.default_rng(0).standard_normal((WIDTH, EXPERTS))
    offset = FAVOUR * np.linspace(1.0, -1.0, EXPERTS)
    return Router(weights / np.sqrt(WIDTH), offset, np.zeros(EXPERTS))


def _batches() -> Iterator[Array]:
    return (batch(ROWS, d_model=WIDTH, seed=1 + step) for step in range(STEPS))


def auxiliary_loss(router: Router, *, rate: float = 1.0) -> Router:
    """Gradient steps on E · Σ fᵢ Pᵢ: share of choices times mean score, by expert.

    The share of choices is taken as given; the scores have the gradient (Switch
    Transformers, arXiv 2101.03961, section 2.2).
    """
    for rows in _batches():
        share = router.loads(rows) / (TOP_K * ROWS)
        scores = router.probabilities(rows)
        # d softmax: each score moves with its own logit, and against all others.
        slope = EXPERTS * scores * (share - scores @ share[:, None])
        router = replace(router, offset=router.offset - rate * slope.mean(axis=0))
    return router


def bias_update(router: Router, *, speed: float = 0.001) -> Router:
    """After each batch the bias of an expert above the mean falls, of others rises.

    No gradient (DeepSeek-V3, arXiv 2412.19437, section 2.1.2).
    """
    for rows in _batches():
        loads = router.loads(rows)
        step = speed * np.sign(loads - loads.mean())
        router = replace(router, bias=router.bias - step)
    return router


def dropped_share(loads: Integers, capacity_factor: float = CAPACITY) -> float:
    """Share of all choices that are above the capacity of their expert.

    Raises:
        ValueError: the factor is not above 0, or nothing is loaded.
    """
    positive("capacity_factor", capacity_factor)
    positive("sum of loads", loads.sum())
    room = capacity_factor * loads.mean()
    return float(np.maximum(loads - room, 0).sum() / loads.sum())


@dataclass(frozen=True, eq=False)
class Balanced:
    """A router on fresh rows: loads [E], and how far its scores are from the first."""

    loads: Integers
    moved: float

    @property
    def hottest(self) -> float:
        """Rows of the busiest expert over the mean."""
        return float(self.loads.max() / self.loads.mean())


@cache
def methods() -> Mapping[str, Balanced]:
    """The router with favourites, left alone and balanced in two ways."""
    rows, start = batch(8 * ROWS, d_model=WIDTH, seed=0), with_favourites()
    before = start.probabilities(rows)
    routers = {
        "left alone": start,
        "auxiliary loss": auxiliary_loss(start),
        "bias": bias_update(start),
    }
    return {
        name: Balanced(
            router.loads(rows),
            float(np.abs(router.probabilities(rows) - before).sum(axis=1).mean() / 2),
        )
        for name, router in routers.items()
    }


def table() -> Table:
    """Table of the methods: hottest expert, dropped choices, scores that moved."""
    rows = [
        (
            name,
            f"{plain(found.hottest, 3)} ×",
            f"{100 * dropped_share(found.loads):.1f} %",
            f"{100 * found.moved:.0f} %",
        )
        for name, found in methods().items()
    ]
    columns = (
        "router",
        "hottest expert over the mean",
        f"dropped at capacity {CAPACITY:g}",
        "scores moved",
    )
    return Table("A router with favourites, executed", columns, rows)
