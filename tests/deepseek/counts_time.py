"""The twin's times, worked off slice by slice."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

from llmserve_lab.deepseek import formulas as f
from llmserve_lab.formula.formula import Formula
from tests.counted import Case, counts
from tests.deepseek.works import Works, rounded, run_of, ticks, two_halves

GIVEN = ("read_experts", "all_to_all_bytes")


LINKS = ("far_rate", "near_rate")


def timed(works: Works, formula: Formula, time: Fraction) -> Case:
    return Case(run_of(works, formula, *GIVEN), float(time))


def clocked(formula: Formula, clock: Callable[[Works], Fraction]) -> None:
    """Register a time that the machine is seen to take."""

    def count(rng: random.Random) -> Case:
        works = Works(rng)
        return timed(works, formula, clock(works))

    counts(formula, by="unrolled")(count)


clocked(f.MLA_READ_S, lambda w: ticks((w.attention_bytes(), w.read_rate)))
clocked(f.MLA_COMPUTE_S, lambda w: w.attention_ticks())
clocked(f.ATTN_GEMM_READ_S, lambda w: w.attention_gemm_ticks()[0])
clocked(f.ATTN_GEMM_COMPUTE_S, lambda w: w.attention_gemm_ticks()[1])
clocked(f.ATTN_GEMM_S, lambda w: rounded(*w.attention_gemm_ticks()))
clocked(f.ATTN_KERNEL_S, lambda w: w.attention_kernel_ticks())
clocked(f.MLA_S, lambda w: w.block_ticks()["mla_s"])
clocked(f.ATTN_ELEMENTWISE_S, lambda w: w.attention_elementwise_ticks())
clocked(f.MOE_ELEMENTWISE_S, lambda w: w.expert_elementwise_ticks())
clocked(f.EXPERT_READ_S, lambda w: ticks((w.expert_bytes(), w.read_rate)))
clocked(f.EXPERT_COMPUTE_S, lambda w: w.expert_ticks())
clocked(f.EXPERTS_S, lambda w: w.block_ticks()["experts_s"])
clocked(f.FLIGHT_S, lambda w: w.flight_ticks())
clocked(f.ALL_TO_ALL_S, lambda w: w.block_ticks()["all_to_all_s"])
clocked(f.OTHER_READ_S, lambda w: w.other_ticks()[0])
clocked(f.OTHER_COMPUTE_S, lambda w: w.other_ticks()[1])
clocked(f.OTHER_S, lambda w: w.block_ticks()["other_s"])
clocked(f.ATTN_PHASE_S, lambda w: w.phases()[0])
clocked(f.MOE_PHASE_S, lambda w: w.phases()[1])


@counts(f.SHARP_S, by="unrolled")
def sharp_s(rng: random.Random) -> Case:
    """Both begin together; the block ends when the second of them has."""
    read, compute = rng.randint(1, 9), rng.randint(1, 9)
    clock = 0
    while clock < read or clock < compute:
        clock += 1
    return Case({"block_read_s": read, "block_compute_s": compute}, clock)


@counts(f.TURN_S, by="unrolled")
def turn_s(rng: random.Random) -> Case:
    """One block begins when the one before it has ended; the host comes last."""
    works, clock = Works(rng), Fraction(0)
    for length in works.block_ticks().values():
        clock += length
    return timed(works, f.TURN_S, clock + works.host_s)


@counts(f.HIDDEN_S, by="enumerated")
def hidden_s(rng: random.Random) -> Case:
    """For each batch another is sent beside it; both must be through."""
    works, clock = slowly_sent(rng), Fraction(0)
    block, (attention, experts, *_) = works.block_ticks(), works.phases()
    for _ in range(works.n_batches):
        device = clock + attention + experts
        clock = sorted([device, clock + block["all_to_all_s"]])[-1] + block["other_s"]
    return timed(works, f.HIDDEN_S, clock + works.host_s)


def slowly_sent(rng: random.Random) -> Works:
    """Works whose links are slow or not, so that either time may be the longer one."""
    works = Works(rng)
    slow = 2.0 ** -rng.randint(0, 6)
    works.values |= {link: works.values[link] * slow for link in LINKS}
    return works


@counts(f.STAGES_S, by="enumerated")
def stages_s(rng: random.Random) -> Case:
    """Two halves on a GPU and its ports, event by event; neither slows the other."""
    works = slowly_sent(rng)
    return timed(works, f.STAGES_S, two_halves(*works.phases(), Fraction(0)))


@counts(f.HALVES_S, by="enumerated")
def halves_s(rng: random.Random) -> Case:
    """The same, slowing each other down; starts and the rest once for each half."""
    works = slowly_sent(rng)
    clock = two_halves(*works.phases(), Fraction(works.overlap_slowdown))
    for _ in ("A", "B"):
        clock += works.transfer_starts_s + works.block_ticks()["other_s"]
    return timed(works, f.HALVES_S, clock + works.host_s)


@counts(f.USER_TOKENS_PER_S, by="unrolled")
def user_tokens_per_s(rng: random.Random) -> Case:
    """Take steps for a while, and count what one request has got."""
    kept, steps, step_s = rng.randint(1, 4), rng.randint(1, 9), rng.randint(1, 5)
    got = sum(kept for _ in range(steps))
    return Case({"accepted": kept, "twin_step_s": step_s}, got / (steps * step_s))


@counts(f.GPU_TOKENS_PER_S, by="unrolled")
def gpu_tokens_per_s(rng: random.Random) -> Case:
    """A second of steps, each of which gives every request what was accepted."""
    requests, steps, accepted = (rng.randint(1, 9) for _ in range(3))
    made = sum(accepted for _ in range(steps) for _ in range(requests))
    known = {"gpu_requests": requests, "accepted": accepted, "twin_step_s": 1 / steps}
    return Case(known, made)


@counts(f.SPLIT, by="unrolled")
def split(rng: random.Random) -> Case:
    """Deal requests out in turn, as often as there are batches."""
    requests, batches = 12 * rng.randint(1, 9), rng.randint(1, 4)
    dealt = [0] * batches
    for index in range(requests):
        dealt[index % batches] += 1
    return Case({"gpu_requests": requests, "n_batches": batches}, dealt[0])
