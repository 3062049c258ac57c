"""Parameters counted tensor by tensor, experts counted over all possible routings."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Callable
from statistics import fmean

import numpy as np

from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.formula.formula import Formula
from llmserve_lab.moe import formulas as f
from llmserve_lab.moe.layer import MoeLayer, batch, layer_of
from llmserve_lab.transformer.ffn import moe_ffn
from tests.counted import Case, counts
from tests.moe.small import FLOAT, every_routing, sizes, spec_of
from tests.traffic import Traffic, part

Params = Callable[[MoeLayer], float]


def numbers(layer: MoeLayer, *names: str) -> int:
    """How many numbers there are in the weights whose names begin so."""
    return sum(a.size for n, a in layer.weights.items() if n.split(".")[0] in names)


def touched(layer: MoeLayer, chosen: list[int]) -> int:
    """Numbers that are read for rows that go to these experts, each expert once."""
    seats = sorted(set(chosen))
    routed = [a[seats] for n, a in layer.weights.items() if n.startswith("experts.")]
    return sum(a.size for a in routed) + numbers(layer, "shared_experts", "router")


def counted(formula: Formula, rng: random.Random, count: Params) -> Case:
    """A random layer, and what ``count`` finds in it."""
    spec, width = spec_of(rng), rng.randint(1, 6)
    layer = layer_of(spec, d_model=width)
    return Case(sizes(formula, spec, d_model=width), count(layer))


@counts(f.EXPERT_PARAMS, by="executed")
def expert_params(rng: random.Random) -> Case:
    return counted(
        f.EXPERT_PARAMS, rng, lambda x: numbers(x, "experts") / x.spec.n_experts
    )


@counts(f.ROUTER_PARAMS, by="executed")
def router_params(rng: random.Random) -> Case:
    return counted(f.ROUTER_PARAMS, rng, lambda x: numbers(x, "router"))


@counts(f.MOE_PARAMS, by="executed")
def moe_params(rng: random.Random) -> Case:
    every = ("experts", "shared_experts", "router")
    return counted(f.MOE_PARAMS, rng, lambda x: numbers(x, *every))


def one_row(layer: MoeLayer) -> float:
    """Numbers that a single row touches."""
    width = layer.weights["router"].shape[0]
    chosen, _ = layer.route(batch(1, d_model=width))
    return touched(layer, chosen.ravel().tolist())


@counts(f.MOE_ACTIVE, by="executed")
def moe_active(rng: random.Random) -> Case:
    return counted(f.MOE_ACTIVE, rng, one_row)


@counts(f.ACTIVE_SHARE, by="executed")
def active_share(rng: random.Random) -> Case:
    every = ("experts", "shared_experts", "router")
    return counted(f.ACTIVE_SHARE, rng, lambda x: one_row(x) / numbers(x, *every))


def crowd(rng: random.Random) -> tuple[MoeFfn, int, list[tuple[tuple[int, ...], ...]]]:
    """A few experts, a few rows, and every routing that there can be."""
    n_experts = rng.randint(2, 4)
    top_k, n_rows = rng.randint(1, min(n_experts, 2)), rng.randint(1, 3)
    spec = spec_of(rng, n_experts=n_experts, top_k=top_k)
    return spec, n_rows, list(every_routing(n_experts, top_k, n_rows))


def met(routing: tuple[tuple[int, ...], ...]) -> set[int]:
    return {expert for row in routing for expert in row}


@counts(f.TOUCHED_EXPERTS, by="enumerated")
def touched_experts(rng: random.Random) -> Case:
    spec, n_rows, routings = crowd(rng)
    mean = fmean(len(met(each)) for each in routings)
    return Case(sizes(f.TOUCHED_EXPERTS, spec, n_rows=n_rows), mean)


def read(layer: MoeLayer, routings: list[tuple[tuple[int, ...], ...]]) -> float:
    """Bytes of weights that rows read, mean over all routings."""
    return FLOAT * fmean(touched(layer, list(met(each))) for each in routings)


@counts(f.MOE_READ_BYTES, by="executed")
def moe_read_bytes(rng: random.Random) -> Case:
    spec, n_rows, routings = crowd(rng)
    layer = layer_of(spec, d_model=3)
    values = sizes(f.MOE_READ_BYTES, spec, n_rows=n_rows, d_model=3)
    return Case(values, read(layer, routings))


@counts(f.READ_RATIO, by="executed")
def read_ratio(rng: random.Random) -> Case:
    spec, n_rows, routings = crowd(rng)
    layer = layer_of(spec, d_model=3)
    values = sizes(f.READ_RATIO, spec, n_rows=n_rows, d_model=3)
    return Case(values, read(layer, routings) / (FLOAT * one_row(layer)))


@counts(f.ROWS_PER_EXPERT, by="executed")
def rows_per_expert(rng: random.Random) -> Case:
    spec, n_rows = spec_of(rng), rng.randint(1, 9)
    chosen, _ = layer_of(spec).route(batch(n_rows))
    rows = [int((chosen == expert).sum()) for expert in range(spec.n_experts)]
    return Case(sizes(f.ROWS_PER_EXPERT, spec, n_rows=n_rows), fmean(rows))


@counts(f.EXPERT_INTENSITY, by="enumerated")
def expert_intensity(rng: random.Random) -> Case:
    """Multiply and add each number of an expert for each of its rows."""
    spec, n_rows, routings = crowd(rng)
    expert = numbers(layer_of(spec, d_model=3), "experts") // spec.n_experts
    flops = sum(2 * expert for each in routings for row in each for _ in row)
    bytes_read = sum(FLOAT * expert * len(met(each)) for each in routings)
    values = sizes(f.EXPERT_INTENSITY, spec, n_rows=n_rows)
    return Case(values, flops / bytes_read)


def evenly(layer: MoeLayer, rounds: int) -> Traffic:
    """Run so many rounds of rows, in each of which every expert is chosen top_k times.

    The router is the identity: row r asks for the experts from r on.
    """
    many, top_k = layer.spec.n_experts, layer.spec.top_k
    asked = sum(np.roll(np.eye(many), place, axis=1) for place in range(top_k))
    weights = {**layer.weights, "router": np.eye(many)}
    traffic = Traffic(weights)
    moe_ffn(np.tile(asked, (rounds, 1)), weights, layer.spec, run=traffic.on())
    return traffic


@counts(f.MOE_RIDGE_ROWS, by="executed")
def moe_ridge_rows(rng: random.Random) -> Case:
    """Run more and more rounds, until computing takes longer than reading experts."""
    spec = spec_of(rng, n_experts=rng.randint(2, 6))
    layer = layer_of(spec, d_model=spec.n_experts)
    machine = {"peak_flops": rng.randint(5, 40) + 0.3, "hbm_bw": rng.randint(1, 4)}

    def computes_longer(rounds: int) -> bool:
        seen = evenly(layer, rounds)
        read_s = part(seen.weight_bytes, "experts") / machine["hbm_bw"]
        return part(seen.flops, "experts") / machine["peak_flops"] > read_s

    rounds = bisect_left(range(1, 400), True, key=computes_longer) + 1
    values = sizes(f.MOE_RIDGE_ROWS, spec, **machine, eff_compute=1.0, eff_mem=1.0)
    return Case(values, rounds, lambda rows: math.ceil(rows / spec.n_experts))


def cut(rng: random.Random, rows: int) -> tuple[dict[str, float], float, float]:
    """One slice of one matrix times some rows: settings, FLOPs, bytes of all three."""
    width, ep, columns = rng.randint(1, 5), rng.randint(1, 4), rng.randint(1, 5)
    slab, seen = np.ones((width, columns)), np.ones((rows, width))
    out = seen @ slab
    flops = 2 * out.size * width
    values: dict[str, float] = {"d_model": width, "d_expert": columns * ep, "ep": ep}
    values |= {"bytes_weight": FLOAT, "bytes_act": FLOAT}
    return values, flops, slab.nbytes + seen.nbytes + out.nbytes


@counts(f.SLICE_INTENSITY, by="enumerated")
def slice_intensity(rng: random.Random) -> Case:
    rows = rng.randint(1, 9)
    values, flops, moved = cut(rng, rows)
    return Case(values | {"rows_per_expert": rows}, flops / moved)


@counts(f.SLICE_LIMIT, by="enumerated")
def slice_limit(rng: random.Random) -> Case:
    """What a thousand rows more add, once the weights have been read."""
    seed = rng.random()
    values, some, moved = cut(random.Random(seed), 1)
    _, more, moved_more = cut(random.Random(seed), 1001)
    del values["bytes_weight"]
    return Case(values, (more - some) / (moved_more - moved))
