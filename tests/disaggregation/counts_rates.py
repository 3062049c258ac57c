"""GPUs of two pools: steps that are filled, work that arrives, queues that are left."""

from __future__ import annotations

import math
import random

import numpy as np

from llmserve_lab.disaggregation import formulas as f
from tests.counted import Case, counts
from tests.disaggregation.toys import Served, first, served
from tests.roofline.toys import run

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


@counts(f.TBT_BATCH, by="enumerated")
def tbt_batch(rng: random.Random) -> Case:
    """Admit requests in the middle of their answers while the step stays in time."""
    one = served(rng)
    middle = one.contexts()[len(one.contexts()) // 2]
    one.values["overhead_s"] = middle_s(one) * rng.uniform(1, 3)
    one.values["tbt_target"] = (
        one.overhead_s + one.weights_s() + middle_s(one) * rng.uniform(1.1, 9)
    )

    def late(batch: int) -> bool:
        meter = run(one.shape, batch=batch, context=middle, chunk=1)
        read_s = (meter.weight_bytes + meter.kv_read_bytes) / one.bytes_per_s
        return bool(read_s + one.overhead_s > one.tbt_target)

    return Case(f.TBT_BATCH.given(one.values), first(late) - 1, math.floor)


def busy_prefill(one: Served) -> float:
    """Seconds of GPU that arrive in a second."""
    arrived, window_s = 7, 7 / one.arrival_rate
    return sum(one.prefill_s() for _ in range(arrived)) / float(window_s)


def decode_gpu_s(one: Served) -> float:
    """Seconds of GPU for a request: at each step its share of what caches may take."""
    left_s = one.tbt_target - one.overhead_s - one.weights_s()
    shares = (one.cache_bytes(c) / one.bytes_per_s / left_s for c in one.contexts())
    return float(sum(share * one.tbt_target for share in shares))


@counts(f.PREFILL_GPUS, by="enumerated")
def prefill_gpus(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.PREFILL_GPUS.given(one.values), busy_prefill(one))


@counts(f.DECODE_GPUS, by="enumerated")
def decode_gpus(rng: random.Random) -> Case:
    one = served(rng)
    counted = decode_gpu_s(one) * one.arrival_rate
    return Case(f.DECODE_GPUS.given(one.values), counted)


@counts(f.POOL_RATIO, by="enumerated")
def pool_ratio(rng: random.Random) -> Case:
    one = served(rng)
    counted = decode_gpu_s(one) * one.arrival_rate / busy_prefill(one)
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
    return Case(f.TTFT.given(one.values), wait_s(one) + one.prefill_s())
