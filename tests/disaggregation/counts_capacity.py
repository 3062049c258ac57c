"""One engine or two pools: iterations that are filled, and GPUs that keep up."""

from __future__ import annotations

import random
from collections.abc import Callable

from llmserve_lab.disaggregation import formulas as f
from tests.counted import Case, counts
from tests.disaggregation.toys import Served, first, served


@counts(f.ANSWER_READ_S, by="enumerated")
def answer_read_s(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.ANSWER_READ_S.given(one.values), one.read_s())


@counts(f.REQUEST_COMPUTE_S, by="enumerated")
def request_compute_s(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.REQUEST_COMPUTE_S.given(one.values), one.compute_s())


@counts(f.READ_SHARE, by="enumerated")
def read_share(rng: random.Random) -> Case:
    one = served(rng)
    left_s = one.tbt_target - one.overhead_s - one.weights_s()
    return Case(f.READ_SHARE.given(one.values), left_s / one.tbt_target)


@counts(f.COMPUTE_SHARE, by="enumerated")
def compute_share(rng: random.Random) -> Case:
    one = served(rng)
    alone_s = (1 - one.overlap) * one.weights_s()
    left_s = one.tbt_target - one.overhead_s - alone_s
    return Case(f.COMPUTE_SHARE.given(one.values), left_s / one.tbt_target)


@counts(f.ANSWER_COMPUTE_S, by="enumerated")
def answer_compute_s(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.ANSWER_COMPUTE_S.given(one.values), one.answer_s())


def lasts(one: Served, computing: float, reading: float) -> float:
    """Do both at once for the share that overlaps, the rest one after the other."""
    longer, shorter = sorted([computing, reading], reverse=True)
    return float(longer + (1 - one.overlap) * shorter + one.overhead_s)


def prefilled_per_s(one: Served) -> float:
    """Prompts without end on every GPU, each sent when it is done and the wire free."""
    computed = wire_free = 0.0
    left = []
    for _ in range(60):
        computed += lasts(one, one.compute_s() - one.answer_s(), one.weights_s())
        wire_free = max(computed, wire_free) + one.transfer_s()
        left.append(wire_free)
    return float(one.n_prefill * 30 / (left[-1] - left[-31]))


def largest(fits: Callable[[float], bool]) -> float:
    """The largest number that fits, by halving."""
    low, high = 0.0, 1.0
    while fits(high):
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def filled_per_s(one: Served, gpus: int, compute_s: float) -> float:
    """Fill a step with its share of all that arrives while it lasts, up to the target.

    ``compute_s`` is what a request has computed here; its cache is read here too.
    """

    def fits(rate: float) -> bool:
        arrived = rate / gpus * one.tbt_target
        reading = one.weights_s() + arrived * one.read_s()
        return lasts(one, arrived * compute_s, reading) <= float(one.tbt_target)

    return largest(fits)


def decoded_per_s(one: Served) -> float:
    return filled_per_s(one, one.n_decode, one.answer_s())


@counts(f.PREFILL_GPU_S, by="enumerated")
def prefill_gpu_s(rng: random.Random) -> Case:
    one = served(rng)
    counted = lasts(one, one.compute_s() - one.answer_s(), one.weights_s())
    return Case(f.PREFILL_GPU_S.given(one.values), counted)


@counts(f.DECODE_GPU_S, by="enumerated")
def decode_pool_gpu_s(rng: random.Random) -> Case:
    one = served(rng)
    counted = one.n_decode / decoded_per_s(one)
    return Case(f.DECODE_GPU_S.given(one.values), counted)


@counts(f.SHARED_GPU_S, by="enumerated")
def shared_gpu_s(rng: random.Random) -> Case:
    one = served(rng)
    return Case(
        f.SHARED_GPU_S.given(one.values), 1 / filled_per_s(one, 1, one.compute_s())
    )


@counts(f.PREFILL_RATE, by="enumerated")
def prefill_rate(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.PREFILL_RATE.given(one.values), prefilled_per_s(one))


@counts(f.DECODE_RATE, by="enumerated")
def decode_rate(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.DECODE_RATE.given(one.values), decoded_per_s(one))


@counts(f.POOLS_RATE, by="enumerated")
def pools_rate(rng: random.Random) -> Case:
    one = served(rng)
    rates = sorted([prefilled_per_s(one), decoded_per_s(one)])
    return Case(f.POOLS_RATE.given(one.values), rates[0])


@counts(f.BEST_POOLS_RATE, by="enumerated")
def best_pools_rate(rng: random.Random) -> Case:
    """Move a share of all GPUs from one pool to the other until both are busy."""
    one = served(rng)
    gpus = one.n_prefill + one.n_decode
    prefill, decode = (
        prefilled_per_s(one) / one.n_prefill,
        decoded_per_s(one) / one.n_decode,
    )
    most = largest(lambda share: share < 1 and share * prefill < (1 - share) * decode)
    return Case(f.BEST_POOLS_RATE.given(one.values), most * gpus * prefill)


@counts(f.SHARED_RATE, by="enumerated")
def shared_rate(rng: random.Random) -> Case:
    one = served(rng)
    counted = filled_per_s(one, one.n_prefill + one.n_decode, one.compute_s())
    return Case(f.SHARED_RATE.given(one.values), counted)


def fewest(arrival_rate: float, one_gpu_per_s: float) -> int:
    """GPUs that keep up with what arrives."""
    return first(lambda gpus: gpus * one_gpu_per_s >= arrival_rate)


@counts(f.SHARED_GPUS, by="enumerated")
def shared_gpus(rng: random.Random) -> Case:
    one = served(rng)
    one.values["arrival_rate"] *= rng.uniform(1, 9)
    counted = fewest(one.arrival_rate, filled_per_s(one, 1, one.compute_s()))
    return Case(f.SHARED_GPUS.given(one.values), counted)


@counts(f.POOLS_GPUS, by="enumerated")
def pools_gpus(rng: random.Random) -> Case:
    one = served(rng)
    one.values["arrival_rate"] *= rng.uniform(1, 9)
    one_prefills = prefilled_per_s(one) / one.n_prefill
    one_decodes = decoded_per_s(one) / one.n_decode
    counted = sum(
        fewest(one.arrival_rate, per_s) for per_s in (one_prefills, one_decodes)
    )
    return Case(f.POOLS_GPUS.given(one.values), counted)


@counts(f.TOKEN_COST, by="unrolled")
def token_cost(rng: random.Random) -> Case:
    """Pay for an hour, second by second, and count what came out."""
    price, speed = rng.uniform(1e-4, 1e-2), rng.uniform(10, 9000)
    paid = made = 0.0
    for _ in range(3600):
        paid, made = paid + price, made + speed
    return Case({"gpu_price": price, "tokens_per_s": speed}, paid / made)
