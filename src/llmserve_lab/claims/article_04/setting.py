"""What article 04 claims, run again: its two requests, its model, its two GPUs."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.catalog import MODELS, accelerator, machine, workload
from llmserve_lab.claims.sources import SOURCES
from llmserve_lab.collectives import Rank, run
from llmserve_lab.collectives.ledger import Record
from llmserve_lab.roofline import formulas as roofline
from llmserve_lab.transformer import Transformer, tiny_shape
from llmserve_lab.transformer.shard import shard
from llmserve_lab.varlen.arguments import batch_of, square_share
from llmserve_lab.varlen.ranks import forward_on_ranks
from llmserve_lab.varlen.rowwise import same_alone, steps
from llmserve_lab.varlen.strategies import WAYS, Outcome

A, B = 10, 30
SHAPE = MODELS["tiny-512"]
WORK, H100 = workload(SHAPE, absorbed=False), machine(accelerator("h100-sxm"))
ONE, MANY = batch_of([1000]), batch_of([100] * 10)
QKV = ("q_proj", "k_proj", "v_proj")


@cache
def model() -> Transformer:
    """The article's model: eight layers, 512 wide."""
    return Transformer(SHAPE)


@cache
def reduced() -> tuple[Record, ...]:
    """What rank 0 of two exchanges while requests A and B go through the model."""
    done = forward_on_ranks(model(), np.arange(A + B), (0, A, A + B), num_ranks=2)
    return done.ledger.select("all_reduce", rank=0)


@cache
def carried_out(way: str, *lengths: int) -> Outcome:
    """Run one way on a tiny model; rows and pairs do not depend on its width."""
    tiny = Transformer(tiny_shape(n_layers=1))
    return WAYS[way](tiny, np.arange(sum(lengths)) % tiny.shape.vocab, lengths)


@cache
def half_of_qkv() -> float:
    """Columns of the QKV projection on one of two ranks."""

    def columns(rank: Rank) -> int:
        part = shard(model().weights.layer(0), SHAPE, rank)
        return sum(part[name].shape[1] for name in QKV)

    return float(run(columns, 2).results[0])


@cache
def apart() -> float:
    """Largest difference between the logits of the masked and the varlen kernel."""
    masked, varlen = (carried_out(way, A, B).logits for way in ("masked", "varlen"))
    pairs = zip(masked, varlen, strict=True)
    return max(float(np.abs(one - other).max()) for one, other in pairs)


@cache
def pointwise() -> tuple[int, int]:
    """Steps of a block that see one row and multiply by no matrix; all steps.

    The block is the article's, which turns nothing: positions are not among its steps.
    """
    rows, found, every = model().weights.embedding[:4], 0, 0
    for name, step in steps(model()):
        if name == "rotary positions":
            continue
        matrix = name.endswith("projection") or name.startswith("FFN")
        found += same_alone(step, rows) == len(rows) and not matrix
        every, rows = every + 1, step(rows)
    return found, every


def squares_grow() -> bool:
    """Whether R requests of L cost (R·L)² masked and R·L² needed, counted."""
    return all(
        carried_out("masked", *[size] * many).pairs == (many * size) ** 2
        and carried_out("varlen", *[size] * many).pairs == many * size**2
        for many, size in ((2, 3), (5, 4))
    )


def share(batch: dict[str, float]) -> float:
    """Attention's share of the FLOPs if whole squares are computed."""
    return square_share(batch, WORK)


def decode_intensity() -> float:
    """FLOPs per byte of the cache when one row attends to a long context."""
    known = WORK | {"kv_bytes_per_token": SHAPE.kv_bytes_per_token(), "chunk": 1.0}
    return float(roofline.ATTN_INTENSITY.at(known))


def about_chunks() -> str:
    """The article whose title is about chunked prefill."""
    return next(s.name for s in SOURCES.values() if "Chunked Prefill" in s.title)
