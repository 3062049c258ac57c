"""What an answer costs in all, read off a meter, and the cache that it leaves."""

from __future__ import annotations

import random

from llmserve_lab.catalog import ModelShape
from llmserve_lab.end_to_end import formulas as f
from llmserve_lab.end_to_end.arguments import cached_heads
from llmserve_lab.end_to_end.tally import Tally
from llmserve_lab.transformer import Meter, Transformer, generate
from tests.counted import Case, counts
from tests.end_to_end.toys import VOCAB, played, request, shape


def per_row_and_pair(model: ModelShape) -> dict[str, float]:
    """Parameters that a row meets, and FLOPs of a pair, read off a single token."""
    meter = Meter()
    Transformer(model).forward([0], run=meter.on())
    return {
        "params_active": meter.linear_flops / 2,
        "params_head": Transformer(model).weights.lm_head.size,
        "attn_flops_per_pair": meter.attn_flops,
    }


def scoring_last_rows(done: Tally, model: ModelShape) -> int:
    """FLOPs of a run, less those of the rows that an engine's LM head leaves out."""
    head = Transformer(model).weights.lm_head.size
    return done.flops - 2 * head * (done.rows - len(done.passes))


@counts(f.RECOMPUTE_FLOPS, by="executed")
def recompute_flops(rng: random.Random) -> Case:
    size, model = request(rng), shape(rng)
    done = played(rng, size, cached=False, model=model)
    return Case(size | per_row_and_pair(model), scoring_last_rows(done, model))


@counts(f.CACHED_FLOPS, by="executed")
def cached_flops(rng: random.Random) -> Case:
    size, model = request(rng), shape(rng)
    done = played(rng, size, cached=True, model=model)
    return Case(size | per_row_and_pair(model), scoring_last_rows(done, model))


@counts(f.FLOPS_RATIO, by="executed")
def flops_ratio(rng: random.Random) -> Case:
    size, model = request(rng), shape(rng)
    again, once = (
        scoring_last_rows(played(rng, size, cached=c, model=model), model)
        for c in (False, True)
    )
    return Case(size | per_row_and_pair(model), again / once)


@counts(f.TOKEN_FLOPS, by="executed")
def token_flops(rng: random.Random) -> Case:
    """One more token after a few, metered: its matrices, and its pairs with all."""
    model, context, meter = shape(rng), rng.randint(1, 9), Meter()
    small = Transformer(model)
    cache = small.new_cache(context + 1)
    small.forward([place % VOCAB for place in range(context)], cache)
    small.forward([0], cache, run=meter.on())
    values = {
        "params_active": per_row_and_pair(model)["params_active"],
        "n_layers": model.n_layers,
        "n_heads": cached_heads(model).n_heads,
        "d_head": model.attention.d_head,
        "context": context,
    }
    return Case(values, meter.linear_flops + meter.attn_flops)


@counts(f.KV_HELD_BYTES, by="executed")
def kv_held_bytes(rng: random.Random) -> Case:
    """Play the loop by hand with a cache, and look how much it holds at the end."""
    model, size = Transformer(shape(rng)), request(rng)
    prompt = [place % VOCAB for place in range(size["prompt_len"])]
    answer = generate(model, prompt, size["new_tokens"]).tolist()
    cache = model.new_cache(len(prompt) + len(answer))
    model.forward(prompt, cache)
    for token in answer[:-1]:
        model.forward([token], cache)
    one = model.new_cache(1)
    model.forward([0], one)
    values = size | {"kv_bytes_per_token": one.num_bytes}
    return Case(values, cache.num_bytes)
