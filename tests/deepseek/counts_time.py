"""The twin's times, worked off slice by slice."""

from __future__ import annotations

import random
from fractions import Fraction

from llmserve_lab.book.formula import Formula
from llmserve_lab.deepseek import formulas as f
from tests.counted import Case, counts
from tests.deepseek.works import Works, run_of, ticks

GIVEN = ("read_experts", "wire_bytes")


LINKS = ("far_rate", "near_rate")


def timed(works: Works, formula: Formula, time: Fraction) -> Case:
    return Case(run_of(works, formula, *GIVEN), float(time))


@counts(f.MLA_READ_S)
def mla_read_s(rng: random.Random) -> Case:
    works = Works(rng)
    time = ticks((works.attention_bytes(), works.read_rate))
    return timed(works, f.MLA_READ_S, time)


@counts(f.MLA_COMPUTE_S)
def mla_compute_s(rng: random.Random) -> Case:
    works = Works(rng)
    return timed(works, f.MLA_COMPUTE_S, works.attention_ticks())


@counts(f.MLA_S)
def mla_s(rng: random.Random) -> Case:
    works = Works(rng)
    return timed(works, f.MLA_S, works.block_ticks()["mla_s"])


@counts(f.SHARP_S)
def sharp_s(rng: random.Random) -> Case:
    """Both begin together; the block ends when the second of them has."""
    read, compute = rng.randint(1, 9), rng.randint(1, 9)
    clock = 0
    while clock < read or clock < compute:
        clock += 1
    return Case({"block_read_s": read, "block_compute_s": compute}, clock)


@counts(f.PASS_BYTES)
def pass_bytes(rng: random.Random) -> Case:
    works = Works(rng)
    return Case(run_of(works, f.PASS_BYTES), works.passed())


@counts(f.PASS_S)
def pass_s(rng: random.Random) -> Case:
    works = Works(rng)
    return timed(works, f.PASS_S, works.pass_ticks())


@counts(f.EXPERT_READ_S)
def expert_read_s(rng: random.Random) -> Case:
    works = Works(rng)
    time = ticks((works.expert_bytes(), works.read_rate))
    return timed(works, f.EXPERT_READ_S, time)


@counts(f.EXPERT_COMPUTE_S)
def expert_compute_s(rng: random.Random) -> Case:
    works = Works(rng)
    return timed(works, f.EXPERT_COMPUTE_S, works.expert_ticks())


@counts(f.EXPERTS_S)
def experts_s(rng: random.Random) -> Case:
    works = Works(rng)
    return timed(works, f.EXPERTS_S, works.block_ticks()["experts_s"])


@counts(f.WIRE_S)
def wire_s(rng: random.Random) -> Case:
    works = Works(rng)
    return timed(works, f.WIRE_S, works.wire_ticks())


@counts(f.REST_S)
def rest_s(rng: random.Random) -> Case:
    works = Works(rng)
    return timed(works, f.REST_S, works.rest_ticks())


@counts(f.TURN_S)
def turn_s(rng: random.Random) -> Case:
    """One block begins when the one before it has ended."""
    works, clock = Works(rng), Fraction(0)
    for length in works.block_ticks().values():
        clock += length
    return timed(works, f.TURN_S, clock)


@counts(f.HIDDEN_S)
def hidden_s(rng: random.Random) -> Case:
    """For each batch the wire of another runs beside it; both must be through."""
    works, clock = Works(rng), Fraction(0)
    slow = rng.choice((1, 2.0**-6))  # so that either may be the longer one
    works.values |= {link: works.values[link] * slow for link in LINKS}
    block = works.block_ticks()
    for _ in range(works.n_batches):
        device = clock + block["mla_s"] + block["experts_s"] + block["pass_s"]
        clock = sorted([device, clock + block["wire_s"]])[-1] + block["rest_s"]
    return timed(works, f.HIDDEN_S, clock)


@counts(f.USER_TOKENS_PER_S)
def user_tokens_per_s(rng: random.Random) -> Case:
    """Take steps for a while, and count what one request has got."""
    kept, steps, step_s = rng.randint(1, 4), rng.randint(1, 9), rng.randint(1, 5)
    got = sum(kept for _ in range(steps))
    return Case({"accepted": kept, "twin_step_s": step_s}, got / (steps * step_s))


@counts(f.GPU_TOKENS_PER_S)
def gpu_tokens_per_s(rng: random.Random) -> Case:
    requests, rate = rng.randint(1, 9), rng.randint(1, 9)
    made = sum(rate for _ in range(requests))
    return Case({"gpu_requests": requests, "user_tokens_per_s": rate}, made)


@counts(f.SPLIT)
def split(rng: random.Random) -> Case:
    """Deal requests out in turn, as often as there are batches."""
    requests, batches = 12 * rng.randint(1, 9), rng.randint(1, 4)
    dealt = [0] * batches
    for index in range(requests):
        dealt[index % batches] += 1
    return Case({"gpu_requests": requests, "n_batches": batches}, dealt[0])
