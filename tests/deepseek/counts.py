"""Latent attention executed, experts drawn, rows sent: what the closed forms say."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product

from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.executed.mla import execute
from llmserve_lab.moe.placement import contiguous
from llmserve_lab.transformer import Transformer
from tests.counted import Case, counts
from tests.deepseek.executed_step import ATTENTION, FLOAT, tiny
from tests.deepseek.works import Works, run_of

OUTSIDE = ("dense.", "router", "lm_head", "norm", "input_", "post_")


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


def on_the_cache(form: str, of: LatentAttention, rows: int, context: int) -> int:
    """FLOPs of some rows on a cache, less those of the same rows without one."""
    long, short = (
        execute(form, n_rows=rows, context=n, spec=of, d_model=2).flops
        for n in (context, 0)
    )
    return long - short


@counts(f.ABSORB_ROWS, by="executed")
def absorb_rows(rng: random.Random) -> Case:
    """Add rows until vanilla MLA does less on a cache than absorbed MLA, both run."""
    head, context = rng.randint(3, 6), rng.randint(1, 9)
    wider = {"d_head": head, "d_v": head, "d_latent": head + rng.randint(1, 3)}
    of = replace(spec(rng), **wider)
    rows = 1
    while on_the_cache("vanilla", of, rows, context) > on_the_cache(
        "absorbed", of, rows, context
    ):
        rows += 1
    pairs = {
        form: execute(form, n_rows=1, context=0, spec=of, d_model=2).meter.attn_flops
        for form in ("absorbed", "vanilla")
    }
    values = {
        "up_params": made(of),
        "attn_flops_per_pair": pairs["absorbed"],
        "vanilla_pair_flops": pairs["vanilla"],
    }
    return Case(values, rows, lambda value: -(-value // 1))


@counts(f.QUADRATIC_PROMPT, by="executed")
def quadratic_prompt(rng: random.Random) -> Case:
    """Grow a prompt that is run until half of its square outweighs its rows."""
    of = spec(rng)
    weights = [shape for _, shape in of.weights(2) if len(shape) == 2]
    prompt, one = 0, execute("vanilla", n_rows=1, context=0, spec=of, d_model=2)
    done = one.meter
    while not prompt or Fraction(done.attn_flops, 2) < done.linear_flops:
        prompt += 1
        done = execute("vanilla", n_rows=prompt, context=0, spec=of, d_model=2).meter
    values = {
        "params_active": sum(rows * columns for rows, columns in weights),
        "vanilla_pair_flops": one.meter.attn_flops,
    }
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


@counts(
    f.BUSIEST_EXPERTS,
    by="unrolled",
    why="it is an estimate; rows that draw are beside it in the tests of routing",
)
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


@counts(f.ALL_TO_ALL_BYTES, by="executed")
def all_to_all_bytes(rng: random.Random) -> Case:
    """Ranks exchange rows; weigh what comes to the busiest one's experts and leaves."""
    works = Works(rng)
    return Case(run_of(works, f.ALL_TO_ALL_BYTES), float(works.all_to_all()))


@counts(f.FAR_SHARE, by="enumerated")
def far_share(rng: random.Random) -> Case:
    """Every pair of nodes once: how many are two?"""
    nodes = rng.randint(1, 6)
    pairs = list(product(range(nodes), repeat=2))
    far = sum(one != other for one, other in pairs)
    return Case({"n_nodes": nodes}, far / len(pairs))


def placed(rng: random.Random) -> tuple[dict[str, float], float, Transformer]:
    """A model on one of some GPUs, its experts shared out; what the GPU holds."""
    model = Transformer(tiny(rng))
    arrays, ffn = model.weights.arrays, model.shape.ffn
    assert isinstance(ffn, MoeFfn)
    many = ffn.n_experts
    gpus = rng.choice([each for each in range(1, many + 1) if many % each == 0])
    mine = rng.choice(contiguous(many, gpus).seats)
    held = sum(a.nbytes for name, a in arrays.items() if not name.startswith("experts"))
    stacks = [a for name, a in arrays.items() if name.startswith("experts")]
    for stack in stacks:
        by_layer = stack.reshape(-1, many, *stack.shape[1:])
        held += sum(by_layer[:, expert].nbytes for expert in mine)
    sizes = {
        name: sum(a.size for n, a in arrays.items() if n.startswith(names))
        for name, names in {
            "mla_params": ATTENTION,
            "other_params": OUTSIDE,
            "table_params": ("embed_tokens",),
        }.items()
    }
    known = sizes | {
        "bytes_weight": FLOAT,
        "expert_stack": sum(stack.size for stack in stacks) / many,
        "local_experts": len(mine),
        "n_shared": ffn.n_shared,
    }
    return known, held, model


@counts(f.RESIDENT_BYTES, by="executed")
def resident_bytes(rng: random.Random) -> Case:
    """Weigh the arrays of a model that one GPU holds: its experts, and all the rest."""
    known, held, _ = placed(rng)
    return Case(known, held)


@counts(f.HELD_BYTES, by="executed")
def held_bytes(rng: random.Random) -> Case:
    """Run requests on it, and weigh their caches as well."""
    known, held, model = placed(rng)
    requests, context = rng.randint(1, 5), rng.randint(1, 9)
    for _ in range(requests):
        cache = model.new_cache(context)
        model.forward([1] * context, cache)
        held += cache.num_bytes
    known |= {"gpu_requests": requests, "context": context}
    known |= {"kv_bytes_per_token": model.shape.kv_bytes_per_token(FLOAT)}
    return Case(known, held)


@counts(f.MLA_BYTES, by="executed")
def mla_bytes(rng: random.Random) -> Case:
    """Run a step; weigh the weights that products read, and the caches read."""
    works = Works(rng)
    return Case(run_of(works, f.MLA_BYTES), works.attention_bytes())


@counts(f.EXPERT_BYTES, by="executed")
def expert_bytes(rng: random.Random) -> Case:
    """Run experts on ranks; weigh what the busiest one's products read and write."""
    works = Works(rng)
    values = run_of(works, f.EXPERT_BYTES, "read_experts")
    return Case(values, float(works.expert_bytes()))
