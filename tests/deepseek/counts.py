"""Latent attention executed, experts drawn, rows sent: what the closed forms say."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.executed.mla import execute
from tests.counted import Case, counts
from tests.deepseek.works import Works, run_of


def spec(rng: random.Random) -> LatentAttention:
    """A random MLA whose values are as wide as its plain keys."""
    head = rng.randint(1, 4)
    return LatentAttention(
        n_heads=rng.randint(1, 3),
        d_head=head,
        d_v=head,
        d_latent=rng.randint(2, 6),
        d_rope=2 * rng.randint(1, 2),
        d_q=rng.randint(1, 5),
    )


def made(of: LatentAttention) -> int:
    """Parameters that make keys and values, one by one."""
    (shape,) = (s for name, s in of.weights(8) if name == "kv_b_proj")
    return sum(1 for _ in product(*map(range, shape)))


@counts(f.EXPAND_FLOPS, by="executed")
def expand_flops(rng: random.Random) -> Case:
    """A row on a cache, and the same row alone: what its weight products cost more."""
    of, context, batch = spec(rng), rng.randint(0, 9), rng.randint(1, 3)
    cost = [
        execute("vanilla", n_rows=1, context=n, spec=of, d_model=8).meter.linear_flops
        for n in (context, 0)
    ]
    spent = sum(cost[0] - cost[1] for _ in range(batch))
    values = {"up_params": made(of), "context": context, "batch": batch}
    return Case(values, spent)


@counts(f.VANILLA_PAIR_FLOPS, by="executed")
def vanilla_pair_flops(rng: random.Random) -> Case:
    of, layers = spec(rng), rng.randint(1, 4)
    done = 0
    for _ in range(layers):
        meter = execute("vanilla", n_rows=3, context=2, spec=of, d_model=8).meter
        done += meter.attn_flops // meter.pairs
    values = {
        "n_layers": layers,
        "n_heads": of.n_heads,
        "d_head": of.d_head,
        "d_rope": of.d_rope,
    }
    return Case(values, done)


@counts(f.ABSORB_ROWS, by="unrolled")
def absorb_rows(rng: random.Random) -> Case:
    """Add rows until making keys of the cache costs less than wide pairs with it."""
    cached, narrow = rng.randint(1, 9), rng.randint(1, 5)
    wide, up = narrow + rng.randint(1, 5), rng.randint(10, 90)
    rows = 0
    while 2 * up * cached > rows * cached * (wide - narrow):
        rows += 1
    values = {
        "up_params": up,
        "attn_flops_per_pair": wide,
        "vanilla_pair_flops": narrow,
    }
    return Case(values, rows, lambda value: -(-value // 1))


@counts(f.QUADRATIC_PROMPT, by="unrolled")
def quadratic_prompt(rng: random.Random) -> Case:
    """Grow a prompt token by token until its rectangle's half outweighs its rows."""
    active, pair = rng.randint(5, 40), rng.randint(1, 6)
    prompt = 0
    while pair * Fraction(prompt * prompt, 2) < 2 * active * prompt or not prompt:
        prompt += 1
    values = {"params_active": active, "vanilla_pair_flops": pair}
    return Case(values, prompt, lambda value: -(-value // 1))


@counts(f.LOCAL_EXPERTS, by="enumerated")
def local_experts(rng: random.Random) -> Case:
    """Deal experts and copies out in turn; the first GPU has most of them."""
    experts, extra, gpus = rng.randint(1, 20), rng.randint(0, 5), rng.randint(1, 9)
    dealt = [0] * gpus
    for index in range(experts + extra):
        dealt[index % gpus] += 1
    return Case({"n_experts": experts, "n_redundant": extra, "ep": gpus}, dealt[0])


@counts(f.NODES, by="enumerated")
def nodes(rng: random.Random) -> Case:
    """Put GPUs into nodes, one by one; one that is not full is a node, too."""
    gpus, size = rng.randint(1, 12), rng.randint(4, 8)
    full, used = 0, 0
    for _ in range(gpus):
        used += 1
        if used == size:
            full, used = full + 1, 0
    return Case({"ep": gpus, "node_gpus": size}, float(full + (used > 0)))


@counts(f.READ_EXPERTS, by="enumerated")
def read_experts(rng: random.Random) -> Case:
    """All ways in which rows can choose, one after another, and what they leave."""
    experts, local = rng.randint(2, 4), rng.randint(1, 3)
    rows, gpus = rng.randint(1, 3), rng.randint(1, 2)
    outcomes = list(product(range(experts), repeat=rows * gpus))
    touched = sum(0 in outcome for outcome in outcomes)  # one expert stands for each
    values = {
        "local_experts": local,
        "top_k": 1,
        "n_experts": experts,
        "batch": rows,
        "chunk": 1,
        "ep": gpus,
    }
    return Case(values, local * touched / len(outcomes))


@counts(f.BUSIEST_EXPERTS, by="unrolled")
def busiest_experts(rng: random.Random) -> Case:
    """All choices enumerated, then spread as the paper estimates, then cut off."""
    case = read_experts(rng)
    many = rng.choice((1, 30))  # few experts are all read; of many some are spared
    held, mean = many * case.values["local_experts"], many * case.counted
    gpus = case.values["ep"]
    spread = sum(2 * mean / steps for steps in _harmonic(int(gpus)))
    most = sorted([held, mean + spread**0.5])[0]
    return Case({**case.values, "local_experts": held}, most)


def _harmonic(gpus: int) -> list[float]:
    """Denominators whose reciprocals add up to the logarithm: log 2 = Σ 1/(2ⁱ·i)."""
    return [] if gpus == 1 else [2.0**i * i for i in range(1, 60)]


@counts(f.ALL_TO_ALL_BYTES, by="unrolled")
def all_to_all_bytes(rng: random.Random) -> Case:
    """Every copy of every row pays for itself; the busiest GPU has more of them."""
    rows, copies, size = rng.randint(1, 5), rng.randint(1, 4), rng.randint(1, 9)
    share = 2.0 ** -rng.randint(0, 3)
    sent = sum(size for _ in range(rows) for _ in range(copies))
    values = {
        "copy_bytes": size,
        "dispatched_copies": copies,
        "batch": rows,
        "chunk": 1,
        "balancedness": share,
    }
    return Case(values, sum(sent for _ in range(int(1 / share))))


@counts(f.FAR_SHARE, by="enumerated")
def far_share(rng: random.Random) -> Case:
    """Every pair of nodes once: how many are two?"""
    nodes = rng.randint(1, 6)
    pairs = list(product(range(nodes), repeat=2))
    far = sum(one != other for one, other in pairs)
    return Case({"n_nodes": nodes}, far / len(pairs))


@counts(f.RESIDENT_BYTES, by="unrolled")
def resident_bytes(rng: random.Random) -> Case:
    works = Works(rng)
    return Case(run_of(works, f.RESIDENT_BYTES), works.held())


@counts(f.HELD_BYTES, by="unrolled")
def held_bytes(rng: random.Random) -> Case:
    """Weights are put in, then one token after the other of every request."""
    works = Works(rng)
    return Case(run_of(works, f.HELD_BYTES), works.held() + works.cached())


@counts(f.MLA_BYTES, by="unrolled")
def mla_bytes(rng: random.Random) -> Case:
    works = Works(rng)
    return Case(run_of(works, f.MLA_BYTES), works.attention_bytes())


@counts(f.EXPERT_BYTES, by="unrolled")
def expert_bytes(rng: random.Random) -> Case:
    works = Works(rng)
    values = run_of(works, f.EXPERT_BYTES, "read_experts", "all_to_all_bytes")
    return Case(values, works.expert_bytes())
