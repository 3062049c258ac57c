"""The roofline's closed forms, counted on a toy machine or tick by tick."""

from __future__ import annotations

import math
import random
from dataclasses import replace

from llmserve_lab.roofline import formulas as f
from llmserve_lab.transformer import PLAIN, Transformer, cumulative, tiny_shape
from llmserve_lab.transformer.arithmetic import Array
from tests.counted import Case, counts
from tests.roofline.machine import Machine
from tests.roofline.toys import metered, run, setting, shape_values, toy


@counts(f.WEIGHT_BYTES, by="enumerated")
def weight_bytes(rng: random.Random) -> Case:
    values, meter = metered(f.WEIGHT_BYTES, rng)
    return Case(values, meter.weight_bytes)


@counts(f.STORED_BYTES, by="enumerated")
def stored_bytes(rng: random.Random) -> Case:
    shape, rows = toy(rng), rng.randint(1, 9)  # of a table that only looks up
    width = shape.matrices[0][0]
    held: float = sum(shape.bytes_weight for _ in range(rows) for _ in range(width))
    held += run(shape, batch=1, context=0, chunk=1).weight_bytes  # and the rest once
    params = shape.params + rows * width
    return Case({"params_total": params, "bytes_weight": shape.bytes_weight}, held)


@counts(f.KV_BYTES_PER_TOKEN, by="enumerated")
def kv_bytes_per_token(rng: random.Random) -> Case:
    shape, tokens = toy(rng), rng.randint(1, 5)
    read = run(shape, batch=1, context=tokens, chunk=1).kv_read_bytes
    return Case(shape_values(f.KV_BYTES_PER_TOKEN, shape), read / tokens)


@counts(f.KV_BYTES_PER_TOKEN_MLA, by="enumerated")
def kv_bytes_per_token_mla(rng: random.Random) -> Case:
    shape, tokens = toy(rng, latent=True), rng.randint(1, 5)
    read = run(shape, batch=1, context=tokens, chunk=1).kv_read_bytes
    return Case(shape_values(f.KV_BYTES_PER_TOKEN_MLA, shape), read / tokens)


@counts(f.KV_READ_BYTES, by="enumerated")
def kv_read_bytes(rng: random.Random) -> Case:
    values, meter = metered(f.KV_READ_BYTES, rng, latent=rng.random() < 0.5)
    return Case(values, meter.kv_read_bytes)


@counts(f.KV_WRITE_BYTES, by="enumerated")
def kv_write_bytes(rng: random.Random) -> Case:
    """What an iteration writes is what the next one reads more."""
    shape, values = setting(rng)
    batch, context, chunk = (values[name] for name in ("batch", "context", "chunk"))
    before, after = (
        run(shape, batch=batch, context=tokens, chunk=1).kv_read_bytes
        for tokens in (context, context + chunk)
    )
    return Case(f.KV_WRITE_BYTES.given(values), after - before)


@counts(f.ITERATION_BYTES, by="enumerated")
def iteration_bytes(rng: random.Random) -> Case:
    values, meter = metered(f.ITERATION_BYTES, rng)
    return Case(values, meter.bytes_read)


@counts(f.N_ROWS, by="executed")
def n_rows(rng: random.Random) -> Case:
    """Run requests that each bring a chunk; how many rows has the first product?"""
    batch, chunk = rng.randint(1, 9), rng.randint(1, 9)
    model, seen = Transformer(tiny_shape(n_layers=1)), list[int]()

    def product(left: Array, right: Array) -> Array:
        seen.append(len(left))
        return PLAIN.linear(left, right)

    prompts = [list(range(chunk)) for _ in range(batch)]
    bounds = cumulative([len(prompt) for prompt in prompts])
    tokens = [token for prompt in prompts for token in prompt]
    model.forward_packed(tokens, bounds, run=replace(PLAIN, linear=product))
    return Case({"batch": batch, "chunk": chunk}, seen[0])


@counts(f.LINEAR_FLOPS, by="enumerated")
def linear_flops(rng: random.Random) -> Case:
    values, meter = metered(f.LINEAR_FLOPS, rng)
    return Case(values, meter.linear_flops)


@counts(f.ATTN_PAIRS, by="enumerated")
def attn_pairs(rng: random.Random) -> Case:
    shape, values = setting(rng)
    size = {name: values[name] for name in ("batch", "context", "chunk")}
    return Case(size, run(shape, **size).pairs / shape.n_layers)


@counts(f.ATTN_FLOPS_PER_PAIR, by="enumerated")
def attn_flops_per_pair(rng: random.Random) -> Case:
    shape = toy(rng)
    meter = run(shape, batch=2, context=3, chunk=2)
    values = shape_values(f.ATTN_FLOPS_PER_PAIR, shape)
    return Case(values, meter.attn_flops * shape.n_layers / meter.pairs)


