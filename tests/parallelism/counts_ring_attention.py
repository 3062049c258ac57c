"""Rings that really ran: their bytes and their pairs; and what attention stores."""

from __future__ import annotations

import random

from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.collectives import Ledger
from llmserve_lab.parallelism import formulas as f
from llmserve_lab.parallelism.context import ContextTurn, context_parallel
from llmserve_lab.parallelism.dealing import contiguous, pairs_of, zigzag
from llmserve_lab.transformer import Transformer, tiny_shape
from llmserve_lab.transformer.arithmetic import Integers
from llmserve_lab.transformer.shard import shape_of_share
from tests.counted import Case, counts

FLOAT = 8
HEADS = ((4, 4), (4, 2), (4, 1), (2, 1))


def model_of(rng: random.Random) -> tuple[Transformer, dict[str, float]]:
    """A small model, and its sizes by name."""
    n_heads, n_kv_heads = rng.choice(HEADS)
    shape = tiny_shape(
        n_layers=rng.randint(1, 3), n_heads=n_heads, n_kv_heads=n_kv_heads
    )
    spec = shape.attention
    assert isinstance(spec, GroupedQueryAttention)
    return Transformer(shape), {
        "n_layers": shape.n_layers,
        "n_heads": n_heads,
        "n_kv_heads": n_kv_heads,
        "d_head": spec.d_head,
    }


def turned(
    model: Transformer, prefix: int, new: int, ranks: int, method: str
) -> Ledger:
    """The ledger of the last turn of two: what both sent, less the first."""
    old, fresh = (1,) * prefix, (2,) * new
    turns = [ContextTurn(old)] if old else []
    last = ContextTurn(fresh, method)  # type: ignore[arg-type]
    whole = context_parallel(model, [*turns, last], ranks).ledger
    if not old:
        return whole
    before = len(context_parallel(model, turns, ranks).ledger.records[0])
    return Ledger(tuple(page[before:] for page in whole.records))


@counts(f.RING_KV_BYTES, by="executed")
def ring_kv_bytes(rng: random.Random) -> Case:
    (model, sizes), ranks = model_of(rng), rng.choice((1, 2, 4))
    prefix, new = (2 * ranks * rng.randint(least, 3) for least in (0, 1))
    sent = turned(model, prefix, new, ranks, "pass-KV").sent_bytes(rank=0)
    del sizes["n_heads"]
    sizes |= {"bytes_kv": FLOAT, "n_ranks": ranks, "batch": 1}
    return Case(sizes | {"context": prefix, "chunk": new}, sent)


@counts(f.RING_Q_BYTES, by="executed")
def ring_q_bytes(rng: random.Random) -> Case:
    (model, sizes), ranks = model_of(rng), rng.choice((1, 2, 4))
    prefix, new = (2 * ranks * rng.randint(least, 3) for least in (0, 1))
    sent = turned(model, prefix, new, ranks, "pass-Q").sent_bytes(rank=0)
    del sizes["n_kv_heads"]
    sizes |= {"bytes_act": FLOAT, "n_ranks": ranks, "batch": 1, "chunk": new}
    return Case(sizes, sent)


@counts(f.QUERY_BYTES_PER_TOKEN, by="executed")
def query_bytes_per_token(rng: random.Random) -> Case:
    """All that one new token makes leave, out and back, between two ranks."""
    model, sizes = model_of(rng)
    sent = turned(model, 0, 4, 2, "pass-Q").sent_bytes()
    del sizes["n_kv_heads"]
    return Case(sizes | {"bytes_act": FLOAT}, sent / 4)


@counts(f.MISS_SHARE, by="executed")
def miss_share(rng: random.Random) -> Case:
    """Bytes of a cached token and of a new one, sent by either method."""
    model, sizes = model_of(rng)
    kv = turned(model, 0, 4, 2, "pass-KV").sent_bytes()
    q = turned(model, 0, 4, 2, "pass-Q").sent_bytes()
    return Case(sizes | {"bytes_kv": FLOAT, "bytes_act": FLOAT}, kv / q)


@counts(f.BUSIEST, by="executed")
def busiest(rng: random.Random) -> Case:
    """Pairs that the ranks' masks let by while a model ran."""
    model, _ = model_of(rng)
    ranks = rng.choice((1, 2, 4))
    new = ranks * rng.randint(1, 4)
    turn = ContextTurn((1,) * new, "pass-KV", contiguous)
    outputs = context_parallel(model, [turn], ranks).results
    work = [sum(pairs for *_, pairs in each.pieces) for each in outputs]
    return Case({"n_rows": new, "n_ranks": ranks}, work[-1] * ranks / sum(work))


@counts(f.BUSIEST_ENDLESS, by="enumerated")
def busiest_endless(rng: random.Random) -> Case:
    """A prompt so long that its length no longer shows."""
    ranks = rng.randint(1, 8)
    work = [_triangle(each) for each in contiguous(ranks * 4, ranks)]
    return Case({"n_ranks": ranks}, work[-1] * ranks / sum(work))


def _triangle(places: Integers) -> float:
    """Area under the causal mask over places, each of width one, without a diagonal."""
    return pairs_of(places) - len(places) / 2


@counts(f.WIRE_RIDGE, by="enumerated")
def wire_ridge(rng: random.Random) -> Case:
    """FLOPs done in a second over bytes sent in it."""
    flops, sent = rng.randint(1, 99), rng.randint(1, 99)
    values = {
        "peak_flops": flops,
        "eff_compute": 0.5,
        "link_bw": sent,
        "eff_link": 0.25,
    }
    return Case(values, (flops / 2) / (sent / 4))


@counts(f.RING_ROWS, by="enumerated")
def ring_rows(rng: random.Random) -> Case:
    """Double the rows of two ranks until their pairs take as long as the block."""
    token_bytes, pair_flops = 2.0 ** rng.randint(0, 6), 2.0 ** rng.randint(0, 3)
    ridge = 2.0 ** rng.randint(0, 4)
    rows = 1
    while True:
        places = zigzag(4 * rows, 2)  # 2 · rows on each rank
        seen = (places[0][None] <= places[1][:, None]).sum()
        if seen * pair_flops >= 2 * rows * token_bytes * ridge:
            break
        rows *= 2
    values = {"kv_bytes_per_token": token_bytes, "attn_flops_per_pair": pair_flops}
    if seen * pair_flops > 2 * rows * token_bytes * ridge:
        return ring_rows(rng)  # it was not met exactly: another machine
    return Case(values | {"wire_ridge": ridge}, 2 * rows)


@counts(f.EVEN_TOKENS, by="executed")
def even_tokens(rng: random.Random) -> Case:
    """Tokens cached until the copies of the cache weigh what those of weights do."""
    ranks = rng.choice((4, 8))
    shape = tiny_shape(n_layers=1, n_heads=8, n_kv_heads=2, d_model=64)
    part = Transformer(shape_of_share(shape, ranks)).new_cache(1)
    whole = Transformer(shape).new_cache(1)
    attention = rng.randint(1, 999)
    extra_weights = sum(attention - attention / ranks for _ in range(ranks))
    extra_cache = ranks * part.capacity_bytes - whole.capacity_bytes
    values = {
        "attn_bytes": attention,
        "n_ranks": ranks,
        "kv_bytes_per_token": whole.capacity_bytes,
        "kv_copies": ranks * part.capacity_bytes / whole.capacity_bytes,
    }
    return Case(values, extra_weights / extra_cache)
