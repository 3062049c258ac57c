"""A prefix computed once can be fetched: hot in HBM, warm in DRAM, cold on SSD.

Blocks of prompts are kept least recently used last; what falls out of one tier goes to
the next, and out of the last one it is gone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from llmserve_lab.catalog import Accelerator, ModelShape
from llmserve_lab.catalog.evidence.tiers import HOST_DRAM, NVME_SSD
from llmserve_lab.catalog.records.accelerator import MemoryLevel
from llmserve_lab.checks import UnknownKeyError
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.served import load, setting, value
from llmserve_lab.engine import Request
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import share
from llmserve_lab.workloads import made_up
from llmserve_lab.workloads.traces import MOONCAKE_BLOCK

NUM_REQUESTS = 1000


class TieredStore:
    """Blocks in tiers that hold ``capacities`` blocks each, the fastest first.

    Raises:
        ValueError: there is no tier, or one that holds less than nothing.
    """

    def __init__(self, capacities: Sequence[int]) -> None:
        if not capacities or min(capacities) < 0:
            raise ValueError(f"capacities must be 0 blocks or more, got {capacities}")
        self.capacities = tuple(capacities)
        self.tiers: list[OrderedDict[int, None]] = [OrderedDict() for _ in capacities]

    def find(self, block: int) -> int | None:
        """The tier that holds ``block``, or none."""
        held = (i for i, tier in enumerate(self.tiers) if block in tier)
        return next(held, None)

    def put(self, block: int) -> None:
        """Move ``block`` to the top of the fastest tier; others sink if there is none.

        A block that is new is put there too.
        """
        for tier in self.tiers:
            tier.pop(block, None)
        for tier, capacity in zip(self.tiers, self.capacities, strict=True):
            tier[block] = None
            if len(tier) <= capacity:
                return
            block, _ = tier.popitem(last=False)


@dataclass(frozen=True)
class Reuse:
    """Tokens of prompts: found in each tier, and computed because no tier had them."""

    found_tokens: tuple[int, ...]
    computed_tokens: int

    @property
    def share(self) -> float:
        """Share of all prompt tokens that were found."""
        found = sum(self.found_tokens)
        return found / (found + self.computed_tokens)


def replay(
    requests: Iterable[Request], *, capacities: Sequence[int], block_tokens: int
) -> Reuse:
    """Look up every prompt's blocks from its beginning until one is missing.

    The last token of a prompt is always computed: its logits are the answer's first.
    """
    store, found, computed = TieredStore(capacities), [0] * len(capacities), 0
    for each in requests:
        left, known = each.prompt_len, True
        for block in each.prefix:
            tier = store.find(block) if known else None
            known = tier is not None
            if tier is not None:
                tokens = min(block_tokens, left - 1)
                found[tier], left = found[tier] + tokens, left - tokens
        # Last block first, so that the beginning of a prompt is the most recent: a
        # prefix is of use only as long as all blocks before it are still there.
        for block in reversed(each.prefix):
            store.put(block)
        computed += left
    return Reuse(tuple(found), computed)


@cache
def _conversations() -> tuple[Request, ...]:
    return tuple(made_up(num_requests=NUM_REQUESTS)["mooncake"])


def reached(level: MemoryLevel) -> float:
    """Rate at which a tier is read: of its datasheet the share that links reach."""
    return float(level.bandwidth) * float(share().link)


def room_bytes(model: ModelShape, accelerator: Accelerator) -> float:
    """What the weights leave of the memory that the engine may use.

    Raises:
        ValueError: they leave nothing.
    """
    hbm_bytes, weight_bytes = float(accelerator.hbm_bytes), model.weight_bytes()
    if weight_bytes >= hbm_bytes:
        raise ValueError(
            f"model must be smaller than {accelerator.name} with "
            f"{si(hbm_bytes, 'byte')}, got {model.name} with {si(weight_bytes, 'byte')}"
        )
    known = setting(model, accelerator)
    return float(known["hbm_bytes"]) - float(known["weight_bytes"])


def gain(
    model: ModelShape, accelerator: Accelerator, tier: str, prefix_len: int
) -> float:
    """Time to compute a prefix over the time to fetch it from a tier by name.

    Raises:
        LookupError: there is no such tier.
    """
    for each in (HOST_DRAM, NVME_SSD):
        if each.name == tier:
            known = setting(model, accelerator) | load(prefix_len)
            return value(f.TIER_GAIN, known, tier_bw=reached(each))
    raise UnknownKeyError(f"tier must be DRAM or SSD, got {tier!r}")


def table(model: ModelShape, accelerator: Accelerator, *, prefix_len: int) -> Table:
    """Table of the tiers: what they hold, what was found there, and whether it pays.

    The prompts are those of made-up conversations; the gain is that of one prefix.

    Raises:
        ValueError: the weights leave no room on the accelerator.
    """
    known = setting(model, accelerator)
    block_bytes = MOONCAKE_BLOCK * float(known["kv_bytes_per_token"])
    hbm = MemoryLevel("HBM", accelerator.hbm_bytes, accelerator.hbm_bw)
    levels = (hbm, HOST_DRAM, NVME_SSD)
    held = [room_bytes(model, accelerator), *(float(t.bytes) for t in levels[1:])]
    capacities = [int(each // block_bytes) for each in held]
    reuse = replay(_conversations(), capacities=capacities, block_tokens=MOONCAKE_BLOCK)
    total = sum(reuse.found_tokens) + reuse.computed_tokens
    rows = []
    for tier, blocks, tokens in zip(
        levels, capacities, reuse.found_tokens, strict=True
    ):
        size, found = si(blocks * block_bytes, "byte"), f"{tokens / total:.1%}"
        if tier is hbm:
            rows.append((tier.name, size, found, "used in place", ""))
            continue
        gain = value(f.TIER_GAIN, known | load(prefix_len), tier_bw=reached(tier))
        rate = si(reached(tier), "byte/s")
        rows.append((tier.name, size, found, rate, f"{plain(gain, 2)}×"))
    rows.append(("nowhere", "", f"{reuse.computed_tokens / total:.1%}", "", ""))
    columns = ("found in", "holds", "tokens", "fetched at", "fetching beside computing")
    caption = (
        f"{model.name} on {accelerator.name}: where prompts are found, and the gain of "
        f"fetching {prefix_len:,} tokens"
    )
    return Table(caption, columns, rows)
