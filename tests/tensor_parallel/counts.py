"""What leaves a rank, counted by the ledger of blocks that really ran on ranks."""

from __future__ import annotations

import math
import random

import numpy as np

from llmserve_lab.collectives import Rank, run
from llmserve_lab.tensor_parallel import article, midhead
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.shard import kv_columns
from tests.counted import Case, counts
from tests.tensor_parallel.small import FLOAT, block_of, sizes


@counts(f.HIDDEN_BYTES, by="executed")
def hidden_bytes(rng: random.Random) -> Case:
    shape, n_rows = block_of(rng)
    rows = article.batch(shape, n_rows)
    values = sizes(f.HIDDEN_BYTES, shape, batch=1, chunk=n_rows)
    return Case(values, float(rows.nbytes))


@counts(f.GATHERED_TENSOR_BYTES, by="executed")
def gathered_tensor_bytes(rng: random.Random) -> Case:
    shape, n_rows = block_of(rng)
    done = article.execute("gathered", 2, article.batch(shape, n_rows), shape=shape)
    values = sizes(f.GATHERED_TENSOR_BYTES, shape, batch=1, chunk=n_rows)
    return Case(values, done.ledger.tensor_bytes(rank=0))


@counts(f.GATHERED_BYTES, by="executed")
def gathered_bytes(rng: random.Random) -> Case:
    return left("gathered", rng)


@counts(f.PAIRED_BYTES, by="executed")
def paired_bytes(rng: random.Random) -> Case:
    return left("paired", rng)


def left(strategy: str, rng: random.Random) -> Case:
    """Bytes that left a rank while it ran its part of a block."""
    (shape, n_rows), tp = block_of(rng), rng.choice((1, 2, 4))
    done = article.execute(strategy, tp, article.batch(shape, n_rows), shape=shape)
    formula = f.GATHERED_BYTES if strategy == "gathered" else f.PAIRED_BYTES
    values = sizes(formula, shape, batch=1, chunk=n_rows, n_ranks=tp)
    return Case(values, done.ledger.sent_bytes(rank=0))


@counts(f.PAIRED_SHARE, by="executed")
def paired_share(rng: random.Random) -> Case:
    (shape, n_rows), tp = block_of(rng), rng.choice((2, 4))
    rows = article.batch(shape, n_rows)
    sent = {
        name: article.execute(name, tp, rows, shape=shape).ledger.sent_bytes(rank=0)
        for name in ("paired", "gathered")
    }
    values = sizes(f.PAIRED_SHARE, shape)
    return Case(values, sent["paired"] / sent["gathered"])


def scores_sent(n_rows: int, d_model: int, n_heads: int) -> tuple[int, int]:
    """Tensor bytes of the all-reduce of scores, and of the one after the output."""
    rows = article.batch(n_rows=n_rows)[:, :d_model]
    weights = midhead.projections(d_model, n_heads)
    first, second = midhead.execute(2, rows, weights).ledger.records[0]
    return first.tensor_bytes, second.tensor_bytes


@counts(f.SCORE_BYTES, by="executed")
def score_bytes(rng: random.Random) -> Case:
    n_rows, n_heads = rng.randint(1, 9), rng.choice((1, 2, 4))
    values: dict[str, float] = {
        "bytes_act": FLOAT,
        "n_heads": n_heads,
        "batch": 1,
        "chunk": n_rows,
    }
    return Case(values, scores_sent(n_rows, 8, n_heads)[0])


@counts(f.SCORE_ROWS, by="executed")
def score_rows(rng: random.Random) -> Case:
    """Lengthen the prompt until the scores weigh as much as two rows of output."""
    n_heads, d_model = rng.choice((1, 2, 4)), rng.choice((8, 16))
    n_rows = 1
    while True:
        scores, output = scores_sent(n_rows, d_model, n_heads)
        if scores >= 2 * output:
            break
        n_rows += 1
    values: dict[str, float] = {"n_heads": n_heads, "d_model": d_model}
    return Case(values, n_rows, math.ceil)


def kept_heads(rank: Rank, weight: Array, n_kv_heads: int) -> frozenset[int]:
    """Which key–value heads a rank keeps; each weight is its head's number."""
    return frozenset(kv_columns(weight, n_kv_heads, rank)[0])


def dealt(n_kv_heads: int, tp: int) -> tuple[frozenset[int], ...]:
    """The key–value heads of every rank."""
    weight = np.arange(float(n_kv_heads))[None]
    return run(kept_heads, tp, weight, n_kv_heads).results


@counts(f.KV_COPIES, by="executed")
def kv_copies(rng: random.Random) -> Case:
    n_kv, tp = rng.choice((2, 4, 8)), rng.choice((1, 2, 4, 8))
    copies = sum(0 in heads for heads in dealt(n_kv, tp))
    return Case({"n_kv_heads": n_kv, "n_ranks": tp}, copies)


@counts(f.KV_RANK_BYTES, by="executed")
def kv_rank_bytes(rng: random.Random) -> Case:
    """Every token leaves some bytes for each head that a rank keeps."""
    n_kv, tp = rng.choice((1, 2, 4)), rng.choice((1, 2, 4, 8))
    per_head, context, batch = rng.randint(1, 9), rng.randint(1, 9), rng.randint(1, 5)
    read = sum(per_head for _ in range(batch * context) for _ in dealt(n_kv, tp)[0])
    values: dict[str, float] = {
        "n_kv_heads": n_kv,
        "n_ranks": tp,
        "kv_bytes_per_token": per_head * n_kv,
        "context": context,
        "batch": batch,
    }
    return Case(values, read)
