"""Bytes on the ledger of ranks that really exchange rows, and loads of a hot one."""

from __future__ import annotations

import random
from itertools import combinations
from statistics import fmean

import numpy as np

from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.collectives import Rank, run
from llmserve_lab.collectives.group import group
from llmserve_lab.moe import formulas as f
from llmserve_lab.moe.layer import batch, layer_of
from llmserve_lab.moe.parallel import pack, sliced
from llmserve_lab.moe.placement import contiguous
from llmserve_lab.transformer.arithmetic import Array, Integers
from tests.counted import Case, counts
from tests.moe.small import FLOAT

WIDTH = 4


def routings(ep: int, per_rank: int, top_k: int) -> list[tuple[int, ...]]:
    """Every way in which a row can choose k different experts, as many on each rank."""
    return list(combinations(range(ep * per_rank), top_k))


def group_of(rng: random.Random) -> tuple[dict[str, int], list[tuple[int, ...]]]:
    """A few ranks with a few experts each, and every way to choose among them."""
    ep, per_rank = rng.randint(2, 4), rng.randint(1, 3)
    top_k = rng.randint(1, min(4, ep * per_rank))
    values = {"ep": ep, "n_experts": ep * per_rank, "top_k": top_k}
    return values, routings(ep, per_rank, top_k)


def packed(values: dict[str, int], ways: list[tuple[int, ...]]) -> int:
    """Parcels that the router's choices become: one for each rank of a row."""
    chosen = np.array(ways)
    where = contiguous(values["n_experts"], values["ep"])
    return len(pack(chosen, np.ones(chosen.shape), where, copies="rank").rows)


@counts(f.ROW_COPIES, by="executed")
def row_copies(rng: random.Random) -> Case:
    """All choices of different experts, packed as for the exchange."""
    values, ways = group_of(rng)
    return Case(dict(values), packed(values, ways) / len(ways))


@counts(f.ROW_OUT_BYTES, by="executed")
def row_out_bytes(rng: random.Random) -> Case:
    values, ways = group_of(rng)
    row = np.zeros(rng.randint(1, 9))
    sent = np.tile(row, (packed(values, ways), 1)).nbytes
    more = {"d_model": row.size, "bytes_act": FLOAT}
    return Case({**values, **more}, sent / len(ways))


def dispatched(rank: Rank, chosen: Integers, n_experts: int) -> None:
    """One rank's rows to where their experts are, and answers back."""
    weight = np.ones(chosen.shape)
    parcels = pack(chosen, weight, contiguous(n_experts, rank.num_ranks), copies="rank")
    rows = np.zeros((len(parcels.rows), WIDTH))
    arrived, came = rank.all_to_all(rows, parcels.counts)
    rank.all_to_all(arrived, came)


@counts(f.EP_BYTES, by="executed")
def ep_bytes(rng: random.Random) -> Case:
    """Every rank has one row for each way to choose different experts."""
    values, ways = group_of(rng)
    ep, n_experts = values["ep"], values["n_experts"]
    ledger = run(dispatched, ep, np.array(ways), n_experts).ledger
    more = {"d_model": WIDTH, "bytes_act": FLOAT, "n_rows": ep * len(ways)}
    return Case({**values, **more}, ledger.sent_bytes() / ep)


def cut_experts(ep: int, n_rows: int, rng: random.Random) -> float:
    """Bytes that leave rank 0 when every expert is sliced; so many for each half."""
    spec = MoeFfn(
        d_ff=2 * ep, n_experts=3, n_shared=1, top_k=2, n_dense_layers=0, d_ff_dense=1
    )
    layer = layer_of(spec, d_model=WIDTH, seed=rng.randint(0, 9))
    rows = batch(n_rows, d_model=WIDTH)
    return run(sliced, ep, rows, layer).ledger.sent_bytes(rank=0)


@counts(f.FFN_TP_BYTES, by="executed")
def ffn_tp_bytes(rng: random.Random) -> Case:
    ep = rng.choice((1, 2, 4))
    n_rows = ep * rng.randint(1, 3)
    values = {"ep": ep, "n_rows": n_rows, "d_model": WIDTH, "bytes_act": FLOAT}
    return Case(dict(values), cut_experts(ep, n_rows, rng))


@counts(f.TP_BLOCK_BYTES, by="executed")
def tp_block_bytes(rng: random.Random) -> Case:
    """The sum after attention is as wide as that after the experts."""
    ep = rng.choice((1, 2, 4))
    n_rows = ep * rng.randint(1, 3)
    values = {"ep": ep, "n_rows": n_rows, "d_model": WIDTH, "bytes_act": FLOAT}
    halves = [cut_experts(ep, n_rows, rng) for _ in ("attention", "experts")]
    return Case(dict(values), sum(halves))


