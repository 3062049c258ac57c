"""Expert parallelism: rows travel to the weights (dispatch) and back (combine).

Route, dispatch, local experts, combine. A row goes out either once for every expert it
was sent to, as the article tells it, or once for every rank that holds one of them;
then that rank adds up before it answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from llmserve_lab.checks import one_of
from llmserve_lab.collectives import Ledger, Rank, run
from llmserve_lab.moe.layer import MoeLayer
from llmserve_lab.moe.placement import Placement, contiguous
from llmserve_lab.transformer.arithmetic import Array, Integers
from llmserve_lab.transformer.shard import COLUMNS, ROWS, piece

Copies = Literal["expert", "rank"]


@dataclass(frozen=True)
class Parcels:
    """What one rank sends out, in the order of the ranks it goes to.

    Parcel i is row ``rows[i]``; ``gates[i]`` [E] are the weights of the experts that
    are asked for, 0 for all others, and ``counts`` how many parcels each rank gets.
    ``scale[i]`` is what the answer counts when it comes back.
    """

    rows: Integers
    gates: Array
    counts: tuple[int, ...]
    scale: Array


def pack(
    chosen: Integers, weight: Array, placement: Placement, *, copies: Copies
) -> Parcels:
    """Sort what the router said, [n, k] twice, into parcels for ranks.

    Raises:
        ValueError: ``copies`` is neither "expert" nor "rank".
    """
    one_of("copies", copies, Copies)
    if not chosen.ndim == weight.ndim == 2:
        raise ValueError(f"chosen and weight must be [n, k], got {chosen}, {weight}")
    wanted: dict[tuple[int, int, int], dict[int, float]] = {}
    for row, experts in enumerate(chosen.tolist()):
        for rank_in_row, expert in enumerate(experts):
            rank = placement.rank_of(expert, row)
            # With copies="rank" all experts of a row on one rank fall under one key,
            # and the row travels there once.
            alone = expert if copies == "expert" else -1
            asked = wanted.setdefault((rank, row, alone), {})
            asked[expert] = float(weight[row, rank_in_row])
    # Sorted by rank: an all-to-all takes one stack of rows cut by counts.
    ordered = sorted(wanted)
    gates = np.zeros((len(ordered), len(placement.homes)))
    scale = np.ones(len(ordered))
    for parcel, key in enumerate(ordered):
        for expert, value in wanted[key].items():
            gates[parcel, expert] = 1.0 if copies == "expert" else value
            scale[parcel] = value if copies == "expert" else 1.0
    ranks = [key[0] for key in ordered]
    counts = np.bincount(np.array(ranks, dtype=int), minlength=placement.num_ranks)
    rows = np.array([key[1] for key in ordered], dtype=np.int64)
    return Parcels(rows, gates, tuple(map(int, counts)), scale)


def local_experts(layer: MoeLayer, rows: Array, gates: Array) -> Array:
    """Rows [m, d] that have arrived, through the experts that their gates ask for."""
    out = np.zeros_like(rows)
    for expert in map(int, np.flatnonzero(gates.any(axis=0))):
        asked = np.flatnonzero(gates[:, expert])
        out[asked] += gates[asked, expert, None] * layer.expert(expert, rows[asked])
    return out


@dataclass(frozen=True)
class Exchange:
    """What one rank chose, sent and was sent: the log of one layer.

    ``chosen`` and ``weight`` [n, k] are the router's; ``arrived`` are the gates [m, E]
    of the copies that came, ``came`` how many came from each rank.
    """

    chosen: Integers
    weight: Array
    parcels: Parcels
    arrived: Array
    came: tuple[int, ...]


def exchange(
    rank: Rank, rows: Array, layer: MoeLayer, placement: Placement, copies: Copies
) -> tuple[Array, Exchange]:
    """This rank's rows [n, d] → [n, d], through experts on all ranks, and the log."""
    chosen, weight = layer.route(rows)
    parcels = pack(chosen, weight, placement, copies=copies)
    # dispatch: which experts each copy is for, then the copies themselves
    gates, _ = rank.all_to_all(parcels.gates, parcels.counts)
    sent, came = rank.all_to_all(rows[parcels.rows], parcels.counts)
    # experts: this rank's own, on all that has come
    done = local_experts(layer, sent, gates)
    # combine: answers go home, are weighted and added up
    answers, _ = rank.all_to_all(done, came)
    out = layer.shared(rows)
    # Not out[rows] += …: a row comes back several times, and that would add it once.
    np.add.at(out, parcels.rows, parcels.scale[:, None] * answers)
    return out, Exchange(chosen, weight, parcels, gates, tuple(map(int, came)))


def expert_parallel(
    rank: Rank,
    rows: Array,
    layer: MoeLayer,
    placement: Placement,
    copies: Copies = "expert",
) -> Array:
    """This rank's rows [n, d] → [n, d], through experts on all ranks.

    All ranks call it, each with rows of its own, as many as it likes.
    """
    return exchange(rank, rows, layer, placement, copies)[0]


def sliced(rank: Rank, rows: Array, layer: MoeLayer) -> Array:
    """All rows [n, d] on every rank, which has a slice of every expert: TP.

    The partial sums of all experts are added up first, so one all-reduce is enough.
    """
    mine = {}
    for name, array in layer.weights.items():
        if name.startswith("router"):
            mine[name] = array
        else:
            axis = ROWS if name.endswith("down_proj") else COLUMNS
            mine[name] = piece(array, rank, axis=axis)
    return rank.all_reduce(replace(layer, weights=mine).sparse(rows))


@dataclass(frozen=True)
class ExecutedLayer:
    """Output of every rank, the calls of all, and the log of each rank's exchange."""

    outputs: tuple[Array, ...]
    ledger: Ledger
    exchanges: tuple[Exchange, ...] = ()

    @property
    def rows(self) -> Array:
        """The outputs of all ranks, one after the other."""
        return np.concatenate(self.outputs)


def execute(
    layer: MoeLayer,
    shares: Sequence[Array],
    *,
    placement: Placement | None = None,
    copies: Copies = "expert",
) -> ExecutedLayer:
    """Run the layer on one rank for each share of rows, [n_i, d] each.

    Raises:
        ValueError: the experts cannot be dealt out evenly, or the placement is for
            another number of experts.
    """
    where = placement or contiguous(layer.spec.n_experts, len(shares))
    if (placed := len(where.homes)) != layer.spec.n_experts:
        raise ValueError(
            f"placement must place the {layer.spec.n_experts} experts of the layer, "
            f"got {placed}"
        )

    def program(rank: Rank) -> tuple[Array, Exchange]:
        return exchange(rank, shares[rank.index], layer, where, copies)

    done = run(program, len(shares))
    outputs, exchanges = zip(*done.results, strict=True)
    return ExecutedLayer(outputs, done.ledger, exchanges)


def execute_sliced(layer: MoeLayer, rows: Array, *, num_ranks: int) -> ExecutedLayer:
    """Run the layer with a slice of every expert on each rank, all rows on each.

    Raises:
        ClusterError: experts are not as wide as a multiple of the ranks.
    """
    done = run(sliced, num_ranks, rows, layer)
    return ExecutedLayer(done.results, done.ledger)


def row_bytes(ledger: Ledger, d_model: int, *, rank: int | None = None) -> int:
    """Bytes of rows that leave a rank, or all, in all-to-alls; gates do not count."""
    calls = ledger.select("all_to_all", rank=rank)
    return sum(each.wire.sent_bytes for each in calls if each.shape[1] == d_model)
