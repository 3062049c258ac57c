"""The twin's times, worked off slice by slice."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

from llmserve_lab.deepseek import formulas as f
from llmserve_lab.formula.formula import Formula
from tests.counted import Case, counts
from tests.deepseek.works import Works, run_of, ticks

GIVEN = ("read_experts", "wire_bytes")


LINKS = ("far_rate", "near_rate")


def timed(works: Works, formula: Formula, time: Fraction) -> Case:
    return Case(run_of(works, formula, *GIVEN), float(time))


def clocked(formula: Formula, clock: Callable[[Works], Fraction]) -> None:
    """Register a time that the machine is seen to take."""

    def count(rng: random.Random) -> Case:
        works = Works(rng)
        return timed(works, formula, clock(works))

    counts(formula)(count)


clocked(f.MLA_READ_S, lambda w: ticks((w.attention_bytes(), w.read_rate)))
clocked(f.MLA_COMPUTE_S, lambda w: w.attention_ticks())
clocked(f.MLA_S, lambda w: w.block_ticks()["mla_s"])
clocked(f.PASS_S, lambda w: w.pass_ticks())
clocked(f.EXPERT_READ_S, lambda w: ticks((w.expert_bytes(), w.read_rate)))
clocked(f.EXPERT_COMPUTE_S, lambda w: w.expert_ticks())
clocked(f.EXPERTS_S, lambda w: w.block_ticks()["experts_s"])
clocked(f.WIRE_S, lambda w: w.wire_ticks())
clocked(f.REST_S, lambda w: w.rest_ticks())


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
    """A second of steps, each of which gives every request what was accepted."""
    requests, steps, accepted = (rng.randint(1, 9) for _ in range(3))
    made = sum(accepted for _ in range(steps) for _ in range(requests))
    known = {"gpu_requests": requests, "accepted": accepted, "twin_step_s": 1 / steps}
    return Case(known, made)


@counts(f.SPLIT)
def split(rng: random.Random) -> Case:
    """Deal requests out in turn, as often as there are batches."""
    requests, batches = 12 * rng.randint(1, 9), rng.randint(1, 4)
    dealt = [0] * batches
    for index in range(requests):
        dealt[index % batches] += 1
    return Case({"gpu_requests": requests, "n_batches": batches}, dealt[0])
