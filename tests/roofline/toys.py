"""Random toys to run: a shape, a run of it, and the arguments that describe the run."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from llmserve_lab.formula.formula import Formula
from tests.roofline.machine import Machine, Meter, Toy


def toy(rng: random.Random, *, latent: bool = False) -> Toy:
    """A random shape: up to 3 layers, grouped heads, two to three small matrices."""
    groups, n_kv_heads = rng.randint(1, 3), rng.randint(1, 2)
    return Toy(
        n_layers=rng.randint(1, 3),
        n_heads=groups * n_kv_heads,
        n_kv_heads=n_kv_heads,
        d_head=rng.randint(1, 4),
        matrices=tuple(
            (rng.randint(1, 5), rng.randint(1, 5)) for _ in range(rng.randint(2, 3))
        ),
        d_latent=rng.randint(1, 4) if latent else 0,
        d_rope=rng.randint(1, 3) if latent else 0,
        bytes_weight=rng.randint(1, 4),
        bytes_kv=rng.randint(1, 4),
    )


@cache
def run(shape: Toy, *, batch: int, context: int, chunk: int) -> Meter:
    """Played out once: whoever asks again is shown the same meter."""
    return Machine(shape).iteration(contexts=[context] * batch, chunk=chunk)


def setting(rng: random.Random, *, latent: bool = False) -> tuple[Toy, dict[str, Any]]:
    """A toy, and the values by which the book's formulas describe its iteration.

    κ and the FLOPs per pair are themselves read off the machine: one cached token,
    one pair.
    """
    shape = toy(rng, latent=latent)
    one_token = run(shape, batch=1, context=1, chunk=1)
    one_pair = run(shape, batch=1, context=0, chunk=1)
    return shape, {
        "batch": rng.randint(1, 3),
        "context": rng.randint(1, 6),
        "chunk": rng.randint(1, 4),
        "params_total": shape.params,
        "params_read": shape.params,
        "params_active": shape.params,
        "bytes_weight": shape.bytes_weight,
        "kv_bytes_per_token": one_token.kv_read_bytes,
        "attn_flops_per_pair": one_pair.attn_flops,
    }


def metered(formula: Formula, rng: random.Random, *, latent: bool = False) -> Any:
    """A run of the toy, with the arguments that describe it to ``formula``."""
    shape, values = setting(rng, latent=latent)
    size = {name: values[name] for name in ("batch", "context", "chunk")}
    return formula.given(values), run(shape, **size)


def shape_values(formula: Formula, shape: Toy) -> dict[str, Any]:
    return {leaf.name: getattr(shape, leaf.name) for leaf in formula.arguments}
