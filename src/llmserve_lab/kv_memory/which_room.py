"""Which room: how many requests one H100 holds, by what is taken off its memory.

Pages of the book ask different questions of the same GPU. Each answer stands here with
its share of the memory, what is subtracted beside the weights, and where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from llmserve_lab import catalog
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE, VLLM_MAX_SEQS
from llmserve_lab.catalog.evidence.serving import BLOCK_COUNTS
from llmserve_lab.kv_memory.machine import (
    BLOCK,
    GRAPHS,
    SHARE_NOW,
    beside_bytes,
    slots_that_fit,
    working_bytes,
)
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import (
    ANSWER,
    PROMPT,
    cost,
    device,
    model,
    served_by,
)
from llmserve_lab.validation.cache_blocks import predicted, reserve
from llmserve_lab.validation.protocol import RESERVED

FIT_BYTES = float(RESERVED)  # that the simulator of the fitted servers sets aside
LARGE = "llama-3-70b"
FULL, MEAN = PROMPT + ANSWER, PROMPT + ANSWER // 2  # tokens held at the end, half way
SLOTS = int(VLLM_MAX_SEQS.value)  # vLLM's default on a large GPU


@dataclass(frozen=True, kw_only=True)
class Room:
    """Requests of ``tokens`` each that fit, and what the number assumes."""

    tokens: int
    share: float
    taken: str
    taken_bytes: float
    where: str
    slots_each: bool = False  # each request has a slot, whose room is taken off, too

    @property
    def requests(self) -> int:
        """Requests that fit in whole blocks, as many as there are slots at most."""
        if self.slots_each:
            share = SHARE_NOW if self.share == float(SHARE_NOW) else MEMORY_SHARE
            return slots_that_fit(_whole(self.tokens), share, self.taken_bytes)
        blocks = cost().kv_blocks(
            utilisation=self.share, block_tokens=BLOCK, reserved_bytes=self.taken_bytes
        )
        return blocks * BLOCK // _whole(self.tokens)


def _whole(tokens: int) -> int:
    """Tokens in whole blocks."""
    return -(-tokens // BLOCK) * BLOCK


def unpaged(share: float, tokens: int) -> int:
    """Requests that fit if no block is rounded up and nothing else is in memory."""
    left = share * float(device().usable_bytes) - model().weight_bytes()
    return int(left // (tokens * model().kv_bytes_per_token()))


def large_kept() -> float:
    """Bytes of a GPU that a server of Llama-3-70B on four of them kept free.

    Of the counted servers of this model, that with the default token budget.
    """
    (kept,) = (
        reserve(each)
        for each in BLOCK_COUNTS
        if (each.model.key, each.tp, each.budget) == (LARGE, 4, 8192)
    )
    return kept


def large_on_two() -> int:
    """Tokens that fit beside its weights on two GPUs if each keeps so much."""
    blocks = served_by(catalog.model("llama-3.1-70b"), device(), tp=2).kv_blocks(
        block_tokens=BLOCK, reserved_bytes=large_kept()
    )
    return blocks * BLOCK


def plain_error() -> float:
    """Mean error of the nine counts without the rule for slots."""
    return fmean(abs(each.error) for each in predicted())


def rooms() -> tuple[Room, ...]:
    """The numbers of the book for requests in whole blocks, the largest room first."""
    tenths, now, beside = float(MEMORY_SHARE), float(SHARE_NOW), float(beside_bytes())
    slots = working_bytes(SLOTS) + GRAPHS
    each = "working space with a slot each"
    return (
        Room(tokens=MEAN, share=now, taken=each, taken_bytes=0.0,
             where="Fewer bytes", slots_each=True),
        Room(tokens=FULL, share=tenths, taken="nothing", taken_bytes=0.0,
             where="Prefill/decode disaggregation"),
        Room(tokens=FULL, share=tenths, taken="working space", taken_bytes=beside,
             where="this page: few slots"),
        Room(tokens=FULL, share=now, taken=f"{each}, graphs", taken_bytes=GRAPHS,
             where="this page: slots to set", slots_each=True),
        Room(tokens=FULL, share=tenths, taken=each, taken_bytes=0.0,
             where="this page; Continuous batching, Speculative decoding",
             slots_each=True),
        Room(tokens=FULL, share=now, taken=f"that of {SLOTS:,} slots, graphs",
             taken_bytes=slots, where="all of vLLM's defaults"),
    )  # fmt: skip


def found(where: str) -> Room:
    """The room of a page.

    Raises:
        LookupError: no room is used there.
    """
    for each in rooms():
        if where in each.where:
            return each
    raise LookupError(f"where must be a place of the table, got {where!r}")


def table() -> Table:
    """Table of all of them, and of the two that count tokens without blocks."""
    rows = [
        (f"{unpaged(1.0, MEAN)}", f"{MEAN:,}", "100%", "nothing", "The roofline"),
        *(
            (f"{unpaged(each, tokens)}", f"{tokens:,}", f"{each:.0%}", "nothing", where)
            for each, tokens, where in (
                (float(SHARE_NOW), MEAN, "The roofline (fold)"),
                (float(SHARE_NOW), FULL - 1, "An LLM, end to end (fold)"),
            )
        ),
        *(
            (f"{each.requests}", f"{each.tokens:,}", f"{each.share:.0%}",
             each.taken, each.where)
            for each in rooms()
        ),
    ]  # fmt: skip
    columns = ("room for", "tokens each", "of memory", "taken off, too", "page")
    return Table(
        "Requests that fit beside Llama-3.1-8B on one H100, by what is counted",
        columns,
        rows,
        ("The first three count tokens, the others whole blocks.",),
    )
