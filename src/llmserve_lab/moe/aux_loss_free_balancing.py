"""Auxiliary-loss-free balancing: a bias for each expert, nudged after every batch.

An expert with more rows than the mean becomes a little less attractive, one with fewer
a little more. The bias helps to choose and never weighs, so what an expert says counts
as much as its score (DeepSeek-V3, arXiv 2412.19437, section 2.1.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llmserve_lab.checks import at_least
from llmserve_lab.moe.layer import MoeLayer, batch, layer_of
from llmserve_lab.moe.placement import balance
from llmserve_lab.moe.routing_sampler import rows_of_experts
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.tiny import tiny_moe


@dataclass(frozen=True)
class Steered:
    """Balancedness of the experts before each nudge, and the bias [E] at the end."""

    balancedness: tuple[float, ...]
    bias: Array


def skewed_layer(n_experts: int = 16, top_k: int = 2, pull: float = 0.2) -> MoeLayer:
    """A layer whose router prefers some experts by far, whatever the row."""
    spec = tiny_moe(d_ff=4, n_experts=n_experts, top_k=top_k)
    layer = layer_of(spec, scores="sigmoid")
    return layer.pulled(pull * np.linspace(1.0, -1.0, n_experts))


def steer(
    layer: MoeLayer, *, steps: int = 60, speed: float = 0.02, n_rows: int = 256
) -> Steered:
    """Nudge a bias by ``speed`` after each batch of fresh rows.

    Raises:
        ValueError: the speed is negative or no finite number.
    """
    at_least("speed", speed, 0)
    bias, found = np.zeros(layer.spec.n_experts), []
    for step in range(steps):
        chosen, _ = layer.pulled(bias).route(batch(n_rows, seed=step))
        rows = rows_of_experts(chosen, layer.spec.n_experts)
        found.append(balance(rows))
        bias -= speed * np.sign(rows - rows.mean())
    return Steered(tuple(found), bias)
