"""A whole prompt in chunks, and how much fits under a target: played out and timed."""

from __future__ import annotations

import math
import random

from llmserve_lab.continuous_batching import formulas as f
from tests.continuous_batching.play import cut, mixture, prompt, timed, together
from tests.counted import Case, counts
from tests.roofline.toys import setting


@counts(f.PROMPT_COMPUTE_S, by="enumerated")
def prompt_compute_s(rng: random.Random) -> Case:
    """Cut in any way: what is computed is the same."""
    shape, values = setting(rng)
    length, chunk = prompt(rng)
    flops = together(shape, cut(length, chunk)).flops
    known, ticks = timed(
        f.PROMPT_COMPUTE_S, rng, values | {"prompt_len": length}, flops=flops
    )
    return Case(known, ticks["flops"])


@counts(f.PROMPT_WEIGHTS_S, by="enumerated")
def prompt_weights_s(rng: random.Random) -> Case:
    shape, values = setting(rng)
    length, chunk = prompt(rng)
    read = sum(together(shape, [part]).weight_bytes for part in cut(length, chunk))
    sizes = {"prompt_len": length, "chunk": chunk}
    known, ticks = timed(f.PROMPT_WEIGHTS_S, rng, values | sizes, bytes=read)
    return Case(known, ticks["bytes"])


@counts(f.PROMPT_KV_S, by="enumerated")
def prompt_kv_s(rng: random.Random) -> Case:
    shape, values = setting(rng)
    length, chunk = prompt(rng)
    read = together(shape, cut(length, chunk)).kv_read_bytes
    sizes = {"prompt_len": length, "chunk": chunk}
    known, ticks = timed(f.PROMPT_KV_S, rng, values | sizes, bytes=read)
    return Case(known, ticks["bytes"])


@counts(f.PROMPT_S, by="enumerated")
def prompt_s(rng: random.Random) -> Case:
    """On a machine so lopsided that one side waits in every chunk."""
    shape, values = setting(rng)
    length, chunk = prompt(rng)
    parts = [together(shape, [part]) for part in cut(length, chunk)]
    much, little = 1000.0, 1.0
    peak, bandwidth = rng.choice([(much, little), (little, much)])
    seconds = sum(max(p.flops / peak, p.bytes_read / bandwidth) for p in parts)
    values |= {"prompt_len": length, "chunk": chunk, "eff_compute": 1, "eff_mem": 1}
    values |= {"peak_flops": peak, "hbm_bw": bandwidth}
    return Case(f.PROMPT_S.given(values), seconds)


@counts(f.ROW_FLOPS, by="enumerated")
def row_flops(rng: random.Random) -> Case:
    """Of a row among many: half a pair of its own is what the first row has less."""
    shape, values = setting(rng)
    context = values["context"]
    one, two = (together(shape, [(context, rows)]).flops for rows in (1, 2))
    curve = two - 2 * one  # what the second row sees of the first
    return Case(f.ROW_FLOPS.given(values), one - curve / 2)


@counts(f.NUM_ITERATIONS, by="enumerated")
def num_iterations(rng: random.Random) -> Case:
    """Queue every FLOP of the prompt; each iteration serves the decodes first."""
    shape, values, (_, *decodes) = mixture(rng)
    length, chunk = prompt(rng)
    waiting = together(shape, cut(length, chunk)).flops
    busy = together(shape, decodes).flops
    budget, iterations = busy + rng.randint(1, waiting), 0
    while waiting > 0:
        waiting, iterations = waiting - (budget - busy), iterations + 1
    values |= {"prompt_len": length, "tbt_target": budget}
    values |= {"peak_flops": 1, "eff_compute": 1}
    return Case(f.NUM_ITERATIONS.given(values), iterations, math.ceil)
