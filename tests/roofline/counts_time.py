"""The roofline's times, ridges and limits, counted tick by tick and try by try."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline import formulas as f
from tests.counted import Case, counts
from tests.roofline.clock import Unit, unit_for
from tests.roofline.machine import Toy
from tests.roofline.toys import run, setting


def machine_values(compute: Unit, memory: Unit) -> dict[str, float]:
    """How the book's formulas describe two units with a tick of one second."""
    return {
        "peak_flops": float(compute.per_tick),
        "eff_compute": compute.efficiency,
        "hbm_bw": float(memory.per_tick),
        "eff_mem": memory.efficiency,
    }


def random_unit(rng: random.Random) -> Unit:
    return Unit(Fraction(rng.randint(1, 9)), rng.randint(1, 10))


def with_ridge(rng: random.Random, ridge: float) -> dict[str, float]:
    """A machine whose FLOPs done per byte delivered come to ``ridge``."""
    memory, duty = random_unit(rng), rng.randint(1, 10)
    per_tick = Fraction(ridge) * memory.done(10) / duty
    return machine_values(Unit(per_tick, duty), memory)


@counts(f.RIDGE, by="enumerated")
def ridge(rng: random.Random) -> Case:
    compute, memory = random_unit(rng), random_unit(rng)
    return Case(
        machine_values(compute, memory), float(compute.done(100) / memory.done(100))
    )


@counts(f.RIDGE_DATASHEET, by="enumerated")
def datasheet_ridge(rng: random.Random) -> Case:
    """Two units that never rest."""
    compute, memory = (Unit(Fraction(rng.randint(1, 9)), 10) for _ in range(2))
    counted = float(compute.done(100) / memory.done(100))
    return Case(f.RIDGE_DATASHEET.given(machine_values(compute, memory)), counted)


@counts(f.ATTAINABLE_FLOPS_DATASHEET, by="enumerated")
def datasheet_roof(rng: random.Random) -> Case:
    """Two units that never rest: what arrives brings work, if there is room."""
    compute, memory, intensity = (rng.randint(1, 9) for _ in range(3))
    finished = sum(min(compute, memory * intensity) for _ in range(10))
    known = {"peak_flops": compute, "hbm_bw": memory, "intensity": intensity}
    return Case(known, finished / 10)


@counts(f.ATTAINABLE_FLOPS, by="enumerated")
def attainable_flops(rng: random.Random) -> Case:
    """Every byte that arrives brings work; the compute unit does what it can of it."""
    compute, memory, intensity = random_unit(rng), random_unit(rng), rng.randint(1, 6)
    waiting = finished = 0
    for _ in range(10):
        waiting += int(memory.done(10)) * intensity
        room = int(compute.done(10))
        while waiting and room:
            waiting, room, finished = waiting - 1, room - 1, finished + 1
    values = machine_values(compute, memory) | {"intensity": intensity}
    return Case(values, finished / 100)


def first(found: Any, start: int = 1) -> int:
    """The first whole number from ``start`` on for which ``found`` holds."""
    number = start
    while not found(number):
        number += 1
    return number


def linear_intensity(shape: Toy, *, batch: int, context: int, chunk: int) -> float:
    meter = run(shape, batch=batch, context=context, chunk=chunk)
    return meter.linear_flops / meter.bytes_read


@counts(f.RIDGE_ROWS, by="enumerated")
def ridge_rows(rng: random.Random) -> Case:
    shape, values = setting(rng)
    one_row = linear_intensity(shape, batch=1, context=0, chunk=1)
    target = one_row * rng.uniform(1, 9)
    rows = first(
        lambda n: linear_intensity(shape, batch=1, context=0, chunk=n) >= target
    )
    values |= with_ridge(rng, target)
    return Case(f.RIDGE_ROWS.given(values), rows, math.ceil)


@counts(f.RIDGE_BATCH, by="enumerated")
def ridge_batch(rng: random.Random) -> Case:
    shape, values = setting(rng)
    size = {"context": values["context"], "chunk": values["chunk"]}
    one = run(shape, batch=1, **size)
    target = one.linear_flops / one.kv_read_bytes * rng.uniform(0.2, 0.8)
    batch = first(lambda b: linear_intensity(shape, batch=b, **size) >= target)
    values |= with_ridge(rng, target)
    return Case(f.RIDGE_BATCH.given(values), batch, math.ceil)


