"""The cache on its way: read, sent, layer by layer, and fetched again."""

from __future__ import annotations

import math
import random

from llmserve_lab.disaggregation import formulas as f
from tests.counted import Case, counts
from tests.disaggregation.toys import Served, first, served
from tests.roofline.toys import run


@counts(f.HANDOFF_BYTES, by="enumerated")
def handoff_bytes(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.HANDOFF_BYTES.given(one.values), one.cache_bytes(one.prompt_len))


@counts(f.TRANSFER_S, by="enumerated")
def transfer_s(rng: random.Random) -> Case:
    """Token after token goes over the wire."""
    one = served(rng)
    now_s = 0.0
    for _ in range(one.prompt_len):
        now_s += one.cache_bytes(1) / (one.link_bw * one.eff_link)
    return Case(f.TRANSFER_S.given(one.values), now_s)


@counts(f.PREFILL_FLOPS, by="enumerated")
def prefill_flops(rng: random.Random) -> Case:
    one = served(rng)
    meter = run(one.shape, batch=1, context=0, chunk=one.prompt_len)
    return Case(f.PREFILL_FLOPS.given(one.values), meter.flops)


@counts(f.PREFILL_COMPUTE_S, by="enumerated")
def prefill_compute_s(rng: random.Random) -> Case:
    one = served(rng)
    meter = run(one.shape, batch=1, context=0, chunk=one.prompt_len)
    counted = meter.flops / one.flops_per_s
    return Case(f.PREFILL_COMPUTE_S.given(one.values), counted)


@counts(f.PREFILL_LINEAR_S, by="enumerated")
def prefill_linear_s(rng: random.Random) -> Case:
    one = served(rng)
    meter = run(one.shape, batch=1, context=0, chunk=one.prompt_len)
    counted = meter.linear_flops / one.flops_per_s
    return Case(f.PREFILL_LINEAR_S.given(one.values), counted)


@counts(f.PREFILL_S, by="enumerated")
def prefill_s(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.PREFILL_S.given(one.values), one.prefill_s())


def late_s(one: Served) -> float:
    """A layer is sent when it is computed and the wire is free."""
    computed = wire_free = 0.0
    for _ in range(one.n_layers):
        computed += one.prefill_s() / one.n_layers
        wire_free = max(computed, wire_free) + one.transfer_s() / one.n_layers
    return wire_free - computed


@counts(f.PREFILL_EACH_S, by="enumerated")
def prefill_each_s(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.PREFILL_EACH_S.given(one.values), one.prefill_each_s())


@counts(f.EXPOSED_S, by="enumerated")
def exposed_s(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.EXPOSED_S.given(one.values), late_s(one))


@counts(f.KV_MADE_PER_S, by="enumerated")
def kv_made_per_s(rng: random.Random) -> Case:
    """Prompt after prompt, and the bytes that they leave behind."""
    one = served(rng)
    made = taken = 0.0
    for _ in range(rng.randint(1, 4)):
        made += one.cache_bytes(one.prompt_len)
        taken += one.prefill_s()
    return Case(f.KV_MADE_PER_S.given(one.values), made / taken)


@counts(f.KV_MADE_SHORT, by="enumerated")
def kv_made_short(rng: random.Random) -> Case:
    one = served(rng)
    meter = run(one.shape, batch=1, context=0, chunk=one.prompt_len)
    seconds = meter.linear_flops / one.flops_per_s
    made = one.cache_bytes(one.prompt_len)
    return Case(f.KV_MADE_SHORT.given(one.values), made / seconds)


@counts(f.TIER_GAIN, by="enumerated")
def tier_gain(rng: random.Random) -> Case:
    one = served(rng)
    fetched = one.cache_bytes(one.prompt_len) / one.tier_bw
    return Case(f.TIER_GAIN.given(one.values), one.prefill_s() / fetched)


def step_s(one: Served) -> float:
    """Read the weights, then every cache of the batch."""
    meter = run(one.shape, batch=one.batch, context=one.context, chunk=1)
    return (meter.weight_bytes + meter.kv_read_bytes) / one.bytes_per_s


@counts(f.DECODE_S, by="enumerated")
def decode_s(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.DECODE_S.given(one.values), step_s(one))


@counts(f.FREE_ROWS, by="enumerated")
def free_rows(rng: random.Random) -> Case:
    """Add rows, one by one, as long as computing them is no longer than reading."""
    one = served(rng)
    one_row = run(one.shape, batch=1, context=0, chunk=1).linear_flops
    some = one.batch + rng.uniform(0, 9)
    one.values["peak_flops"] = one_row * some / step_s(one) / one.eff_compute

    def late(rows: int) -> bool:
        meter = run(one.shape, batch=1, context=0, chunk=rows)
        return meter.linear_flops / one.flops_per_s > step_s(one)

    rows = first(late) - 1
    return Case(f.FREE_ROWS.given(one.values), rows - one.batch, math.floor)


@counts(f.DECODE_STEPS, by="enumerated")
def decode_steps(rng: random.Random) -> Case:
    one = served(rng)
    return Case(f.DECODE_STEPS.given(one.values), len(one.contexts()))


@counts(f.MEAN_CONTEXT, by="enumerated")
def mean_context(rng: random.Random) -> Case:
    one = served(rng)
    found = one.contexts()
    return Case(f.MEAN_CONTEXT.given(one.values), sum(found) / len(found))