@counts(f.ATTN_FLOPS_PER_PAIR_MLA, by="enumerated")
def attn_flops_per_pair_mla(rng: random.Random) -> Case:
    shape = toy(rng, latent=True)
    meter = run(shape, batch=2, context=3, chunk=2)
    values = shape_values(f.ATTN_FLOPS_PER_PAIR_MLA, shape)
    return Case(values, meter.attn_flops * shape.n_layers / meter.pairs)


@counts(f.ATTN_FLOPS, by="enumerated")
def attn_flops(rng: random.Random) -> Case:
    values, meter = metered(f.ATTN_FLOPS, rng, latent=rng.random() < 0.5)
    return Case(values, meter.attn_flops)


@counts(f.ITERATION_FLOPS, by="enumerated")
def iteration_flops(rng: random.Random) -> Case:
    values, meter = metered(f.ITERATION_FLOPS, rng)
    return Case(values, meter.flops)


@counts(f.INTENSITY, by="enumerated")
def intensity(rng: random.Random) -> Case:
    values, meter = metered(f.INTENSITY, rng, latent=rng.random() < 0.5)
    return Case(values, meter.flops / meter.bytes_read)


@counts(f.INTENSITY_DECODE, by="enumerated")
def decode_intensity(rng: random.Random) -> Case:
    """Every request brings one row."""
    shape, values = setting(rng)
    meter = run(shape, batch=values["batch"], context=values["context"], chunk=1)
    values["params_read"] = values["params_active"]
    given = f.INTENSITY_DECODE.given(values)
    return Case(given, meter.flops / meter.bytes_read)


@counts(f.LINEAR_INTENSITY, by="enumerated")
def linear_intensity(rng: random.Random) -> Case:
    values, meter = metered(f.LINEAR_INTENSITY, rng)
    return Case(values, meter.linear_flops / meter.bytes_read)


@counts(f.SHORT_INTENSITY, by="enumerated")
def short_intensity(rng: random.Random) -> Case:
    shape, values = setting(rng)
    meter = run(shape, batch=values["batch"], context=0, chunk=values["chunk"])
    return Case(f.SHORT_INTENSITY.given(values), meter.linear_flops / meter.bytes_read)


@counts(f.LONG_INTENSITY, by="enumerated")
def long_intensity(rng: random.Random) -> Case:
    """The cache dominates for good once the weights cost nothing to read."""
    values, meter = metered(f.LONG_INTENSITY, rng)
    return Case(values, meter.linear_flops / meter.kv_read_bytes)


@counts(f.ATTN_INTENSITY, by="enumerated")
def attn_intensity(rng: random.Random) -> Case:
    """Attention to the cache alone: what remains when the cache is all there is."""
    values, meter = metered(f.ATTN_INTENSITY, rng, latent=rng.random() < 0.5)
    return Case(values, meter.cached_attn_flops / meter.kv_read_bytes)


@counts(f.ENDLESS_INTENSITY, by="enumerated")
def endless_intensity(rng: random.Random) -> Case:
    """One more request brings its products and its cache, and no more weights."""
    shape, values = setting(rng)
    size = {name: values[name] for name in ("context", "chunk")}
    few, more = (run(shape, batch=batch, **size) for batch in (2, 3))
    linear, cached = (
        getattr(more, name) - getattr(few, name)
        for name in ("linear_flops", "cached_attn_flops")
    )
    each = more.bytes_read - few.bytes_read
    return Case(f.ENDLESS_INTENSITY.given(values), (linear + cached) / each)


@counts(f.CROSSOVER_CONTEXT, by="enumerated")
def crossover_context(rng: random.Random) -> Case:
    """Let every request grow by a token until its reads overtake the weights."""
    shape, values = setting(rng)
    context = 0
    while True:
        meter = run(shape, batch=values["batch"], context=context, chunk=1)
        if meter.kv_read_bytes >= meter.weight_bytes:
            return Case(f.CROSSOVER_CONTEXT.given(values), context, math.ceil)
        context += 1


@counts(f.CROSSOVER_TOKENS, by="enumerated")
def crossover_tokens(rng: random.Random) -> Case:
    """Hand tokens to requests at random: only how many there are matters."""
    shape, values = setting(rng)
    contexts = [0] * values["batch"]
    while True:
        meter = Machine(shape).iteration(contexts=contexts, chunk=1)
        if meter.kv_read_bytes >= meter.weight_bytes:
            return Case(f.CROSSOVER_TOKENS.given(values), sum(contexts), math.ceil)
        contexts[rng.randrange(len(contexts))] += 1
