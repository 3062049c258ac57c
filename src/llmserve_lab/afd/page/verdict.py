"""What the verdict on GPUs depends on: assumptions changed alone and together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
SENT = {"expert": "8 times", "node": "once a node"}
ON = {
    "attention": "Attention GPUs",
    "FFN": "FFN GPUs",
    "rides along": "FFN GPUs",
    "ninth copy": "FFN GPUs, its own copy",
}
COLUMNS = ("rows sent", "split's loads", "shared expert", "dense, LM head")
RATES = ("split", "group", "lead")


@dataclass(frozen=True)
class Changed:
    """Tokens/s of a GPU of the best split and the better group, one thing changed.

    ``rows``, ``loads``, ``shared`` and ``outer`` are what is assumed, in words.
    """

    split: float
    group: float
    rows: str = SENT["expert"]
    loads: str = ""
    shared: str = ON["rides along"]
    outer: str = ON["attention"]

    @property
    def lead(self) -> float:
        """How much more the split makes; negative: less."""
        return self.split / self.group - 1

    @property
    def cells(self) -> tuple[str, ...]:
        """As the tables print it."""
        lead = f"{self.lead:+.0%}".replace("-", "−")
        assumed = (self.rows, self.loads, self.shared, self.outer)
        return (*assumed, f"{self.split:,.0f}", f"{self.group:,.0f}", lead)


@cache
def as_is(gpu: str = DEVICES[0], tpot_s: float = TIGHT_S, **same: Any) -> Changed:
    """Both sides with the same assumptions, as everywhere."""
    split = best(gpu, tpot_s, **same).gpu_tokens_per_s(tpot_s)
    group = whole(gpu, tpot_s, **same).gpu_tokens_per_s
    sent = SENT[same.get("copies", COPIES)]
    return Changed(split, group, rows=sent, loads=f"{taken():.2f}")


def taken(gpu: str = DEVICES[0]) -> float:
    """Rows of the group's busiest GPU over the mean, in this book."""
    return 1 / coupled.group(gpu, GPUS).assumptions.balancedness


def evener(gpu: str = DEVICES[0], tpot_s: float = TIGHT_S) -> float:
    """Rows of the best split's busiest FFN GPU over the mean, if loads even out.

    A GPU of the group has fewer experts; its factor is the book's.
    """
    return one_sided.evened(gpu, best(gpu, tpot_s).n_ffn, among=GPUS)


@cache
def one_side(
    *,
    busiest: float | None = None,
    shared: one_sided.Shared = "rides along",
    outer: one_sided.Outer = "attention",
    gpu: str = DEVICES[0],
    tpot_s: float = TIGHT_S,
    **same: Any,
) -> Changed:
    """The split alone changed, beside what changes on both sides.

    Its busiest FFN GPU gets ``busiest`` times the mean (without it: as its experts even
    out), and the shared expert and the layers without experts may compute elsewhere.
    """
    options = {"copies": COPIES} | same
    split = one_sided.best_one_sided(
        gpu, GPUS, tpot_s, busiest=busiest, shared=shared, outer=outer, **options
    )
    return Changed(
        split.gpu_tokens_per_s(tpot_s),
        whole(gpu, tpot_s, **same).gpu_tokens_per_s,
        rows=SENT[options["copies"]],
        loads=f"{split.busiest:.2f}",
        shared=ON[shared],
        outer=ON[outer],
    )


@cache
def freest(gpu: str = DEVICES[0], tpot_s: float = TIGHT_S, **same: Any) -> Changed:
    """The split alone with more even loads, and its work where it does best."""
    places: tuple[one_sided.Shared, ...] = ("rides along", "attention")
    found = (
        one_side(shared=each, outer="FFN", gpu=gpu, tpot_s=tpot_s, **same)
        for each in places
    )
    return max(found, key=lambda each: each.split)


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
    return Changed(max(splits), max(groups), loads=f"{taken():.2f}")


def _within(rate: Callable[[float], float], tpot_s: float, more_s: float) -> float:
    """Rate of what has ``more_s`` less time than the target, at the target."""
    return rate(tpot_s - more_s) * (1 - more_s / tpot_s)


def _group_rate(gpu: str, *, halves: bool) -> Callable[[float], float]:
    def rate(tpot_s: float) -> float:
        made = coupled.arranged(gpu, GPUS, tpot_s, halves=halves, copies=COPIES)
        return made.gpu_tokens_per_s

    return rate


def cases() -> tuple[Changed, ...]:
    """What a split may do better than a group, one thing after another."""
    node: dict[str, Any] = {"copies": "node"}
    return (
        as_is(),
        one_side(shared="attention"),
        freest(),
        as_is(**node),
        one_side(**node),
        freest(**node),
    )


def others() -> dict[str, Changed]:
    """What else was changed, by what it is."""
    faster: dict[str, Any] = {"copies": "node", "off": TWICE}
    return {
        "split: loads more even": one_side(),
        "split: a copy of its own for the shared expert": one_side(
            busiest=taken(), shared="ninth copy"
        ),
        "both: twice the bandwidth": as_is(off=TWICE),
        "both: twice the bandwidth, a row once to each node": as_is(**faster),
        "the same; split: every choice free": freest(**faster),
        "both: no time on the wire": as_is(off=FREE),
        "the same; split: every choice free ": freest(off=FREE),
        "both: LM head in BF16": with_head(),
    }


def verdict_table() -> Table:
    """Table of the best split against the group: what only a split may do better."""
    rows = [each.cells for each in cases()]
    caption = "What the verdict depends on: tokens/s of a GPU at 50 ms per token"
    columns = (*COLUMNS, *RATES)
    return Table(caption, columns, rows, band=NEVER, row_headers=False)


def others_table() -> Table:
    """Table of the best split against the group, other assumptions changed."""
    rows = [(what.strip(), *each.cells[4:]) for what, each in others().items()]
    caption = "Other assumptions: tokens/s of a GPU at 50 ms per token"
    return Table(caption, ("changed", *RATES), rows, band=NEVER)
