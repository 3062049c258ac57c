"""Loads and hardware: the chapter's closed forms, counted slot by slot."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from statistics import pvariance

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.simulation.bundle import Load
from llmserve_lab.afd.simulation.length_distributions import Independent, Uniform
from llmserve_lab.afd.simulation.slots import fill
from tests.afd.chains import Chain, drawn, mean
from tests.counted import Case, counts


@counts(f.MEAN_DECODE, by="enumerated")
def mean_decode(rng: random.Random) -> Case:
    """Generate until hardly anyone is left, and count the tokens."""
    p_stop, alive, tokens = rng.uniform(0.05, 0.9), 1.0, 0.0
    while alive > 1e-18:
        alive *= 1 - p_stop
        tokens += alive
    return Case({"p_stop": p_stop}, tokens)


@counts(f.NEXT_DECODE_LOAD, by="enumerated")
def next_decode_load(rng: random.Random) -> Case:
    chain, slots = drawn(rng)
    before = slots * chain.walk(rng.randint(0, 9)).age
    values = {"p_stop": chain.p_stop, "decode_load": before, "batch": slots}
    return Case(values, slots * chain.walk(1).age)


@counts(f.DECODE_LOAD, by="enumerated")
def decode_load(rng: random.Random) -> Case:
    (chain, slots), steps = drawn(rng), rng.randint(0, 30)
    values = {"p_stop": chain.p_stop, "batch": slots, "step_index": steps}
    return Case(values, slots * chain.walk(steps).age)


@counts(f.STEP_LOAD, by="enumerated")
def step_load(rng: random.Random) -> Case:
    (chain, slots), steps = drawn(rng), rng.randint(0, 30)
    values = {"p_stop": chain.p_stop, "batch": slots, "step_index": steps}
    values |= {"mean_prompt": mean(chain.prompts)}
    return Case(values, slots * chain.walk(steps).tokens)


@counts(f.N_STEPS, by="enumerated")
def n_steps(rng: random.Random) -> Case:
    """Serve until as many requests are expected to have completed."""
    p_stop, batch = Fraction(1, rng.randint(3, 97)), rng.randint(1, 9)
    wanted, done, steps = rng.randint(10, 90), Fraction(0), 0
    while done < wanted:
        done += batch * p_stop
        steps += 1
    values = {"n_requests": wanted, "batch": batch, "p_stop": float(p_stop)}
    return Case(values, steps, lambda real: math.ceil(real - 1e-9))


@counts(f.HORIZON_LOAD, by="enumerated")
def horizon_load(rng: random.Random) -> Case:
    (chain, slots), steps, total = drawn(rng), rng.randint(1, 30), 0.0
    for _ in range(steps):
        total += slots * chain.tokens
        chain.step()
    values = {"p_stop": chain.p_stop, "batch": slots, "n_steps": steps}
    return Case(values | {"mean_prompt": mean(chain.prompts)}, total / steps)


@counts(f.SLOT_TOKENS_GEOMETRIC, by="enumerated")
def slot_tokens_geometric(rng: random.Random) -> Case:
    chain, _ = drawn(rng)
    answer = (1 - chain.p_stop) / chain.p_stop
    values = {"mean_prompt": mean(chain.prompts), "mean_decode": answer}
    return Case(values, chain.walk(400).tokens)


@counts(f.SLOT_SD, by="enumerated")
def slot_sd(rng: random.Random) -> Case:
    chain, _ = drawn(rng)
    answer = (1 - chain.p_stop) / chain.p_stop
    spread = pvariance(map(Fraction, chain.prompts))
    values = {"prompt_variance": float(spread), "mean_decode": answer}
    return Case(values, chain.walk(400).variance ** 0.5)


@counts(f.SLOT_TOKENS, by="enumerated")
def slot_tokens(rng: random.Random) -> Case:
    """Look at every step of every request; long prompts may have long answers."""
    seen = [(rng.randint(0, 50), rng.randint(1, 20)) for _ in range(rng.randint(1, 9))]
    looks = [prompt + age for prompt, steps in seen for age in range(steps)]
    values = {
        "mean_steps": mean([steps for _, steps in seen]),
        "mean_square_steps": mean([steps**2 for _, steps in seen]),
        "mean_prompt_steps": mean([prompt * steps for prompt, steps in seen]),
    }
    return Case(values, mean(looks))


@counts(f.TOKEN_LOAD, by="executed")
def token_load(rng: random.Random) -> Case:
    """Fill an instance, and add up what its slots hold at the first step."""
    law = Independent(Uniform(1, 99), Uniform(1, 9))
    load, slots = Load(law=law, n_requests=1), rng.randint(1, 9)
    seed = rng.randint(0, 99)
    found = fill(load, n_slots=slots, n_steps=1, batch=0, instance=0, seed=seed)
    held = found.prompt[found.first == 0].tolist()
    return Case({"batch": slots, "slot_tokens": mean(held)}, int(found.load(1)[0]))


@counts(f.ATTN_SD_S, by="enumerated")
def attn_sd_s(rng: random.Random) -> Case:
    """Every way in which the slots of an instance can be filled, all alike likely."""
    held = [rng.randint(0, 20) for _ in range(3)] + [21]
    batch, m = rng.choice(((1, 1), (2, 1), (1, 3), (2, 2), (3, 2)))
    slope = rng.uniform(1e-6, 1e-3)
    ways = itertools.product(held, repeat=batch * m)
    times = [slope * sum(way) / m for way in ways]
    values = {"a_attn": slope, "batch": batch, "n_batches": m}
    values["slot_sd"] = float(pvariance(map(Fraction, held))) ** 0.5
    average = math.fsum(times) / len(times)
    spread = math.fsum((x - average) ** 2 for x in times) / len(times)
    return Case(values, math.sqrt(spread))


@counts(f.COUNTED_SHARE, by="enumerated")
def counted_share(rng: random.Random) -> Case:
    """Tokens of those who have left, over all steps of all slots."""
    chain, slots = Chain(rng.uniform(0.2, 0.7), [0]), rng.randint(1, 6)
    m, steps, tokens = rng.randint(1, 4), rng.randint(150, 300), 0.0
    for _ in range(steps):
        tokens += chain.p_stop * chain.age
        chain.step()
    completed = slots * m * steps * chain.p_stop
    values = {"p_stop": chain.p_stop, "n_batches": m, "batch": slots}
    share = rng.uniform(0.1, 1)
    values |= {"measured_share": share, "n_requests": completed / share}
    return Case(values, tokens / steps)