def around_attention(rank: Rank, tp: int, rows: Array) -> None:
    team = group(rank, tp)
    team.reduce_scatter(team.all_gather(rows, axis=0), axis=0)


@counts(f.SP_BYTES, by="executed")
def sp_bytes(rng: random.Random) -> Case:
    tp, teams, per_rank = rng.choice((1, 2, 4)), rng.randint(1, 2), rng.randint(1, 3)
    ep = tp * teams
    ledger = run(around_attention, ep, tp, np.ones((per_rank, WIDTH))).ledger
    values = {"ep": ep, "tp": tp, "n_rows": per_rank * ep}
    values |= {"d_model": WIDTH, "bytes_act": FLOAT}
    return Case(dict(values), ledger.sent_bytes(rank=0))


@counts(f.COMPOSED_BYTES, by="executed")
def composed_bytes(rng: random.Random) -> Case:
    """Around attention in teams of two, then around two experts on each rank."""
    tp, ep, n_experts, top_k = 2, 4, 8, rng.randint(1, 3)
    ways = np.array(routings(ep, n_experts // ep, top_k))

    def block(rank: Rank) -> None:
        around_attention(rank, tp, np.ones((len(ways), WIDTH)))
        dispatched(rank, ways, n_experts)

    values = {"ep": ep, "tp": tp, "top_k": top_k, "n_rows": ep * len(ways)}
    values |= {"d_model": WIDTH, "bytes_act": FLOAT, "n_experts": n_experts}
    return Case(dict(values), run(block, ep).ledger.sent_bytes() / ep)


def hot(rng: random.Random) -> tuple[dict[str, float], list[list[int]]]:
    """Ranks of all choices, by sender: some all on rank 0, the rest in rounds.

    A row makes as many choices as divide them; which row makes which does not matter.
    """
    ep, drawn, rounds = rng.randint(1, 4), rng.randint(0, 5), rng.randint(1, 3)
    sender = [0] * drawn + list(range(ep)) * rounds
    values: dict[str, float] = {"ep": ep, "hot_share": drawn / len(sender)}
    top_k = rng.choice([k for k in (1, 2, 3, 4) if len(sender) % k == 0])
    values |= {"n_rows": ep * len(sender) / top_k, "top_k": top_k}
    return values, [sender] * ep


def sent(rank: Rank, chosen: list[int]) -> tuple[tuple[int, ...], int]:
    """One rank's choices, a parcel for each, to the ranks that hold the experts."""
    wanted, ep = np.array(chosen)[:, None], rank.num_ranks
    parcels = pack(wanted, np.ones(wanted.shape), contiguous(ep, ep), copies="expert")
    rows = np.zeros((len(wanted), WIDTH))
    arrived, _ = rank.all_to_all(rows[parcels.rows], parcels.counts)
    return parcels.counts, len(arrived)


def exchanged(
    rng: random.Random,
) -> tuple[dict[str, float], list[tuple[int, ...]], list[int]]:
    """Settings; parcels from each rank to each, and those that arrive at each."""
    values, senders = hot(rng)
    done = run(lambda rank: sent(rank, senders[rank.index]), len(senders))
    counts, came = zip(*done.results, strict=True)
    return values, list(counts), list(came)


@counts(f.BUSIEST_ROWS, by="executed")
def busiest_rows(rng: random.Random) -> Case:
    values, _, came = exchanged(rng)
    return Case(values, max(came))


@counts(f.BALANCEDNESS, by="executed")
def balancedness(rng: random.Random) -> Case:
    values, _, came = exchanged(rng)
    del values["n_rows"], values["top_k"]
    return Case(values, fmean(came) / max(came))


@counts(f.HOT_BYTES, by="executed")
def hot_bytes(rng: random.Random) -> Case:
    values, parcels, _ = exchanged(rng)
    row = np.zeros(WIDTH)
    return Case(
        values | {"d_model": WIDTH, "bytes_act": FLOAT}, parcels[-1][0] * row.nbytes
    )


@counts(f.COLD_BYTES, by="executed")
def cold_bytes(rng: random.Random) -> Case:
    values, parcels, _ = exchanged(rng)
    others = parcels[0][1:]
    if not others:  # there is no other: what was not drawn here would stay
        values["hot_share"] = 1.0
    row = np.zeros(WIDTH)
    size = {"d_model": WIDTH, "bytes_act": FLOAT}
    return Case(values | size, sum(others[:1]) * row.nbytes)
