"""One group that may choose what a split may: where work is done, and among how many.

A split computes its shared expert where that is hidden, and chooses how many GPUs hold
the experts. So a group may compute its shared expert while a row's copies are away, and
its GPUs may be several smaller groups, each with all experts: a GPU that holds more of
them gets a more even load.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from llmserve_lab.afd import coupled, one_sided, shared_expert
from llmserve_lab.afd.deployment import NODE, sparse_layers
from llmserve_lab.checks import positive
from llmserve_lab.deepseek import formulas as df
from llmserve_lab.deepseek.model.setup import Numbers
from llmserve_lab.deepseek.model.step_model import Twin


@dataclass(frozen=True)
class TunedGroup:
    """Groups of ``n_gpus``, their batches in flight, requests in each; tokens/s."""

    n_gpus: int
    n_batches: int
    batch: float
    gpu_tokens_per_s: float

    @property
    def words(self) -> str:
        """``96: 52 + 53``: whole requests, though halves are priced as equal."""
        first = int(self.batch)
        rest = round(self.n_batches * self.batch) - first
        return f"{self.n_gpus}: {first}" + f" + {rest}" * (self.n_batches > 1)


@cache
def tuned_group(
    gpu: str,
    n_gpus: int,
    tpot_s: float,
    *,
    shared: bool,
    even: bool,
    copies: coupled.Copies = "expert",
    off: coupled.Off = coupled.AS_IS,
) -> TunedGroup:
    """The best of one batch and two halves, at every size that is allowed.

    ``shared``: the shared expert may run while copies are away. ``even``: loads even
    out with the experts of a GPU, so ``n_gpus`` may be several groups of whole nodes.

    Raises:
        ValueError: the target is not positive and finite.
    """
    positive("tpot_s", tpot_s)
    sizes = _sizes(gpu, n_gpus) if even else (n_gpus,)
    found = (
        _at(_twin(gpu, size, n_gpus, how, off), tpot_s, copies, shared=shared)
        for size, how in product(sizes, ("none", coupled.HALVES["free"]))
    )
    return max(found, key=lambda one: one.gpu_tokens_per_s)


def _sizes(gpu: str, n_gpus: int) -> tuple[int, ...]:
    """Sizes of equal groups of whole nodes whose weights fit; first that of one."""
    nodes = n_gpus // NODE
    sizes = [n_gpus // parts for parts in range(1, nodes + 1) if nodes % parts == 0]
    twins = {size: coupled.group(gpu, size) for size in sizes}
    return tuple(n for n, at in twins.items() if at.resident_bytes() < at.room_bytes())


def _twin(gpu: str, size: int, n_gpus: int, how: str, off: coupled.Off) -> Twin:
    """The twin of one of the groups, its loads as even as its experts make them."""
    twin = coupled.group(gpu, size, how, off=off)
    if size == n_gpus:
        return twin
    share = 1 / one_sided.evened(gpu, size, among=n_gpus)
    return replace(twin, assumptions=replace(twin.assumptions, balancedness=share))


def _at(
    twin: Twin, tpot_s: float, copies: coupled.Copies, *, shared: bool
) -> TunedGroup:
    batches = coupled.BATCHES[: int(twin.batch_fits(coupled.CONTEXT))]
    known = twin.arguments(batch=batches, context=coupled.CONTEXT)
    known["dispatched_copies"] = coupled.copies_of_row(twin, copies)
    plain = coupled.step_s(twin, known)
    took = np.minimum(plain, apart_s(twin, known)) if shared else plain
    last = int(np.argmin(np.append(took <= tpot_s, False)))
    rate = float(last / took[last - 1]) if last else 0.0
    m = twin.n_batches
    return TunedGroup(twin.setup.n_gpus, m, last / m, rate)


def apart_s(twin: Twin, known: Numbers) -> Any:
    """Seconds of a step whose shared expert runs while its rows' copies are away.

    Of one batch: beside the way there. Of two halves: each half's in that phase of the
    other in which the step gets shortest.
    """
    known = twin.settled(known)
    rows, layers = known["batch"], sparse_layers(twin)
    alone = layers * shared_expert.alone_s(twin, rows)
    saved = layers * shared_expert.saved_s(twin, known, rows)
    there, back = coupled.transfers_s(twin, known)
    if twin.n_batches == 1:
        return coupled.step_s(twin, known) - saved + np.maximum(alone - there, 0)
    attn = df.ATTN_PHASE_S.reusing(known)
    ffn = df.MOE_PHASE_S.reusing(known) - saved
    # what GPUs do, and what travels beside it: attention of the second half, the FFN of
    # either, attention of the first half in the next layer
    phases = ((attn, there), (ffn, there), (ffn, back), (attn, back))
    # a half's copies are away during the three phases after its attention
    ways = product((0, 1, 2), (1, 2, 3))
    turns = (
        sum(
            np.maximum(work + alone * (own == at) + alone * (other == at), way)
            for at, (work, way) in enumerate(phases)
        )
        for own, other in ways
    )
    rest = twin.n_batches * df.OTHER_S.reusing(known) + known["host_s"]
    return np.min([*turns], axis=0) + rest
