"""What the verdict on GPUs depends on: assumptions changed alone and together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
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
from llmserve_lab.afd.tuned_group import tuned_group
from llmserve_lab.page.table import Table

FASTER = 2.0  # times the rate of the network, starts of transfers included
TWICE: coupled.Off = (1.0, 1 / FASTER)
HALF: coupled.Off = (1.0, FASTER)
LONGER: coupled.Off = (1.0, 1.1)  # transfers
FREE: coupled.Off = (1.0, 1e-9)  # as good as no time on the wire
SENT = {"expert": "8 times", "node": "once a node"}
COLUMNS = ("a row is sent", "chosen", "split", "group", "lead")
RATES = ("split", "group", "lead")


@dataclass(frozen=True)
class Choices:
    """What each side may choose for itself.

    ``shared``: when, and in a split where, the shared expert runs. ``even``: loads even
    out with the experts of a GPU, so how many GPUs share them. ``outer``: where layers
    without experts and LM head run, which only a split can choose.
    """

    shared: bool = False
    even: bool = False
    outer: bool = False


ADDED: dict[str, Choices] = {
    "nothing": Choices(),
    "shared expert": Choices(shared=True),
    "+ number of GPUs": Choices(shared=True, even=True),
    "+ other layers": Choices(shared=True, even=True, outer=True),
}
EVERY = Choices(shared=True, even=True, outer=True)


@dataclass(frozen=True)
class Changed:
    """Tokens/s of a GPU of the best split and the better group, one thing changed.

    ``split_words`` and ``group_words`` say which they are: GPUs, batches, requests.
    """

    split: float
    group: float
    split_words: str = ""
    group_words: str = ""

    @property
    def lead(self) -> float:
        """How much more the split makes; negative: less."""
        return self.split / self.group - 1

    @property
    def cells(self) -> tuple[str, str, str]:
        """Both rates and the lead, as the tables print them."""
        lead_words = f"{self.lead:+.0%}".replace("-", "−")
        rates = (
            (self.split, self.split_words),
            (self.group, self.group_words),
        )
        split, group = (
            f"{rate:,.0f}" + f" ({words})" * bool(words) for rate, words in rates
        )
        return split, group, lead_words


@cache
def as_is(gpu: str = DEVICES[0], tpot_s: float = TIGHT_S, **same: Any) -> Changed:
    """Both sides with the same assumptions, as everywhere."""
    split = best(gpu, tpot_s, **same).gpu_tokens_per_s(tpot_s)
    group = whole(gpu, tpot_s, **same).gpu_tokens_per_s
    return Changed(split, group)


@cache
def by_choices(
    chosen: Choices, gpu: str = DEVICES[0], tpot_s: float = TIGHT_S, **same: Any
) -> Changed:
    """The best split and the best group, each with what it may choose."""
    options = {"copies": COPIES} | same
    places: tuple[one_sided.Shared, ...] = ("rides along", "attention")
    outer: tuple[one_sided.Outer, ...] = ("attention", "FFN")
    splits = (
        one_sided.best_one_sided(
            gpu, GPUS, tpot_s, busiest=None if chosen.even else taken(gpu),
            shared=place, outer=where, **options,
        )
        for place, where in product(
            places[: 1 + chosen.shared], outer[: 1 + chosen.outer]
        )
    )  # fmt: skip
    split = max(splits, key=lambda each: each.gpu_tokens_per_s(tpot_s))
    group = tuned_group(
        gpu, GPUS, tpot_s, shared=chosen.shared, even=chosen.even, **options
    )
    words = f"{split.name}, {split.n_batches} × {split.batch_at(tpot_s)}"
    rate = split.gpu_tokens_per_s(tpot_s)
    return Changed(rate, group.gpu_tokens_per_s, words, group.words)


def taken(gpu: str = DEVICES[0]) -> float:
    """Rows of the group's busiest GPU over the mean, in this book."""
    return 1 / coupled.group(gpu, GPUS).assumptions.balancedness


def evener(gpu: str = DEVICES[0], tpot_s: float = TIGHT_S) -> float:
    """Rows of the best split's busiest FFN GPU over the mean, if loads even out.

    A GPU of the group has fewer experts; its factor is the book's.
    """
    return one_sided.evened(gpu, best(gpu, tpot_s).n_ffn, among=GPUS)


@cache
def own_copy(gpu: str = DEVICES[0], tpot_s: float = TIGHT_S) -> Changed:
    """A split whose rows have a copy of their own for the shared expert."""
    split = one_sided.best_one_sided(
        gpu, GPUS, tpot_s, busiest=taken(gpu), shared="ninth copy", copies=COPIES
    )
    return Changed(split.gpu_tokens_per_s(tpot_s), whole(gpu, tpot_s).gpu_tokens_per_s)


