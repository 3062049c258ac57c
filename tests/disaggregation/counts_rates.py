"""GPUs of two pools: steps that are filled, work that arrives, queues that are left."""

from __future__ import annotations

import math
import random

import numpy as np

from llmserve_lab.disaggregation import formulas as f
from tests.counted import Case, counts
from tests.disaggregation.counts import late_s
from tests.disaggregation.counts_capacity import decode_gpu, decoding
from tests.disaggregation.toys import Served, served

STATES = 90  # of a queue; at most six tenths busy, it is never longer


def middle_s(one: Served) -> float:
    """Read the cache of a request in the middle of its answer."""
    found = one.contexts()
    assert len(found) % 2, "the middle is a whole number of tokens"
    return one.cache_bytes(found[len(found) // 2]) / one.bytes_per_s


@counts(f.STEP_READ_S, by="enumerated")
def step_read_s(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.STEP_READ_S.given(one.values), middle_s(one))


def busy_prefill(one: Served) -> float:
    """Seconds of GPU that arrive in a second."""
    arrived, window_s = 7, 7 / one.arrival_rate
    slower_s = max(one.prefill_each_s(), one.transfer_s())
    return sum(slower_s for _ in range(arrived)) / float(window_s)


@counts(f.PREFILL_GPUS, by="enumerated")
def prefill_gpus(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.PREFILL_GPUS.given(one.values), busy_prefill(one))


@counts(f.DECODE_GPUS, by="enumerated")
def decode_gpus(rng: random.Random) -> Case:
    one = served(rng)
    counted = decode_gpu(one) * one.arrival_rate
    return Case(f.DECODE_GPUS.given(one.values), counted)


@counts(f.POOL_RATIO, by="enumerated")
def pool_ratio(rng: random.Random) -> Case:
    one = served(rng)
    counted = decode_gpu(one) * one.arrival_rate / busy_prefill(one)
    return Case(f.POOL_RATIO.given(one.values), counted)


@counts(f.HANDOFF_PER_S, by="enumerated")
def handoff_per_s(rng: random.Random) -> Case:
    one, arrived = served(rng), rng.randint(1, 9)
    sent = sum(one.cache_bytes(one.prompt_len) for _ in range(arrived))
    counted = sent / (arrived / one.arrival_rate)
    return Case(f.HANDOFF_PER_S.given(one.values), counted)


def wait_s(one: Served) -> float:
    """The queue as it is left behind by each prompt, in balance; then Little's law."""
    busy = one.arrival_rate * one.prefill_s()
    law = [math.exp(-busy) * busy**k / math.factorial(k) for k in range(STATES)]
    moves = np.zeros((STATES, STATES))
    for left in range(STATES):
        stay = max(left - 1, 0)
        moves[left, stay:] = law[: STATES - stay]
        moves[left, -1] += 1 - moves[left].sum()
    balance = np.vstack([moves.T - np.eye(STATES), np.ones(STATES)])
    chances = np.linalg.lstsq(balance, np.eye(STATES + 1)[-1], rcond=None)[0]
    here = float(chances @ np.arange(STATES))
    return here / float(one.arrival_rate) - one.prefill_s()


@counts(f.PREFILL_WAIT_S, by="enumerated")
def prefill_wait_s(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.PREFILL_WAIT_S.given(one.values), wait_s(one))


@counts(f.TTFT, by="enumerated")
def ttft(rng: random.Random) -> Case:
    one = served(rng)
    hop_s = late_s(one) + one.orchestration_s + one.step_s(decoding(one))
    first_s = wait_s(one) + one.prefill_s()
    if one.decode_emits:  # a decode step computes the first token once more
        first_s += hop_s
    return Case(f.TTFT.given(one.values), first_s)


@counts(f.SECOND_GAP_S, by="enumerated")
def second_gap_s(rng: random.Random) -> Case:
    one = served(rng)
    gap_s = one.step_s(decoding(one))
    if not one.decode_emits:
        gap_s += late_s(one) + one.orchestration_s
    return Case(f.SECOND_GAP_S.given(one.values), gap_s)
