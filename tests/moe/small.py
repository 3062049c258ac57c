"""Layers small enough to run hundreds of times, and what formulas ask about them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations

from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.formula.formula import Formula

FLOAT = 8  # bytes of a number in NumPy


def spec_of(
    rng: random.Random, *, n_experts: int | None = None, top_k: int | None = None
) -> MoeFfn:
    """A mixture of a few narrow experts."""
    many = n_experts or rng.randint(2, 8)
    return MoeFfn(
        d_ff=rng.randint(1, 5),
        n_experts=many,
        n_shared=rng.randint(0, 2),
        top_k=top_k or rng.randint(1, many),
        n_dense_layers=0,
        d_ff_dense=1,
        router_bias=False,
    )


def sizes(formula: Formula, spec: MoeFfn, **more: float) -> dict[str, float]:
    """What ``formula`` asks about a mixture in float64, with ``more``."""
    known: dict[str, float] = {
        "ffn_matrices": 3,
        "d_expert": spec.d_ff,
        "n_experts": spec.n_experts,
        "n_shared": spec.n_shared,
        "top_k": spec.top_k,
        "bytes_weight": FLOAT,
        "bytes_act": FLOAT,
    } | more
    return formula.given(known)


def every_routing(
    n_experts: int, top_k: int, n_rows: int
) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All ways in which rows can choose k different experts each, once."""
    if not n_rows:
        yield ()
        return
    for rest in every_routing(n_experts, top_k, n_rows - 1):
        for choice in combinations(range(n_experts), top_k):
            yield (*rest, choice)