def head_s(gpu: str = DEVICES[0]) -> float:
    """Seconds that reading the LM head takes longer in BF16, one batch.

    DeepSeek's checkpoint has it so; the twin reads a byte for each of its weights.
    """
    twin = coupled.group(gpu, GPUS)
    return twin.setup.params("lm_head") / float(twin.machine["read_rate"])


@cache
def with_head(gpu: str = DEVICES[0], tpot_s: float = TIGHT_S) -> Changed:
    """Both sides read the LM head in BF16, once for each batch in flight."""
    more = head_s(gpu)
    return _with_less(lambda n_batches: n_batches * more, gpu, tpot_s)


@cache
def without_host(gpu: str = DEVICES[0], tpot_s: float = TIGHT_S) -> Changed:
    """Neither side waits for the host CPU between two steps."""
    host = coupled.group(gpu, GPUS).assumptions.host_s
    return _with_less(lambda _: -host, gpu, tpot_s)


def _with_less(more_s: Callable[[int], float], gpu: str, tpot_s: float) -> Changed:
    """Both sides spend ``more_s`` of their batches in flight on something else.

    So each has that much less time for all the rest.
    """
    splits = [
        _within(each.gpu_tokens_per_s, tpot_s, more_s(each.n_batches))
        for each in deployment.splits(gpu, GPUS, copies=COPIES)
    ]
    groups = [
        _within(_group_rate(gpu, halves=halves), tpot_s, more_s(1 + halves))
        for halves in (False, True)
    ]
    return Changed(max(splits), max(groups))


def _within(rate: Callable[[float], float], tpot_s: float, more_s: float) -> float:
    """Rate of what has ``more_s`` less time than the target, at the target."""
    return rate(tpot_s - more_s) * (1 - more_s / tpot_s)


def _group_rate(gpu: str, *, halves: bool) -> Callable[[float], float]:
    def rate(tpot_s: float) -> float:
        made = coupled.arranged(gpu, GPUS, tpot_s, halves=halves, copies=COPIES)
        return made.gpu_tokens_per_s

    return rate


def cases() -> tuple[Changed, ...]:
    """Each way to send rows, with more and more that both sides may choose."""
    return tuple(
        by_choices(chosen, copies=copies)
        for copies in SENT
        for chosen in ADDED.values()
    )


def others() -> dict[str, Changed]:
    """What else was changed, by what it is: rows once to a node, one side.

    Changes of both sides with a copy for each expert are in
    :mod:`llmserve_lab.afd.page.variants`.
    """
    faster: dict[str, Any] = {"copies": "node", "off": TWICE}
    return {
        "both: twice as fast, a row once to each node": as_is(**faster),
        "the same, every choice free": by_choices(EVERY, **faster),
        "split alone: no waiting for the host": Changed(
            without_host().split, as_is().group
        ),
        "split alone: its shared expert needs a copy of its own": own_copy(),
    }


@cache
def slower_node() -> Changed:
    """Every choice free and rows once to each node, transfers a tenth longer."""
    return by_choices(EVERY, copies="node", off=LONGER)


def verdict_table() -> Table:
    """Table of the best split against the best group, choices added one by one."""
    labels = product(SENT.values(), ADDED)
    rows = [(*each, *case.cells) for each, case in zip(labels, cases(), strict=True)]
    caption = "What the verdict depends on: tokens/s of a GPU at 50 ms per token"
    notes = (
        "3 × 64: three batches of 64 requests on each Attention GPU. 51 + 51: a "
        "group's halves, priced as two equal ones.",
    )
    return Table(caption, COLUMNS, rows, notes=notes, band=NEVER, row_headers=False)


def leads_table() -> Table:
    """Table of the leads alone: choices added one by one, both ways to send."""
    leads = [case.cells[-1] for case in cases()]
    rows = [*zip(ADDED, leads[: len(ADDED)], leads[len(ADDED) :], strict=True)]
    caption = (
        "The split's lead at 50 ms; each row lets both sides choose one thing more"
    )
    columns = ("chosen", "a row 8 times", "once a node, a bound")
    return Table(caption, columns, rows, band=NEVER)


def others_table() -> Table:
    """Table of the best split against the group, other assumptions changed."""
    rows = [
        (what.strip(), f"{each.split:,.0f}", f"{each.group:,.0f}", each.cells[-1])
        for what, each in others().items()
    ]
    caption = "Other assumptions: tokens/s of a GPU at 50 ms per token"
    return Table(caption, ("changed", *RATES), rows, band=NEVER)
