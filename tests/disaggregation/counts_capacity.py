"""One engine or two pools: iterations that are filled, and GPUs that keep up."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.engine import Chunked, IterationCost, Pool, Request, simulate
from tests.counted import Case, counts
from tests.disaggregation.toys import Served, first, riding, served
from tests.roofline.toys import run


def largest(fits: Callable[[float], bool]) -> float:
    """The largest number that fits, by halving."""
    low, high = 0.0, 1.0
    while fits(high):
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def decoding(one: Served) -> float:
    """Requests that decode in time on a GPU, and for which there is room."""
    in_time = largest(lambda batch: one.step_s(batch) <= one.tpot_target)
    return float(min(in_time, one.fits()))


def sharing(one: Served, hint: float) -> float:
    """The same where prompts ride along; the promise is just kept at ``hint``."""
    one.values["tpot_target"] = one.mean_step_s(hint)
    in_time = largest(
        lambda batch: batch < 2 * hint and one.mean_step_s(batch) <= one.tpot_target
    )
    return float(min(in_time, one.fits()))


def gpu_s(one: Served, batch: float, step_s: float) -> float:
    """Add up a request's share of every step."""
    return sum(step_s / batch for _ in one.contexts())


@counts(f.ROW_S, by="enumerated")
def row_s(rng: random.Random) -> Case:
    one = served(rng)
    meter = run(one.shape, batch=1, context=0, chunk=1)
    return Case(f.ROW_S.given(one.values), meter.linear_flops / one.flops_per_s)


