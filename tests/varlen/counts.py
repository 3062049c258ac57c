"""The chapter's closed forms, counted: rows and pairs of passes really run."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Callable

from llmserve_lab.formula.formula import Formula
from llmserve_lab.transformer import Meter, Transformer, tiny_shape
from llmserve_lab.varlen import formulas as f
from llmserve_lab.varlen.strategies import Outcome
from tests.counted import Case, counts
from tests.varlen.batches import carried_out, drawn, model, moments, shape

MODEL = {
    "params_read": shape().params_read,
    "params_active": sum(
        tensor.params_active for tensor in shape().tensors() if len(tensor.shape) == 2
    ),
    "attn_flops_per_pair": shape().attn_flops_per_pair(),
}


def of(formula: Formula, lengths: list[int], **more: float) -> dict[str, float]:
    """What ``formula`` asks about a batch of these lengths."""
    known = moments(lengths) | MODEL | more
    return formula.given(known)


def played(
    formula: Formula, way: str, read: Callable[[Outcome], float]
) -> Callable[[random.Random], Case]:
    """Run a way on a random batch and read one number off the outcome."""

    def count(rng: random.Random) -> Case:
        lengths = drawn(rng)
        return Case(of(formula, lengths), read(carried_out(way, lengths)))

    return counts(formula, by="executed")(count)


played(f.PADDED_ROWS, "padded", lambda done: done.n_rows)
played(f.PACKED_ROWS, "varlen", lambda done: done.n_rows)
played(f.PADDED_PAIRS, "padded", lambda done: done.pairs)
played(f.MASKED_PAIRS, "masked", lambda done: done.pairs)
played(f.VARLEN_PAIRS, "varlen", lambda done: done.pairs)
played(f.USEFUL_PAIRS, "padded", lambda done: done.useful_pairs)
played(f.WASTED_PAIRS, "varlen", lambda done: done.wasted_pairs)
played(f.LINEAR_FLOPS, "varlen", lambda done: done.linear_flops)
played(f.PADDING_SHARE, "padded", lambda done: done.wasted_rows / done.n_rows)


@counts(f.MASKED_RATIO, by="executed")
def masked_ratio(rng: random.Random) -> Case:
    lengths = drawn(rng)
    masked, varlen = (carried_out(way, lengths).pairs for way in ("masked", "varlen"))
    return Case(of(f.MASKED_RATIO, lengths), masked / varlen)


@counts(f.ROW_PROMPT, by="enumerated")
def row_prompt(rng: random.Random) -> Case:
    """Ask every row how long the request is that it belongs to."""
    lengths = drawn(rng)
    answers = [length for length in lengths for _ in range(length)]
    return Case(of(f.ROW_PROMPT, lengths), sum(answers) / len(answers))


def useful_flops(lengths: list[int]) -> float:
    """FLOPs that a pass does on pairs that count, layer by layer, head by head."""
    done = carried_out("varlen", lengths)
    return done.attn_flops / done.pairs * done.useful_pairs


@counts(f.ATTN_FLOPS, by="executed")
def attn_flops(rng: random.Random) -> Case:
    lengths = drawn(rng)
    return Case(of(f.ATTN_FLOPS, lengths), useful_flops(lengths))


@counts(f.ATTN_SHARE, by="executed")
def attn_share(rng: random.Random) -> Case:
    lengths = drawn(rng)
    attention = useful_flops(lengths)
    linear = carried_out("masked", lengths).linear_flops
    return Case(of(f.ATTN_SHARE, lengths), attention / (attention + linear))


@counts(f.PACKED_INTENSITY, by="executed")
def packed_intensity(rng: random.Random) -> Case:
    """FLOPs of the pass over the bytes of every weight but the look-up table."""
    lengths, width = drawn(rng), rng.choice((1, 2, 4))
    flops = useful_flops(lengths) + carried_out("varlen", lengths).linear_flops
    arrays = model().weights.arrays.items()
    read = sum(a.size * width for name, a in arrays if "embed" not in name)
    return Case(of(f.PACKED_INTENSITY, lengths, bytes_weight=width), flops / read)


def overtaken(rng: random.Random, done: Callable[[Meter], int]) -> Case:
    """Run prompts, and find the shortest with more FLOPs in attention than elsewhere.

    As many are not yet more.
    """
    heads = rng.randint(2, 4)
    tiny = tiny_shape(
        n_layers=rng.randint(1, 2),
        d_model=rng.randint(4, 9),
        vocab=7,
        n_heads=heads,
        n_kv_heads=heads,
        d_head=2 * rng.randint(1, 3),
    )
    runs = Transformer(tiny)

    def late(length: int) -> bool:
        meter = Meter()
        runs.forward([1] * length, run=meter.on())
        return done(meter) > meter.linear_flops

    first = bisect_left(range(1, 1000), True, key=late) + 1
    products = [each for each in tiny.tensors() if len(each.shape) == 2]
    values = {
        "params_active": sum(each.params_active for each in products),
        "attn_flops_per_pair": tiny.attn_flops_per_pair(),
    }
    return Case(values, first, lambda length: math.floor(length) + 1)


@counts(f.OVERTAKE_PROMPT, by="executed")
def overtake_prompt(rng: random.Random) -> Case:
    """The pairs that count are those that the mask lets through."""
    return overtaken(rng, lambda meter: meter.useful_attn_flops)


@counts(f.OVERTAKE_SQUARE, by="executed")
def overtake_square(rng: random.Random) -> Case:
    """The whole square counts, as it is computed."""
    return overtaken(rng, lambda meter: meter.attn_flops)


@counts(f.PACKED_RIDGE_ROWS, by="executed")
def packed_ridge_rows(rng: random.Random) -> Case:
    """Add requests of one length until computing takes longer than reading."""
    length = rng.randint(1, 9)
    machine = {"peak_flops": 5e5 + 0.3, "hbm_bw": 1e3, "eff_compute": 1.0}
    known = MODEL | machine | {"eff_mem": 1.0, "bytes_weight": 2.0}
    known |= {"row_prompt": float(length)}
    one = useful_flops([length]) + carried_out("varlen", [length]).linear_flops
    read_s = known["params_read"] * known["bytes_weight"] / known["hbm_bw"]
    requests = 1
    while requests * one / known["peak_flops"] < read_s:
        requests += 1
    values = f.PACKED_RIDGE_ROWS.given(known)
    return Case(values, requests, lambda rows: math.ceil(rows / length))
