"""What article 06 assumes: Llama-2-7B with its round parameter count, on one H100.

Its contexts count in units of 1024 tokens (§6 prices "4 k" as 4096). Its memory sizes
mix two units: weights in GB of 1e9 bytes, cache in GiB of 2^30, both printed as "GB".
"""

from __future__ import annotations

from functools import cache

from llmserve_lab.catalog import (
    ARTICLE_PARAMS,
    MODELS,
    PRECISIONS,
    accelerator,
    efficiency,
    machine,
    workload,
)
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline import formulas as f

K = 1024
BATCH = 32
CHUNK = 2 * K
LLAMA = MODELS["llama-2-7b"]
H100 = accelerator("h100-sxm")


@cache
def setting() -> dict[str, float]:
    """Every argument that the article fixes, by code name."""
    names = ("params_total", "params_read", "params_active")
    params = dict.fromkeys(names, float(ARTICLE_PARAMS))
    shape = {
        "n_layers": LLAMA.n_layers,
        "n_heads": LLAMA.attention.n_heads,
        "d_head": LLAMA.attention.d_head,
        "n_kv_heads": LLAMA.attention.n_heads,  # multi-head: every head caches
        "bytes_kv": float(PRECISIONS["fp16"].bytes_weight),
    }
    chip = machine(H100, precision="fp16", efficiency=efficiency("article-06"))
    chip |= {"hbm_bytes": H100.hbm_bytes}  # the article's is the datasheet's
    known = workload(LLAMA, precision="fp16") | chip
    return {name: float(value) for name, value in known.items()} | params | shape


def at(formula: Formula, **values: float) -> float:
    """Compute ``formula`` in the article's setting, with ``values`` added or changed.

    Raises:
        TypeError: the formula asks for something that neither of them gives.
    """
    return float(formula.at(setting() | values))


def decode(formula: Formula, thousands: float = 0) -> float:
    """``formula`` for one decode step of the batch, at a context in units of 1024."""
    return at(formula, batch=BATCH, chunk=1, context=thousands * K)


def prefill(formula: Formula, thousands: float = 0) -> float:
    """``formula`` for one chunk of one request, at a prefix in units of 1024."""
    return at(formula, batch=1, chunk=CHUNK, context=thousands * K)


def gib_as_gb(num_bytes: float) -> float:
    """Read the number of GiB off, and call it GB."""
    return num_bytes * 1e9 / 2**30


def kib_as_kb(num_bytes: float) -> float:
    """Read the number of KiB off, and call it KB."""
    return num_bytes * 1e3 / 2**10


def mixed_bytes(kv_bytes: float) -> float:
    """Bytes of an iteration the article's way: GB of weights plus GiB of cache."""
    return at(f.WEIGHT_BYTES) + gib_as_gb(kv_bytes)