@counts(f.STEP_PAIRS_S, by="enumerated")
def step_pairs_s(rng: random.Random) -> Case:
    one = served(rng)
    middle = one.contexts()[len(one.contexts()) // 2]
    meter = run(one.shape, batch=1, context=middle, chunk=1)
    return Case(f.STEP_PAIRS_S.given(one.values), meter.attn_flops / one.flops_per_s)


@counts(f.STEP_OWN_S, by="enumerated")
def step_own_s(rng: random.Random) -> Case:
    """A step whose products are done, with one request's attention and without."""
    one = served(rng)
    middle = one.contexts()[len(one.contexts()) // 2]
    more, less = (
        one.iteration_s(
            rows=1,
            pairs=many * (middle + 1),
            cached=many * middle,
            requests=many,
            prompts=0,
        )
        for many in (1, 0)
    )
    return Case(f.STEP_OWN_S.given(one.values), more - less)


@counts(f.TBT_BATCH, by="enumerated")
def tbt_batch(rng: random.Random) -> Case:
    """Arithmetic so quick that reading is the longer for any batch that fits."""
    one = served(rng)
    one.values["peak_flops"] *= 1e6
    one.values["tpot_target"] = one.step_s(rng.uniform(0.5, 9))
    counted = largest(lambda batch: one.step_s(batch) <= one.tpot_target)
    return Case(f.TBT_BATCH.given(one.values), counted)


@counts(f.ARITH_BATCH, by="enumerated")
def arith_batch(rng: random.Random) -> Case:
    """Arithmetic so slow that computing is the longer already at a tenth of a row."""
    one = served(rng)
    one.values["peak_flops"] *= 1e-6
    one.values["tpot_target"] = one.step_s(rng.uniform(0.5, 9))
    counted = largest(lambda batch: one.step_s(batch) <= one.tpot_target)
    return Case(f.ARITH_BATCH.given(one.values), counted)


@counts(f.ROOM_BATCH, by="enumerated")
def room_batch(rng: random.Random) -> Case:
    """Admit requests, all their tokens at once, while there are bytes."""
    one = served(rng)
    left = one.hbm_bytes - run(one.shape, batch=1, context=0, chunk=1).weight_bytes
    tokens = one.prompt_len + one.new_tokens
    held = 0
    while (left := left - one.cache_bytes(tokens)) >= 0:
        held += 1
    return Case(f.ROOM_BATCH.given(one.values), held, math.floor)


@counts(f.DECODE_BATCH, by="enumerated")
def decode_batch(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.DECODE_BATCH.given(one.values), decoding(one))


@counts(f.DECODE_STEP_S, by="enumerated")
def decode_step_s(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.DECODE_STEP_S.given(one.values), one.step_s(decoding(one)))


@counts(f.SHARED_TIME_BATCH, by="enumerated")
def shared_time_batch(rng: random.Random) -> Case:
    one, hint = riding(rng)
    one.values["hbm_bytes"] = 1e12
    counted = sharing(one, hint)
    return Case(f.SHARED_TIME_BATCH.given(one.values), counted)


@counts(f.SHARED_BATCH, by="enumerated")
def shared_batch(rng: random.Random) -> Case:
    one, hint = riding(rng)
    counted = sharing(one, hint)
    return Case(f.SHARED_BATCH.given(one.values), counted)


@counts(f.RIDE_S, by="enumerated")
def ride_s(rng: random.Random) -> Case:
    one, hint = riding(rng)
    counted = one.ride_s(sharing(one, hint))
    return Case(f.RIDE_S.given(one.values), counted)


@counts(f.SHARED_STEP_S, by="enumerated")
def shared_step_s(rng: random.Random) -> Case:
    one, hint = riding(rng)
    counted = one.mean_step_s(sharing(one, hint))
    return Case(f.SHARED_STEP_S.given(one.values), counted)


def prefilled_per_s(one: Served) -> float:
    """Prompts without end on every GPU, each sent when it is done and the wire free."""
    computed = wire_free = 0.0
    left = []
    for _ in range(60):
        computed += one.prefill_each_s()
        wire_free = max(computed, wire_free) + one.transfer_s()
        left.append(wire_free)
    return float(one.n_prefill * 30 / (left[-1] - left[-31]))


def decode_gpu(one: Served) -> float:
    """Seconds of a decode GPU that a request takes."""
    batch = decoding(one)
    return gpu_s(one, batch, one.step_s(batch))


def decoded_per_s(one: Served) -> float:
    return float(one.n_decode / decode_gpu(one))


def shared_gpu(one: Served, hint: float) -> float:
    """Seconds of a GPU that a request takes where prompts ride along."""
    batch = sharing(one, hint)
    return gpu_s(one, batch, one.mean_step_s(batch))


@counts(f.DECODE_GPU_S, by="enumerated")
def decode_pool_gpu_s(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.DECODE_GPU_S.given(one.values), decode_gpu(one))


@counts(f.SHARED_GAP_S, by="enumerated")
def shared_gap_s(rng: random.Random) -> Case:
    """Each gap carries the prompts that arrived during the one before it."""
    step_s, ride = rng.uniform(0.1, 2), rng.uniform(0.1, 2)
    rate = rng.uniform(0.1, 0.6) / ride
    gap_s = step_s
    for _ in range(200):
        gap_s = step_s + gap_s * rate * ride
    values = {"decode_step_s": step_s, "ride_s": ride, "arrival_rate": rate}
    return Case(values, gap_s)


@counts(f.SHARED_GPU_S, by="enumerated")
def shared_gpu_s(rng: random.Random) -> Case:
    one, hint = riding(rng)
    counted = shared_gpu(one, hint)
    return Case(f.SHARED_GPU_S.given(one.values), counted)


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
    one, hint = riding(rng)
    counted = (one.n_prefill + one.n_decode) / shared_gpu(one, hint)
    return Case(f.SHARED_RATE.given(one.values), counted)


def fewest(arrival_rate: float, one_gpu_per_s: float) -> int:
    """GPUs that keep up with what arrives."""
    return first(lambda gpus: gpus * one_gpu_per_s >= arrival_rate)


@counts(f.SHARED_GPUS, by="enumerated")
def shared_gpus(rng: random.Random) -> Case:
    one, hint = riding(rng)
    one.values["arrival_rate"] *= rng.uniform(1, 9)
    counted = fewest(one.arrival_rate, 1 / shared_gpu(one, hint))
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


@counts(f.TOKEN_COST, by="executed")
def token_cost(rng: random.Random) -> Case:
    """Let an engine serve and wait; pay for all of its time, and count the answers."""
    price, step_s = rng.uniform(1e-4, 1e-2), rng.uniform(0.01, 0.1)
    lengths = [rng.randint(1, 9) for _ in range(rng.randint(1, 6))]
    asked = [
        Request(arrival_s=5.0 * each, prompt_len=4, output_len=length, id=each)
        for each, length in enumerate(lengths)
    ]
    cost = IterationCost(weights_s=step_s, row_s=1e-9)
    report = simulate(asked, Pool(cost, Chunked(64), kv_blocks=99))
    paid = price * float(report.finished_s.max())
    speed = report.throughput_tokens_per_s
    return Case({"gpu_price": price, "tokens_per_s": speed}, paid / sum(lengths))