@counts(f.RIDGE_CONTEXT, by="enumerated")
def ridge_context(rng: random.Random) -> Case:
    """In an endless batch the FLOPs and bytes of one request more are all there is."""
    shape, values = setting(rng)
    chunk = values["chunk"]

    def of_one_more(context: int) -> float:
        two, three = (run(shape, batch=b, context=context, chunk=chunk) for b in (2, 3))
        flops = three.linear_flops - two.linear_flops
        return flops / (three.kv_read_bytes - two.kv_read_bytes)

    target = of_one_more(1) / rng.uniform(1, 9)
    context = first(lambda tokens: of_one_more(tokens) < target)
    values |= with_ridge(rng, target)
    return Case(f.RIDGE_CONTEXT.given(values), context - 1, math.floor)


@counts(f.PREFILL_REACH, by="enumerated")
def prefill_reach(rng: random.Random) -> Case:
    shape, values = setting(rng)
    size = {"batch": 1, "chunk": values["chunk"]}
    target = linear_intensity(shape, context=0, **size) * rng.uniform(0.3, 0.95)
    context = first(lambda n: linear_intensity(shape, context=n, **size) < target)
    values |= with_ridge(rng, target)
    return Case(f.PREFILL_REACH.given(values), context - 1, math.floor)


@counts(f.BATCH_FITS, by="enumerated")
def batch_fits(rng: random.Random) -> Case:
    """Load the weights, then admit requests until the next one does not fit."""
    shape, values = setting(rng)
    one = run(shape, batch=1, context=values["context"], chunk=1)
    values["hbm_bytes"] = one.weight_bytes + one.kv_read_bytes * rng.uniform(0.5, 6)
    free, admitted = values["hbm_bytes"] - one.weight_bytes, 0
    while free >= one.kv_read_bytes:
        free, admitted = free - one.kv_read_bytes, admitted + 1
    return Case(f.BATCH_FITS.given(values), admitted, math.floor)


@counts(f.CONTEXT_FITS, by="enumerated")
def context_fits(rng: random.Random) -> Case:
    """Let all requests of a batch grow together until memory is full."""
    shape, values = setting(rng)
    batch = values["batch"]
    one = run(shape, batch=batch, context=1, chunk=1)
    values["hbm_bytes"] = one.weight_bytes + one.kv_read_bytes * rng.uniform(1.5, 9)
    full = first(
        lambda n: (
            run(shape, batch=batch, context=n, chunk=1).bytes_read > values["hbm_bytes"]
        )
    )
    return Case(f.CONTEXT_FITS.given(values), full - 1, math.floor)


def timed(
    formula: Formula, rng: random.Random, *, compute: str = "", memory: str = ""
) -> tuple[dict[str, float], Any, Unit, Unit]:
    """A metered run on units that need whole rounds of ten ticks for its amounts."""
    shape, values = setting(rng)
    size = {name: values[name] for name in ("batch", "context", "chunk")}
    meter = run(shape, **size)
    rate = {"rounds": rng.randint(1, 9), "duty": rng.randint(1, 10)}
    units = [
        unit_for(getattr(meter, name), **rate) if name else random_unit(rng)
        for name in (compute, memory)
    ]
    return formula.given(values | machine_values(*units)), meter, units[0], units[1]


@counts(f.COMPUTE_S, by="enumerated")
def compute_s(rng: random.Random) -> Case:
    values, meter, compute, _ = timed(f.COMPUTE_S, rng, compute="flops")
    return Case(values, compute.ticks_for(meter.flops))


@counts(f.WEIGHTS_S, by="enumerated")
def weights_s(rng: random.Random) -> Case:
    values, meter, _, memory = timed(f.WEIGHTS_S, rng, memory="weight_bytes")
    return Case(values, memory.ticks_for(meter.weight_bytes))


@counts(f.KV_S, by="enumerated")
def kv_s(rng: random.Random) -> Case:
    values, meter, _, memory = timed(f.KV_S, rng, memory="kv_read_bytes")
    return Case(values, memory.ticks_for(meter.kv_read_bytes))


@counts(f.ITERATION_S, by="enumerated")
def iteration_s(rng: random.Random) -> Case:
    """Both units start together; the iteration ends when the later one is done."""
    values, meter, _, memory = timed(f.ITERATION_S, rng, memory="bytes_read")
    compute = unit_for(meter.flops, duty=rng.randint(1, 10), rounds=rng.randint(1, 9))
    values |= {"peak_flops": float(compute.per_tick), "eff_compute": compute.efficiency}
    reading = memory.ticks_for(meter.weight_bytes, meter.kv_read_bytes)
    computing = compute.ticks_for(meter.flops)
    return Case(values, sorted([reading, computing])[-1])


