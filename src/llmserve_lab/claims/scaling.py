"""The scaling chapter, up to its KV formula: one bound on decode, one size of cache."""

from __future__ import annotations

import math
from functools import cache
from typing import cast

from llmserve_lab.catalog import ARTICLE_PARAMS, MODELS, PRECISIONS, SCALING_HBM_BW
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Statement
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.formula.text import si
from llmserve_lab.roofline import formulas as f

SHAPE = MODELS["llama-3-70b"]  # the chapter names no model; its shape is this one's
CONTEXT = 8 * 1024
BATCH = 64
WEIGHTS = {
    "params_read": float(ARTICLE_PARAMS),
    "bytes_weight": float(PRECISIONS["fp16"].bytes_weight),
}
STORED = {"params_total" if n == "params_read" else n: v for n, v in WEIGHTS.items()}


@cache
def cache_shape() -> dict[str, float]:
    """What the KV formula asks about the chapter's model, by code name."""
    attention = cast(GroupedQueryAttention, SHAPE.attention)
    return {
        "n_layers": SHAPE.n_layers,
        "n_kv_heads": attention.n_kv_heads,
        "d_head": attention.d_head,
        "bytes_kv": float(PRECISIONS["fp16"].bytes_kv),
    }


def kv_bytes(*, batch: float, context: float, **shape: float) -> float:
    """Bytes of cache of a whole batch, as ``kv_read_bytes`` has them."""
    per_token = f.KV_BYTES_PER_TOKEN(**shape)
    return float(
        f.KV_READ_BYTES(kv_bytes_per_token=per_token, context=context, batch=batch)
    )


def batch_of(requests: int) -> float:
    """Bytes of cache of so many requests of 8 k each."""
    return kv_bytes(batch=requests, context=CONTEXT, **cache_shape())


def steps_per_s() -> float:
    """Upper bound on decode steps per second: the weights read once each."""
    return float(f.ITERATIONS_PER_S(**WEIGHTS, hbm_bw=SCALING_HBM_BW, eff_mem=1))


def every_factor_doubles() -> bool:
    """Whether doubling any one of the six factors doubles the cache."""
    sizes = cache_shape() | {"batch": BATCH, "context": CONTEXT}
    whole = kv_bytes(**sizes)
    doubled = (kv_bytes(**sizes | {name: 2 * size}) for name, size in sizes.items())
    return all(math.isclose(size, 2 * whole) for size in doubled)


def unit_cache() -> float:
    """Bytes of cache with every factor at one: the number in front of the product."""
    return kv_bytes(**dict.fromkeys((*cache_shape(), "batch", "context"), 1.0))


CLAIMS = (
    Claim(
        id="003-01",
        section="decode",
        says="Weights of seven billion parameters in FP16, and how often a second an "
        "ideal memory reads them",
        parts=(
            Number("14.00 GB", "byte", lambda: float(f.STORED_BYTES(**STORED))),
            Number("142.9 steps/s", "1/s", steps_per_s),
        ),
        verdict=Ruling.WITHIN_ROUNDING,
        why=lambda: (
            "It rounds to the digits printed; it bounds steps, not tokens, of which a "
            "step yields one for each request in the batch, and the "
            f"memory is an idealised one of {si(SCALING_HBM_BW.value, 'byte/s')}."
        ),
    ),
    Claim(
        id="003-02",
        section="KV cache",
        says="Cache of one request of 8 k tokens, and of 64 of them, for 80 layers of "
        "eight KV heads",
        parts=(
            Number("2.5 GiB", "byte", lambda: batch_of(1), label="one"),
            Number("160 GiB", "byte", lambda: batch_of(BATCH), label="all"),
        ),
        verdict=Ruling.EXACT,
        why="The unit is spelled out here, and right.",
    ),
    Claim(
        id="003-24",
        section="KV cache",
        says="The cache is twice the product of batch, context, layers, KV heads, head "
        "width and bytes per number",
        parts=(
            Statement(
                "a product of six factors",
                every_factor_doubles,
                lambda: "doubles with each factor",
            ),
            Number("2", "dimensionless", unit_cache, label="times"),
        ),
        verdict=Ruling.EXACT,
        why="The 2 is one key and one value.",
        by_definition=True,
    ),
)
