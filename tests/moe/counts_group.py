"""What GPUs of a group hold, read, compute and send, played out one by one."""

from __future__ import annotations

import math
import random

import numpy as np

from llmserve_lab.moe import formulas as f
from llmserve_lab.moe.layer import layer_of
from llmserve_lab.moe.placement import contiguous
from tests.counted import Case, counts
from tests.moe.counts import crowd, met, numbers
from tests.moe.small import FLOAT, sizes, spec_of


@counts(f.GROUP_ROWS, by="enumerated")
def group_rows(rng: random.Random) -> Case:
    ep, rows = rng.randint(1, 6), rng.randint(1, 5)
    everyone = [(gpu, row) for gpu in range(ep) for row in range(rows)]
    return Case({"ep": ep, "gpu_rows": rows}, len(everyone))


@counts(f.GPU_WEIGHT_BYTES, by="executed")
def gpu_weight_bytes(rng: random.Random) -> Case:
    """Arrays of a layer, dealt out as the placement says."""
    ep = rng.randint(1, 4)
    layer = layer_of(spec_of(rng, n_experts=ep * rng.randint(1, 3), top_k=1), d_model=3)
    routed = {n: a for n, a in layer.weights.items() if n.startswith("experts.")}
    own = sum(a.nbytes for n, a in layer.weights.items() if n not in routed)
    held = contiguous(layer.spec.n_experts, ep).seats[rng.randrange(ep)]
    mine = sum(array[list(held)].nbytes for array in routed.values())
    total = sum(array.nbytes for array in routed.values())
    known = {"routed_bytes": total, "ep": ep, "replicated_bytes": own}
    return Case(known, mine + own)


@counts(f.LEAST_EP, by="enumerated")
def least_ep(rng: random.Random) -> Case:
    """One GPU more until a share of the experts fits beside the rest."""
    memory = rng.randint(20, 80)
    rest, keep = rng.randint(1, 9), rng.randint(1, 9)
    routed, ep = rng.randint(1, 999), 1
    while routed > ep * (memory - rest - keep):
        ep += 1
    known = {"routed_bytes": routed, "replicated_bytes": rest}
    return Case(known | {"engine_bytes": memory, "reserved_bytes": keep}, ep)


def on_gpus(rng: random.Random) -> tuple[dict[str, float], float, float]:
    """Settings; bytes of touched experts and FLOPs of the mean GPU, over routings."""
    spec, n_rows, routings = crowd(rng)
    ep = rng.choice([g for g in (1, 2, 3, 4) if n_rows % g == 0])
    one = numbers(layer_of(spec, d_model=3), "experts") // spec.n_experts
    read = FLOAT * one * sum(len(met(each)) for each in routings)
    flops = 2 * one * sum(len(row) for each in routings for row in each)
    known = sizes(f.MOE_READ_BYTES, spec, n_rows=n_rows, d_model=3)
    known |= {"ep": ep, "gpu_rows": n_rows / ep}
    gpus = ep * len(routings)
    return known, read / gpus, flops / gpus


@counts(f.LAYER_READ_S, by="enumerated")
def layer_read_s(rng: random.Random) -> Case:
    known, read, _ = on_gpus(rng)
    bandwidth = rng.randint(1, 9)
    machine = {"hbm_bw": bandwidth, "eff_mem": 0.5}
    return Case(f.LAYER_READ_S.given(known | machine), read / (bandwidth * 0.5))


@counts(f.LAYER_COMPUTE_S, by="enumerated")
def layer_compute_s(rng: random.Random) -> Case:
    known, _, flops = on_gpus(rng)
    peak = rng.randint(1, 9)
    machine = {"peak_flops": peak, "eff_compute": 0.5}
    return Case(f.LAYER_COMPUTE_S.given(known | machine), flops / (peak * 0.5))


def homes(rng: random.Random) -> tuple[dict[str, float], float]:
    """A group, and the share of all pairs of its GPUs that are in different nodes."""
    node = rng.randint(1, 4)
    ep = rng.choice((rng.randint(1, node), node * rng.randint(1, 4)))
    pairs = [(a, b) for a in range(ep) for b in range(ep)]
    far = sum(a // node != b // node for a, b in pairs) / len(pairs)
    return {"node_gpus": node, "ep": ep}, far


@counts(f.FAR_COPIES, by="enumerated")
def far_copies(rng: random.Random) -> Case:
    known, far = homes(rng)
    return Case(known, far)


@counts(f.COPIES_S, by="enumerated")
def copies_s(rng: random.Random) -> Case:
    """One copy to each GPU in turn, through one of two ports; the later one decides."""
    known, _ = homes(rng)
    node, ep = int(known["node_gpus"]), int(known["ep"])
    far_rate, near_rate, size = rng.randint(1, 9), rng.randint(1, 9), rng.randint(1, 9)
    top_k, start = rng.randint(1, 4), rng.randint(0, 9)
    ports = {True: 0.0, False: 0.0}
    for _ in range(top_k):  # experts; a row for each GPU of the group
        for there in range(1, ep):  # the first is the own one
            ports[there // node > 0] += size
    took = max(ports[True] / far_rate, ports[False] / near_rate)
    known |= {"far_rate": far_rate, "near_rate": near_rate, "copy_start_s": start}
    known |= {"one_copy_bytes": size, "top_k": top_k, "gpu_rows": ep}
    return Case(known, start + took)


@counts(f.EXPERT_CAPACITY, by="enumerated")
def expert_capacity(rng: random.Random) -> Case:
    """Seats of all experts dealt out evenly, a share more than there are choices."""
    n_experts, quarters = rng.randint(2, 6), rng.randint(1, 8)
    top_k, n_rows = rng.randint(1, n_experts), rng.randint(1, 9)
    choices = [None] * (n_rows * top_k * quarters)  # a quarter of a seat each
    seats = np.array([len(choices[i::n_experts]) for i in range(n_experts)]).mean() / 4
    assert math.isclose(4 * seats * n_experts, len(choices))
    known = {"n_experts": n_experts, "top_k": top_k, "n_rows": n_rows}
    return Case({**known, "capacity_factor": quarters / 4}, float(seats))