@counts(f.LINEAR_S, by="enumerated")
def products_s(rng: random.Random) -> Case:
    values, meter, compute, _ = timed(f.LINEAR_S, rng, compute="linear_flops")
    return Case(values, compute.ticks_for(meter.linear_flops))


@counts(f.PAIRS_S, by="enumerated")
def pairs_s(rng: random.Random) -> Case:
    values, meter, compute, _ = timed(f.PAIRS_S, rng, compute="attn_flops")
    return Case(values, compute.ticks_for(meter.attn_flops))


@counts(f.ITERATION_S_APART, by="enumerated")
def apart_s(rng: random.Random) -> Case:
    """Two kernels in turn; in each both units start together, the later one ends it."""
    shape, values = setting(rng)
    meter = run(shape, **{n: values[n] for n in ("batch", "context", "chunk")})
    flops, read = Fraction(rng.randint(1, 9)), Fraction(rng.randint(1, 9))
    values |= {"peak_flops": float(flops), "eff_compute": 1.0}
    values |= {"hbm_bw": float(read), "eff_mem": 1.0}
    kernels = (
        (meter.linear_flops, meter.weight_bytes),
        (meter.attn_flops, meter.kv_read_bytes),
    )
    ended = Fraction(0)
    for work, size in kernels:
        computed, arrived = ended + work / flops, ended + Fraction(size) / read
        ended = sorted([computed, arrived])[-1]
    return Case(f.ITERATION_S_APART.given(values), float(ended))


@counts(f.ITERATION_S_DECODE, by="enumerated")
def decode_s(rng: random.Random) -> Case:
    """The products end with their later unit; then every cache is read, in turn."""
    shape, values = setting(rng)
    size = {"batch": values["batch"], "context": values["context"], "chunk": 1}
    meter = run(shape, **size)
    flops, read = Fraction(rng.randint(1, 9)), Fraction(rng.randint(1, 9))
    values |= {"peak_flops": float(flops), "hbm_bw": float(read)}
    values["params_read"] = values["params_active"]
    products = (meter.linear_flops / flops, Fraction(meter.weight_bytes) / read)
    ended = sorted(products)[-1]
    for _ in range(values["batch"]):
        ended += Fraction(meter.kv_read_bytes) / values["batch"] / read
    return Case(f.ITERATION_S_DECODE.given(values), float(ended))


@counts(f.ITERATIONS_PER_S, by="enumerated")
def iterations_per_s(rng: random.Random) -> Case:
    """Read the weights over and over for a while, and count how often."""
    values, meter, _, memory = timed(f.ITERATIONS_PER_S, rng, memory="weight_bytes")
    times = rng.randint(1, 5)
    return Case(values, times / memory.ticks_for(*[meter.weight_bytes] * times))


def in_use(unit: Unit, needed: float, ticks: int) -> float:
    """Share of what a unit could do in so many ticks that was needed."""
    left, done, could = Fraction(needed), Fraction(0), Fraction(0)
    for _ in range(ticks):
        spent = min(left, unit.per_tick)
        left, done, could = left - spent, done + spent, could + unit.per_tick
    return float(done / could)


def measured(formula: Formula, rng: random.Random, *, of: str) -> Case:
    """An iteration that lasts longer than the unit needs, which rests meanwhile."""
    shape, values = setting(rng)
    size = {name: values[name] for name in ("batch", "context", "chunk")}
    needed = float(getattr(run(shape, **size), of))
    ticks = rng.randint(2, 40)
    unit = Unit(Fraction(needed) / rng.randint(1, ticks), 10)
    rate = {"flops": "peak_flops", "bytes_read": "hbm_bw"}[of]
    values |= {rate: float(unit.per_tick), "measured_s": float(ticks)}
    return Case(formula.given(values), in_use(unit, needed, ticks))


@counts(f.MFU_MEASURED, by="enumerated")
def measured_mfu(rng: random.Random) -> Case:
    return measured(f.MFU_MEASURED, rng, of="flops")


@counts(f.MBU, by="enumerated")
def mbu(rng: random.Random) -> Case:
    return measured(f.MBU, rng, of="bytes_read")
