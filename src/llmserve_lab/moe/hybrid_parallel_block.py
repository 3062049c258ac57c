"""One block under TP attention, DP rows and EP experts, executed on ranks.

Ranks form groups of ``tp``, each with a batch of its own. Between blocks a rank holds
some whole rows. Attention wants all rows of the batch, for its own heads: all-gather
before it, reduce-scatter after it. Experts want rows one by one: dispatch before them,
combine after them, over all groups at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.checks import whole
from llmserve_lab.collectives import Ledger, Rank, run
from llmserve_lab.collectives.group import group
from llmserve_lab.moe.layer import MoeLayer
from llmserve_lab.moe.parallel import Copies, expert_parallel
from llmserve_lab.moe.placement import Placement, contiguous
from llmserve_lab.page.table import Table
from llmserve_lab.transformer import (
    AttentionContext,
    Block,
    Packing,
    Weights,
    seeded,
    tiny_latent,
    tiny_shape,
)
from llmserve_lab.transformer.arithmetic import Array, Execution
from llmserve_lab.transformer.rowwise import norm
from llmserve_lab.transformer.shard import shape_of_share, shard

Arrays = Mapping[str, Array]
SMALL = tiny_shape(
    n_layers=1,
    attention=tiny_latent(),
    ffn=MoeFfn(
        d_ff=8, n_experts=16, n_shared=1, top_k=4, n_dense_layers=0, d_ff_dense=8
    ),
)
SOME, EVERY = "some rows, whole", "all rows, whole"
EXPERTS = "experts that its own rows are sent to"
HEADS, PART = "all rows, its own heads", "all rows, a part of every sum"


@dataclass(frozen=True)
class Held:
    """What a rank holds after a step: the shape of it, and what that is a piece of."""

    step: str
    shape: tuple[int, ...]
    layout: str


def moe_of(shape: ModelShape, layer: Arrays) -> MoeLayer:
    """The MoE half of a block's weights, scored as DeepSeek-V3 does.

    Raises:
        TypeError: the block has a dense FFN.
    """
    if not isinstance(shape.ffn, MoeFfn):
        raise TypeError(f"shape must have an MoE FFN, got that of {shape.name}")
    return MoeLayer(layer, shape.ffn, "sigmoid")


@cache
def weights_of(shape: ModelShape, seed: int = 0) -> Arrays:
    """Seeded weights of the first block; not to be written to."""
    return Weights(shape, seeded(shape, seed)).layer(0)


def view_of(n_rows: int) -> AttentionContext:
    """The rows are one request, from its first token on."""
    packing = Packing((0, n_rows), (0,))
    return AttentionContext(packing, packing.positions)


def uncut(rows: Array, shape: ModelShape = SMALL, seed: int = 0) -> Array:
    """Rows [n, d] of one batch through the whole block, on no rank at all."""
    whole = Block(shape=shape, router_scores="sigmoid")
    return whole(rows, weights_of(shape, seed), view_of(len(rows)))


@dataclass(frozen=True)
class Stage:
    """A rank among all, the same rank in its group, the block, and where experts live.

    ``copies`` says how rows go out, see :func:`llmserve_lab.moe.parallel.pack`.
    """

    rank: Rank
    team: Rank
    shape: ModelShape
    layer: Arrays
    placement: Placement
    copies: Copies

    def block(self, rows: Array) -> tuple[Array, list[Held]]:
        """This rank's rows [n/tp, d] → [n/tp, d], and what it held on the way."""
        log = [Held("start", rows.shape, SOME)]
        every = self.team.all_gather(rows, axis=0)
        log.append(Held("all-gather", every.shape, EVERY))
        # The reduce-scatter adds up the heads' shares and deals the rows out in one
        # step: an all-reduce would leave every rank with rows that it drops at once.
        part = self._attend(every, log)
        log.append(Held("output projection", part.shape, PART))
        rows = rows + self.team.reduce_scatter(part, axis=0)
        log.append(Held("reduce-scatter", rows.shape, SOME))
        normed = norm(rows, self.layer["post_attention_layernorm"])
        moe = moe_of(self.shape, self.layer)
        log.append(Held("router", moe.route(normed)[0].shape, EXPERTS))
        delta = expert_parallel(self.rank, normed, moe, self.placement, self.copies)
        log.append(Held("dispatch, experts, combine", delta.shape, SOME))
        return rows + delta, log

    def _attend(self, every: Array, log: list[Held]) -> Array:
        """All rows [n, d] → this rank's part of every sum, [n, d], by its heads."""

        def note(name: str, _axes: str, array: np.ndarray[Any, Any]) -> None:
            if name == "attention output":
                log.append(Held("attention", array.shape, HEADS))

        mine = shard(self.layer, self.shape, self.team)
        share = Block(shape=shape_of_share(self.shape, self.team.num_ranks))
        view = view_of(len(every))
        return share.attention_half(every, mine, view, run=Execution(note=note))


@dataclass(frozen=True)
class HybridRun:
    """Rows that left the block, by batch, what every rank held, what was exchanged."""

    outputs: tuple[Array, ...]
    steps: tuple[tuple[Held, ...], ...]
    ledger: Ledger

    @property
    def table(self) -> Table:
        """Table of the steps on the first rank and on the last."""
        first, last = self.steps[0], self.steps[-1]
        rows = [
            (one.step, _shown(one.shape), _shown(other.shape), one.layout)
            for one, other in zip(first, last, strict=True)
        ]
        columns = ("step", "rank 0", f"rank {len(self.steps) - 1}", "what that is")
        return Table(f"One block on {len(self.steps)} ranks", columns, rows)


def execute(
    batches: Sequence[Array],
    *,
    tp: int,
    shape: ModelShape = SMALL,
    seed: int = 0,
    copies: Copies = "expert",
) -> HybridRun:
    """One block: ``tp`` ranks for each batch [n_i, d], experts over all ranks.

    Raises:
        ValueError: ``tp`` is below 1, or does not divide the rows of a batch.
        ClusterError: heads or experts cannot; its cause says which.
    """
    slices = [part for batch in batches for part in _dealt(batch, tp)]

    def program(rank: Rank) -> tuple[Array, list[Held]]:
        layer = weights_of(shape, seed)
        where = contiguous(moe_of(shape, layer).spec.n_experts, rank.num_ranks)
        stage = Stage(rank, group(rank, tp), shape, layer, where, copies)
        return stage.block(slices[rank.index])

    done = run(program, len(slices))
    rows, steps = zip(*done.results, strict=True)
    outputs = [rows[i : i + tp] for i in range(0, len(rows), tp)]
    return HybridRun(
        tuple(map(np.concatenate, outputs)), tuple(map(tuple, steps)), done.ledger
    )


def all_reduced(rows: Array, *, num_ranks: int) -> Ledger:
    """What ranks exchange to add up rows [n, d], as a dense block ends its halves."""
    return run(lambda rank: rank.all_reduce(rows), num_ranks).ledger


def _dealt(batch: Array, tp: int) -> list[Array]:
    whole(tp=tp)
    if len(batch) % tp:
        raise ValueError(f"batch must have a multiple of {tp} rows, got {len(batch)}")
    return np.split(batch, tp)


def _shown(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))
