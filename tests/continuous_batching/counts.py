"""Chunks and mixed iterations, counted slice by slice on the toy machine."""

from __future__ import annotations

import math
import random

from llmserve_lab.continuous_batching import formulas as f
from tests.continuous_batching.play import cut, mixture, prompt, timed, together
from tests.counted import Case, counts
from tests.roofline.counts_time import first, with_ridge
from tests.roofline.toys import run, setting


@counts(f.IDLE_SLOTS, by="enumerated")
def idle_slots(rng: random.Random) -> Case:
    """Run a frozen batch step by step and look at every slot."""
    answers = [rng.randint(1, 9) for _ in range(rng.randint(1, 5))]
    left, slots, idle = list(answers), 0, 0
    while any(left):
        slots, idle = slots + len(left), idle + left.count(0)
        left = [max(0, tokens - 1) for tokens in left]
    mean = sum(answers) / len(answers)
    return Case({"mean_answer": mean, "longest_answer": max(answers)}, idle / slots)


@counts(f.MIXED_ROWS, by="enumerated")
def mixed_rows(rng: random.Random) -> Case:
    _, values, slices = mixture(rng)
    return Case(f.MIXED_ROWS.given(values), sum(rows for _, rows in slices))


@counts(f.MIXED_PAIRS, by="enumerated")
def mixed_pairs(rng: random.Random) -> Case:
    shape, values, slices = mixture(rng)
    return Case(f.MIXED_PAIRS.given(values), together(shape, slices).pairs)


@counts(f.MIXED_KV_BYTES, by="enumerated")
def mixed_kv_bytes(rng: random.Random) -> Case:
    shape, values, slices = mixture(rng)
    return Case(f.MIXED_KV_BYTES.given(values), together(shape, slices).kv_read_bytes)


@counts(f.MIXED_COMPUTE_S, by="enumerated")
def mixed_compute_s(rng: random.Random) -> Case:
    shape, values, slices = mixture(rng)
    flops = together(shape, slices).flops
    known, ticks = timed(f.MIXED_COMPUTE_S, rng, values, flops=flops)
    return Case(known, ticks["flops"])


@counts(f.MIXED_KV_S, by="enumerated")
def mixed_kv_s(rng: random.Random) -> Case:
    shape, values, slices = mixture(rng)
    read = together(shape, slices).kv_read_bytes
    known, ticks = timed(f.MIXED_KV_S, rng, values, bytes=read)
    return Case(known, ticks["bytes"])


@counts(f.MIXED_ITERATION_S, by="enumerated")
def mixed_iteration_s(rng: random.Random) -> Case:
    shape, values, slices = mixture(rng)
    bill = together(shape, slices)
    amounts = {"flops": bill.flops, "bytes": bill.bytes_read}
    known, ticks = timed(f.MIXED_ITERATION_S, rng, values, **amounts)
    return Case(known, max(ticks.values()))


@counts(f.MFU, by="enumerated")
def mfu(rng: random.Random) -> Case:
    """FLOPs done over those that the datasheet promised in the same ticks."""
    shape, values, slices = mixture(rng)
    bill = together(shape, slices)
    amounts = {"flops": bill.flops, "bytes": bill.bytes_read}
    known, ticks = timed(f.MFU, rng, values, **amounts)
    promised = known["peak_flops"] * max(ticks.values())
    return Case(known, bill.flops / promised)


@counts(f.DECODES_S, by="enumerated")
def decodes_s(rng: random.Random) -> Case:
    shape, values, (_, *decodes) = mixture(rng)
    flops = together(shape, decodes).flops
    known, ticks = timed(f.DECODES_S, rng, values, flops=flops)
    return Case(known, ticks["flops"])


@counts(f.NUM_CHUNKS, by="enumerated")
def num_chunks(rng: random.Random) -> Case:
    length, chunk = prompt(rng)
    return Case({"prompt_len": length, "chunk": chunk}, len(cut(length, chunk)))


@counts(f.LAST_PREFIX, by="enumerated")
def last_prefix(rng: random.Random) -> Case:
    length, chunk = prompt(rng)
    return Case({"prompt_len": length, "chunk": chunk}, cut(length, chunk)[-1][0])


@counts(f.BLOCK_PAIRS, by="enumerated")
def block_pairs(rng: random.Random) -> Case:
    context, chunk = rng.randint(0, 9), rng.randint(1, 6)
    block = [(row, key) for row in range(chunk) for key in range(context + chunk)]
    return Case({"context": context, "chunk": chunk}, len(block))


@counts(f.PROMPT_BLOCK_PAIRS, by="enumerated")
def prompt_block_pairs(rng: random.Random) -> Case:
    length, chunk = prompt(rng, whole=True)
    pairs = sum(rows * (context + rows) for context, rows in cut(length, chunk))
    return Case({"prompt_len": length, "chunk": chunk}, pairs)


@counts(f.REREAD_TOKENS, by="enumerated")
def reread_tokens(rng: random.Random) -> Case:
    length, chunk = prompt(rng)
    read = [key for context, _ in cut(length, chunk) for key in range(context)]
    return Case({"prompt_len": length, "chunk": chunk}, len(read))


@counts(f.REREADS, by="enumerated")
def rereads(rng: random.Random) -> Case:
    """How often each token is read, averaged over the tokens of the prompt."""
    length, chunk = prompt(rng, whole=True)
    often = [
        sum(token < context for context, _ in cut(length, chunk))
        for token in range(length)
    ]
    return Case({"prompt_len": length, "chunk": chunk}, sum(often) / length)


@counts(f.HIDING_CHUNK, by="enumerated")
def hiding_chunk(rng: random.Random) -> Case:
    """Grow a chunk until it computes as long with a cached token as it reads it."""
    shape, values = setting(rng)

    def of_the_cache(chunk: int) -> float:
        bill = run(shape, batch=1, context=7, chunk=chunk)
        return bill.cached_attn_flops / bill.kv_read_bytes

    target = of_the_cache(1) * rng.uniform(1.5, 9)
    chunk = first(lambda rows: of_the_cache(rows) >= target)
    values |= with_ridge(rng, target)
    return Case(f.HIDING_CHUNK.given(values), chunk, math.ceil)
