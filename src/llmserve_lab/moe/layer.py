"""One mixture-of-experts layer, and the plainest way to evaluate it: run everything.

Every expert sees every row, and a row's weight for an expert it was not sent to is 0.
That wastes nearly all of the work and is right by its looks; every other way to run the
layer is held against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.checks import one_of, whole
from llmserve_lab.transformer import Weights, seeded, tiny_shape
from llmserve_lab.transformer.arithmetic import Array, Integers
from llmserve_lab.transformer.ffn import (
    GroupLimit,
    Scores,
    expert_weights,
    moe_ffn,
    route,
    swiglu_ffn,
)

MOST_ROWS, MOST_WIDE = 10**6, 16_384
ROUTED, SHARED = "experts", "shared_experts"


@dataclass(frozen=True, eq=False)
class MoeLayer:
    """Weights of one layer, how many experts it has, and how its router chooses.

    Raises:
        ValueError: ``scores`` is unknown, or the groups that a row may use do not exist
            or have fewer experts than it needs.
    """

    weights: Mapping[str, Array]
    spec: MoeFfn
    scores: Scores = "softmax"
    limit: GroupLimit | None = None

    def __post_init__(self) -> None:
        one_of("scores", self.scores, Scores)
        if self.limit is not None:
            self._check(self.limit)

    def _check(self, limit: GroupLimit) -> None:
        """Equal groups, and room for k experts in those that a row may use."""
        groups, used, experts = limit.n_groups, limit.top_groups, self.spec.n_experts
        if groups < 1 or experts % groups or not 1 <= used <= groups:
            raise ValueError(
                f"limit must use some of the groups that divide {experts} experts, got "
                f"{used} of {groups}"
            )
        if (held := used * experts // groups) < self.spec.top_k:
            raise ValueError(
                f"limit must leave top_k = {self.spec.top_k} experts, got {held}"
            )

    def route(self, rows: Array) -> tuple[Integers, Array]:
        """Experts [n, k] that rows [n, d] are sent to, and their weights [n, k]."""
        return route(
            rows,
            self.weights,
            top_k=self.spec.top_k,
            scores=self.scores,
            limit=self.limit,
        )

    def expert(self, index: int, rows: Array) -> Array:
        """One routed expert on some rows, [m, d] → [m, d]."""
        return swiglu_ffn(rows, expert_weights(self.weights, ROUTED, index))

    def shared(self, rows: Array) -> Array:
        """The sum of all shared experts, [n, d] → [n, d]."""
        own = (
            expert_weights(self.weights, SHARED, i) for i in range(self.spec.n_shared)
        )
        return sum((swiglu_ffn(rows, each) for each in own), np.zeros_like(rows))

    def sparse(self, rows: Array) -> Array:
        """Each row through the experts that it is sent to, [n, d] → [n, d]."""
        return moe_ffn(
            rows, self.weights, self.spec, scores=self.scores, limit=self.limit
        )

    def dense(self, rows: Array) -> Array:
        """Each row through all experts, weighted with 0 where it was not sent."""
        chosen, weight = self.route(rows)
        gates = np.zeros((len(rows), self.spec.n_experts))
        np.put_along_axis(gates, chosen, weight, axis=1)
        out = self.shared(rows)
        for index in range(self.spec.n_experts):
            out = out + gates[:, index, None] * self.expert(index, rows)
        return out

    def pulled(self, pull: Array) -> MoeLayer:
        """The layer with a bias [E] added where experts are chosen."""
        bias = self.weights.get("router.bias", 0.0) + pull
        return replace(self, weights={**self.weights, "router.bias": bias})


def layer_of(
    spec: MoeFfn,
    *,
    d_model: int = 16,
    seed: int = 0,
    scores: Scores = "softmax",
    limit: GroupLimit | None = None,
) -> MoeLayer:
    """Seeded weights for a layer of the kind that ``spec`` describes."""
    whole(of="element", most=MOST_WIDE, d_model=d_model)
    shape = tiny_shape(n_layers=1, d_model=d_model, ffn=replace(spec, n_dense_layers=0))
    weights = Weights(shape, seeded(shape, seed)).layer(0)
    kept = {name: each for name, each in weights.items() if "expert" in name}
    kept |= {name: each for name, each in weights.items() if name.startswith("router")}
    return MoeLayer(kept, spec, scores, limit)


def batch(n_rows: int, *, d_model: int = 16, seed: int = 0) -> Array:
    """Seeded rows [n, d]."""
    whole(of="row", first=0, most=MOST_ROWS, n_rows=n_rows)
    whole(of="element", most=MOST_WIDE, d_model=d_model)
    return np.random.default_rng(seed).standard_normal((n_rows, d_model))
