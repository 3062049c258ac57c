"""The feed-forward half of a block: widen each row, bend it, narrow it again.

Widths are read off the weights: with some columns of ``up_proj`` (and ``gate_proj``)
and the matching rows of ``down_proj`` each function returns a part of the sum, which is
what a tensor-parallel rank needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from llmserve_lab.catalog.records.ffn import Ffn, GeluFfn, MoeFfn
from llmserve_lab.checks import one_of, whole
from llmserve_lab.transformer.arithmetic import PLAIN, Array, Execution, Integers
from llmserve_lab.transformer.attention_context import Entries
from llmserve_lab.transformer.rowwise import gelu, linear, sigmoid, silu, softmax

Scores = Literal["softmax", "sigmoid"]


@dataclass(frozen=True, kw_only=True)
class GroupLimit:
    """Experts in ``n_groups`` equal groups; a row chooses in its best ``top_groups``.

    A group is as good as the sum of its ``best`` preferred experts (DeepSeek-V3, arXiv
    2412.19437, section 2.1.2, where a group is what lies on one node).
    """

    n_groups: int
    top_groups: int
    best: int = 2

    def __call__(self, preference: Array) -> Array:
        """Preferences [n, E] → [n, E], −∞ outside the groups that a row may use.

        Raises:
            ValueError: the groups are not equal, or more are wanted than there are.
        """
        n_rows, n_experts = preference.shape
        if n_experts % self.n_groups or not 1 <= self.top_groups <= self.n_groups:
            raise ValueError(
                f"n_groups must divide {n_experts} experts and be at least top_groups, "
                f"got {self.n_groups} and {self.top_groups}"
            )
        grouped = preference.reshape(n_rows, self.n_groups, -1)
        worth = np.sort(grouped, axis=-1)[..., -self.best :].sum(axis=-1)
        ranked = np.argsort(-worth, axis=-1, kind="stable")
        allowed = np.full(grouped.shape, -np.inf)
        kept = ranked[:, : self.top_groups, None]
        np.put_along_axis(allowed, kept, 0.0, axis=1)
        return np.asarray((grouped + allowed).reshape(preference.shape))


def gelu_ffn(rows: Array, weights: Entries, *, run: Execution = PLAIN) -> Array:
    """GeLU(rows · up) · down, [n, d] → [n, d]."""
    wide = linear(rows, weights["up_proj"], run=run)
    run.note("up_proj", "n d_ff", wide)
    bent = gelu(wide)
    run.note("GeLU", "n d_ff", bent)
    narrow = linear(bent, weights["down_proj"], run=run)
    run.note("down_proj", "n d", narrow)
    return narrow


def swiglu_ffn(rows: Array, weights: Entries, *, run: Execution = PLAIN) -> Array:
    """(SiLU(rows · gate) ⊙ (rows · up)) · down, [n, d] → [n, d]."""
    gate = linear(rows, weights["gate_proj"], run=run)
    run.note("gate_proj", "n d_ff", gate)
    wide = linear(rows, weights["up_proj"], run=run)
    run.note("up_proj", "n d_ff", wide)
    bent = silu(gate) * wide
    run.note("SiLU(gate) ⊙ up", "n d_ff", bent)
    narrow = linear(bent, weights["down_proj"], run=run)
    run.note("down_proj", "n d", narrow)
    return narrow


def check_scores(scores: Scores) -> None:
    """Refuse, with a ValueError, what is no way to score experts."""
    one_of("router_scores", scores, Scores)


def route(
    rows: Array,
    weights: Entries,
    *,
    top_k: int,
    scores: Scores = "softmax",
    limit: GroupLimit | None = None,
    run: Execution = PLAIN,
) -> tuple[Integers, Array]:
    """Which experts each row is sent to [n, k], and their weights [n, k].

    A bias, where there is one, helps to choose but not to weigh (DeepSeek-V3, arXiv
    2412.19437, section 2.1.2). The chosen experts' weights sum to 1. Of equal scores
    the expert with the lower number wins. ``limit`` narrows the choice to some groups.

    Raises:
        ValueError: the scores are of no known kind.
    """
    check_scores(scores)
    raw = linear(rows, weights["router"], run=run)
    score = softmax(raw, run=run) if scores == "softmax" else sigmoid(raw)
    run.note("router scores", "n E", score)
    preference = score + weights.get("router.bias", 0.0)
    if limit is not None:
        preference = limit(preference)
    chosen = np.argsort(-preference, axis=-1, kind="stable")[:, :top_k]
    weight = np.take_along_axis(score, chosen, axis=-1)
    return chosen, weight / run.total(weight)


def moe_ffn(
    rows: Array,
    weights: Entries,
    spec: MoeFfn,
    *,
    scores: Scores = "softmax",
    limit: GroupLimit | None = None,
    run: Execution = PLAIN,
) -> Array:
    """Each row through its ``top_k`` experts, weighted, and all shared ones."""
    chosen, weight = route(
        rows, weights, top_k=spec.top_k, scores=scores, limit=limit, run=run
    )
    run.note("experts chosen", "n k", chosen)
    out = np.zeros_like(rows)
    for expert in range(spec.n_experts):
        sent, rank = np.nonzero(chosen == expert)
        if sent.size:
            own, seen = expert_weights(weights, "experts", expert), rows[sent]
            done = swiglu_ffn(seen, own, run=run.inside(f"expert {expert}"))
            out[sent] += weight[sent, rank, None] * done
    for shared in range(spec.n_shared):
        own = expert_weights(weights, "shared_experts", shared)
        out += swiglu_ffn(rows, own, run=run.inside(f"shared expert {shared}"))
    run.note("sum of experts", "n d", out)
    return out


def expert_weights(weights: Entries, kind: str, index: int) -> dict[str, Array]:
    """The three matrices of one expert; ``kind`` is experts or shared_experts."""
    names = ("gate_proj", "up_proj", "down_proj")
    whole(first=0, most=len(weights[f"{kind}.{names[0]}"]) - 1, index=index)
    return {name: weights[f"{kind}.{name}"][index] for name in names}


def ffn(
    rows: Array,
    weights: Entries,
    spec: Ffn,
    *,
    scores: Scores = "softmax",
    run: Execution = PLAIN,
) -> Array:
    """Rows [n, d] → [n, d], by the kind that the layer's weights belong to."""
    if isinstance(spec, MoeFfn) and "router" in weights:
        return moe_ffn(rows, weights, spec, scores=scores, run=run)
    if isinstance(spec, GeluFfn):
        return gelu_ffn(rows, weights, run=run)
    return swiglu_ffn(rows, weights, run=run)
