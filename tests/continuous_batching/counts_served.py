"""A served machine, part by part: products, attention and launches one by one."""

from __future__ import annotations

import math
import random
from typing import Any

from llmserve_lab.continuous_batching import formulas as f
from tests.continuous_batching.play import Slice, cut, mixture, prompt, together
from tests.counted import Case, counts
from tests.roofline.machine import Meter
from tests.roofline.toys import setting


def served_s(bill: Meter, known: dict[str, Any]) -> float:
    """Work off the bill: what is hidden is worked off twice as fast, so to say."""
    per_s = known["peak_flops"] * known["eff_compute"]
    bytes_per_s = known["hbm_bw"] * known["eff_mem"]
    computing, reading = bill.linear_flops / per_s, bill.weight_bytes / bytes_per_s
    together_s = min(computing, reading) * known["overlap"]
    products_s = computing + reading - together_s
    attention_s = bill.attn_flops / per_s + bill.kv_read_bytes / bytes_per_s
    return float(products_s + attention_s + known["overhead_s"])


def machine(rng: random.Random) -> dict[str, Any]:
    """A random machine, its launches and what it hides."""
    return {
        "peak_flops": rng.uniform(10, 1000),
        "eff_compute": rng.uniform(0.2, 1),
        "hbm_bw": rng.uniform(10, 1000),
        "eff_mem": rng.uniform(0.2, 1),
        "overlap": rng.random(),
        "overhead_s": rng.random(),
    }


@counts(f.LINEAR_S, by="enumerated")
def linear_s(rng: random.Random) -> Case:
    shape, values, slices = mixture(rng)
    known = values | machine(rng) | {"eff_compute": 0.5}
    flops = together(shape, slices).linear_flops
    return Case(f.LINEAR_S.given(known), flops / (0.5 * known["peak_flops"]))


@counts(f.ATTENTION_S, by="enumerated")
def attention_s(rng: random.Random) -> Case:
    shape, values, slices = mixture(rng)
    known = values | machine(rng) | {"eff_compute": 0.5}
    flops = together(shape, slices).attn_flops
    return Case(f.ATTENTION_S.given(known), flops / (0.5 * known["peak_flops"]))


@counts(f.SERVED_ITERATION_S, by="enumerated")
def served_iteration_s(rng: random.Random) -> Case:
    shape, values, slices = mixture(rng)
    known = values | machine(rng)
    bill = together(shape, slices)
    return Case(f.SERVED_ITERATION_S.given(known), served_s(bill, known))


def busy(rng: random.Random) -> dict[str, Any]:
    """A machine on which the linear layers outlast the weights."""
    return machine(rng) | {"hbm_bw": 1e9}


@counts(f.SERVED_SPARE_FLOPS, by="enumerated")
def served_spare_flops(rng: random.Random) -> Case:
    """What the target leaves once all but the chunk's own work is done."""
    shape, values, (chunk, *decodes) = mixture(rng)
    known = values | busy(rng)
    per_s = known["peak_flops"] * known["eff_compute"]
    bytes_per_s = known["hbm_bw"] * known["eff_mem"]
    bill = together(shape, decodes)
    weights = together(shape, [chunk]).weight_bytes
    read = together(shape, [chunk, *decodes]).kv_read_bytes
    rest_s = known["overhead_s"] + bill.flops / per_s + read / bytes_per_s
    rest_s += weights / bytes_per_s - known["overlap"] * weights / bytes_per_s
    spare = rng.uniform(1, 50)
    known["tbt_target"] = rest_s + spare / per_s
    return Case(f.SERVED_SPARE_FLOPS.given(known), spare)


@counts(f.SERVED_CHUNK_FITS, by="enumerated")
def served_chunk_fits(rng: random.Random) -> Case:
    """Add one row after the other until the iteration lasts too long."""
    shape, values, (chunk, *decodes) = mixture(rng)
    known = values | busy(rng)

    def takes_s(rows: int) -> float:
        return served_s(together(shape, [(chunk[0], rows), *decodes]), known)

    rows = rng.randint(1, 9)
    known["tbt_target"] = (takes_s(rows) + takes_s(rows + 1)) / 2
    fitting = 0
    while takes_s(fitting + 1) < known["tbt_target"]:
        fitting += 1
    return Case(f.SERVED_CHUNK_FITS.given(known), fitting, math.floor)


def prefill_s(rng: random.Random) -> tuple[dict[str, Any], list[Slice], float]:
    """Arguments, the chunks, and how long they take one after another."""
    shape, values = setting(rng)
    length, chunk = prompt(rng)
    known = values | busy(rng) | {"prompt_len": length, "chunk": chunk}
    parts = cut(length, chunk)
    seconds = sum(served_s(together(shape, [part]), known) for part in parts)
    return known, parts, seconds


@counts(f.SERVED_PROMPT_S, by="enumerated")
def served_prompt_s(rng: random.Random) -> Case:
    known, _, seconds = prefill_s(rng)
    return Case(f.SERVED_PROMPT_S.given(known), seconds)


@counts(f.READING_GAP_S, by="enumerated")
def reading_gap_s(rng: random.Random) -> Case:
    known, parts, seconds = prefill_s(rng)
    return Case(f.READING_GAP_S.given(known), seconds / len(parts))
