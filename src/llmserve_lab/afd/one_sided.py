"""Splits that are not quite those of the comparison: what only a split could change.

The comparison gives both sides the same kernels and the same imbalance, and keeps the
shared expert on the FFN GPUs. Here a split may do otherwise; what a group may do is in
:mod:`llmserve_lab.afd.tuned_group`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np

from llmserve_lab.afd import coupled, deployment, shared_expert
from llmserve_lab.checks import at_least, one_of, positive
from llmserve_lab.deepseek.model.step_model import Twin

Shared = Literal["rides along", "ninth copy", "attention"]
Outer = Literal["attention", "FFN"]  # where the layers without experts are


@dataclass(frozen=True, kw_only=True)
class OneSided(deployment.Split):
    """A split whose busiest FFN GPU gets ``busiest`` times the mean of the rows.

    ``shared``: the shared expert works on one of a row's copies on the FFN GPUs
    (``rides along``), on one that is sent for it (``ninth copy``), or on the Attention
    GPUs while the row's copies are away (``attention``), where its weights and products
    go; its small kernels are left where they were.
    ``outer``: dense FFNs and LM head run on the Attention GPUs, or at best on the FFN
    GPUs, which wait there otherwise: a transfer there and back, and only the last
    batch's is waited for, as the others' runs while Attention GPUs work on the next.

    Raises:
        ValueError: ``busiest`` is below 1, ``shared`` or ``outer`` unknown.
    """

    busiest: float
    shared: Shared = "rides along"
    outer: Outer = "attention"

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("busiest", self.busiest, 1)
        one_of("shared", self.shared, Shared)
        one_of("outer", self.outer, Outer)

    @cached_property
    def twin(self) -> Twin:
        """The FFN GPUs as a group, loads as uneven as here."""
        made = super().twin
        even = replace(made.assumptions, balancedness=1 / self.busiest)
        return replace(made, assumptions=even)

    def layer_s(self, batch: Any) -> dict[str, Any]:
        """As of a split; ``shared`` is the shared expert's on an Attention GPU."""
        found = super().layer_s(batch)
        if self.outer == "FFN":
            once = found["rest"] + found["starts"]
            found |= {"rest": once / self.n_batches}
        return found | {"shared": self._shared_s(np.asarray(batch, np.float64))}

    def _shared_s(self, batch: Any) -> Any:
        """Seconds of the shared expert on an Attention GPU; none if it is not there."""
        if self.shared != "attention":
            return np.zeros_like(batch)
        return shared_expert.alone_s(self.twin, batch)

    def _ffn_s(self, twin: Twin, rows: Any) -> Any:
        every = super()._ffn_s(twin, rows)
        if self.shared != "attention":
            return every
        known = twin.settled(twin.arguments(batch=rows, context=self.context))
        return every - shared_expert.saved_s(twin, known, rows)

    def _copies(self, twin: Twin) -> float:
        # the ninth copy goes to any FFN GPU
        return super()._copies(twin) + (self.shared == "ninth copy")

    def _period_s(self, part: dict[str, Any]) -> Any:
        return np.maximum(super()._period_s(part), part["attn"] + part["shared"])


@cache
def best_one_sided(
    gpu: str,
    n_gpus: int,
    tpot_s: float,
    *,
    busiest: float | None,
    shared: Shared = "rides along",
    outer: Outer = "attention",
    **same: Any,
) -> OneSided:
    """The best of every way to split, with such FFN GPUs.

    Without ``busiest``, loads even out as a split's FFN GPUs have more experts each
    than those of one group of all GPUs.

    Raises:
        ValueError: the target is not positive, or an option is none.
    """
    positive("tpot_s", tpot_s)
    every = (
        OneSided(
            **_as(split),
            busiest=busiest or evened(gpu, split.n_ffn, among=n_gpus),
            shared=shared,
            outer=outer,
        )
        for split in deployment.splits(gpu, n_gpus, **same)
    )
    return max(every, key=lambda split: split.gpu_tokens_per_s(tpot_s))


def _as(split: deployment.Split) -> dict[str, Any]:
    return {each.name: getattr(split, each.name) for each in fields(split)}


def evened(gpu: str, n_ffn: int, *, among: int) -> float:
    """Rows of the busiest of ``n_ffn`` GPUs over the mean, by their experts each.

    The book's factor is taken to be that of one group of ``among`` GPUs.
    """
    more, fewer = (coupled.group(gpu, n).setup.local_experts(0) for n in (n_ffn, among))
    return busiest_of(more, gpu, among=fewer)


def busiest_of(n_experts: int, gpu: str, *, among: int) -> float:
    """Rows of the busiest GPU over the mean, if its experts are more than ``among``.

    What it gets too much falls with the root of their number, as if every expert's load
    were drawn alone. The book's factor is taken to be that of ``among`` experts.

    >>> round(busiest_of(12, "h100-sxm", among=3) - 1, 2)
    0.14
    """
    at_least("n_experts", n_experts, 1)
    at_least("among", among, 1)
    taken = 1 / coupled.group(gpu, deployment.NODE).assumptions.balancedness
    return float(1 + (taken - 1) * (among / n_experts) ** 0.5)
