"""What the verdict on GPUs depends on: assumptions changed alone and together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from llmserve_lab.afd import coupled, deployment, one_sided
from llmserve_lab.afd.page.comparison import (
    COPIES,
    DEVICES,
    GPUS,
    TIGHT_S,
    best,
    whole,
)
from llmserve_lab.afd.page.tables import NEVER
from llmserve_lab.page.table import Table

FASTER = 2.0  # times the bandwidth
TWICE: coupled.Off = (1.0, 1 / FASTER)
FREE: coupled.Off = (1.0, 1e-9)  # as good as no time on the wire
EVEN = 1.0  # the busiest FFN GPU gets no more than the mean


@dataclass(frozen=True)
class Changed:
    """Tokens/s of a GPU of the best split and the better group, one thing changed."""

    what: str
    split: float
    group: float

    @property
    def lead(self) -> float:
        """How much more the split makes; negative: less."""
        return self.split / self.group - 1


@cache
def as_is(gpu: str = DEVICES[0], tpot_s: float = TIGHT_S, **same: Any) -> Changed:
    """Both sides with the same assumptions, as everywhere."""
    split = best(gpu, tpot_s, **same).gpu_tokens_per_s(tpot_s)
    return Changed("", split, whole(gpu, tpot_s, **same).gpu_tokens_per_s)


def evener(gpu: str = DEVICES[0], tpot_s: float = TIGHT_S) -> float:
    """Rows of the best split's busiest FFN GPU over the mean, if loads even out.

    A GPU of the group has fewer experts; its factor is the book's.
    """
    return one_sided.evened(gpu, best(gpu, tpot_s).n_ffn, among=GPUS)


@cache
def one_side(
    shared: one_sided.Shared,
    *,
    busiest: float | None,
    gpu: str = DEVICES[0],
    tpot_s: float = TIGHT_S,
    **same: Any,
) -> Changed:
    """The split alone changed, beside what changes on both sides.

    Its busiest FFN GPU gets ``busiest`` times the mean (without it: as its experts even
    out), and the shared expert may compute elsewhere.
    """
    split = one_sided.best_one_sided(
        gpu, GPUS, tpot_s, busiest=busiest, shared=shared, **{"copies": COPIES} | same
    )
    group = whole(gpu, tpot_s, **same).gpu_tokens_per_s
    return Changed("", split.gpu_tokens_per_s(tpot_s), group)


def head_s(gpu: str = DEVICES[0]) -> float:
    """Seconds that reading the LM head takes longer in BF16, one batch.

    DeepSeek's checkpoint has it so; the twin reads a byte for each of its weights.
    """
    twin = coupled.group(gpu, GPUS)
    return twin.setup.params("lm_head") / float(twin.machine["read_rate"])


@cache
def with_head(gpu: str = DEVICES[0], tpot_s: float = TIGHT_S) -> Changed:
    """Both sides read the LM head in BF16, once for each batch in flight.

    So each has that much less time for all else.
    """
    more = head_s(gpu)
    splits = [
        _within(each.gpu_tokens_per_s, tpot_s, each.n_batches * more)
        for each in deployment.splits(gpu, GPUS, copies=COPIES)
    ]
    groups = [
        _within(_group_rate(gpu, halves=halves), tpot_s, (1 + halves) * more)
        for halves in (False, True)
    ]
    return Changed("", max(splits), max(groups))


def _within(rate: Callable[[float], float], tpot_s: float, more_s: float) -> float:
    """Rate of what has ``more_s`` less time than the target, at the target."""
    return rate(tpot_s - more_s) * (1 - more_s / tpot_s)


def _group_rate(gpu: str, *, halves: bool) -> Callable[[float], float]:
    def rate(tpot_s: float) -> float:
        made = coupled.arranged(gpu, GPUS, tpot_s, halves=halves, copies=COPIES)
        return made.gpu_tokens_per_s

    return rate


def cases() -> tuple[Changed, ...]:
    """What is changed, and both rates."""
    taken = 1 / coupled.group(DEVICES[0], GPUS).assumptions.balancedness
    node: dict[str, Any] = {"copies": "node"}
    faster: dict[str, Any] = node | {"off": TWICE}
    made = {
        "as above": as_is(),
        "split alone: FFN loads more even": one_side("rides along", busiest=None),
        "  and the shared expert with attention": one_side("attention", busiest=None),
        "split alone: a ninth copy for it": one_side("ninth copy", busiest=taken),
        "both: a row once to each node": as_is(**node),
        "  and the split's loads more even": one_side(
            "rides along", busiest=None, **node
        ),
        "  and its shared expert with attention": one_side(
            "attention", busiest=None, **node
        ),
        "both: twice the bandwidth": as_is(off=TWICE),
        "  and a row once to each node": as_is(**faster),
        "  and the split as in the last such row": one_side(
            "attention", busiest=None, **faster
        ),
        "  or with loads wholly even": one_side("rides along", busiest=EVEN, **faster),
        "both: no time on the wire": as_is(off=FREE),
        "both: LM head in BF16": with_head(),
    }
    return tuple(replace(each, what=what) for what, each in made.items())


def verdict_table() -> Table:
    """Table of the best split against the group, assumptions changed."""
    rows = [
        (
            each.what.replace("  ", "… "),
            f"{each.split:,.0f}",
            f"{each.group:,.0f}",
            f"{each.lead:+.0%}".replace("-", "−"),
        )
        for each in cases()
    ]
    columns = ("changed", "split", "group", "the split's lead")
    caption = "What the verdict depends on: tokens/s of a GPU"
    return Table(caption, columns, rows, band=NEVER)
