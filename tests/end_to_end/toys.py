"""Random small models and requests, run once; what is counted is read off the run."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Literal

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.ffn import GeluFfn, SwigluFfn
from llmserve_lab.end_to_end.loops import reply
from llmserve_lab.end_to_end.tally import Tally
from llmserve_lab.transformer import Transformer, tiny_shape

VOCAB = 16


def shape(rng: random.Random) -> ModelShape:
    """A random dense model: one or two layers, grouped heads, either FFN and norm."""
    n_kv_heads, d_head = rng.randint(1, 2), rng.choice((2, 4))
    d_ff = rng.randint(2, 9)
    norms: tuple[Literal["rms", "layer"], ...] = ("rms", "layer")
    return tiny_shape(
        n_layers=rng.randint(1, 2),
        d_model=rng.randint(3, 8),
        vocab=VOCAB,
        n_heads=n_kv_heads * rng.randint(1, 3),
        n_kv_heads=n_kv_heads,
        d_head=d_head,
        ffn=rng.choice((GeluFfn(d_ff=d_ff), SwigluFfn(d_ff=d_ff))),
        norm=rng.choice(norms),
    )


def tally(model: ModelShape, *, prompt: int, new: int, cached: bool) -> Tally:
    """Run one loop over ``prompt`` tokens, ``new`` of them to come."""
    tokens = [place % VOCAB for place in range(prompt)]
    return reply(Transformer(model), tokens, new, cached=cached).tally


def request(rng: random.Random) -> dict[str, int]:
    """A short prompt and a short answer, by the names of the formulas."""
    return {"prompt_len": rng.randint(1, 7), "new_tokens": rng.randint(1, 6)}


def played(
    rng: random.Random, size: dict[str, int], *, cached: bool, model: ModelShape | None
) -> Tally:
    """One loop over a request of that size."""
    return tally(
        model or shape(rng),
        prompt=size["prompt_len"],
        new=size["new_tokens"],
        cached=cached,
    )


def differences(values: list[int], order: int) -> int:
    """The first difference of that order: for a polynomial of this degree, constant."""
    for _ in range(order):
        values = [after - before for before, after in pairwise(values)]
    return values[0]
