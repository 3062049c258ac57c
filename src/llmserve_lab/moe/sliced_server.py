"""One server with every matrix sliced (tensor parallelism), beside the opening's.

Slicing shares out the reading of all weights, also for a single request. Its price is
two all-reduces in each layer, and, with a latent that serves all heads, a copy of every
cache on every GPU.
"""

from __future__ import annotations

from functools import cache

from llmserve_lab.catalog import accelerator
from llmserve_lab.collectives import calibration
from llmserve_lab.collectives.formulas import ALL_REDUCE_S, IN_SWITCH_S, ONE_SHOT_S
from llmserve_lab.moe import formulas as f
from llmserve_lab.moe.layer_time import CONTEXT, cache_room, own_read_bytes
from llmserve_lab.moe.models import DEEPSEEK
from llmserve_lab.moe.serving import (
    CACHE_PRECISION,
    GPUS,
    MOE_LAYERS,
    kv_bytes,
    setting,
    stored,
    taken_bytes,
)
from llmserve_lab.validation.room import requests_that_fit

NODE = 8.0  # GPUs of one server
SERVER_GPU = GPUS[1]
# Engines keep these whole: the router, and what makes the latents, cut by no head.
WHOLE = ("q_a_proj", "kv_a_proj_with_mqa", "router")
ROW_BYTES = 2.0 * DEEPSEEK.d_model  # of a token in an all-reduce, in BF16
PER_LAYER = 2  # all-reduces: after attention, after the FFN


def whole_bytes() -> float:
    """Weights that every GPU holds whole, in FP8."""
    return float(sum(t.params for t in DEEPSEEK.tensors() if t.name in WHOLE))


def read_bytes() -> float:
    """Weights beside the routed experts that one of eight GPUs reads."""
    return whole_bytes() + (own_read_bytes() - whole_bytes()) / NODE


@cache
def all_reduce_s(n_rows: int, link_share: float | None = 1.0) -> float:
    """Seconds of one all-reduce over eight GPUs, by the fastest of three ways.

    Constants are fitted. Links reach a ``link_share`` of their datasheet, all of
    it as in dispatch and combine; ``None`` takes the share fitted to all-reduces.
    """
    size = {"n_ranks": NODE, "tensor_bytes": ROW_BYTES * n_rows}
    if link_share is not None:
        size["eff_link"] = link_share
    ways = (
        (ALL_REDUCE_S, calibration.nccl()),
        (ONE_SHOT_S, calibration.one_shot()),
        (IN_SWITCH_S, calibration.in_switch()),
    )
    return min(float(formula.at({**fit.known(), **size})) for formula, fit in ways)


def token_s(
    n_rows: int, context: float = CONTEXT, link_share: float | None = 1.0
) -> dict[str, float]:
    """Parts of a token's time if every matrix is sliced, in seconds.

    Each part takes the longer of reading and computing. Every GPU reads all caches and
    computes its eighth of the heads. The fixed time of kernels is in none.
    """
    known = setting(SERVER_GPU)
    bandwidth = float(known["hbm_bw"]) * float(known["eff_mem"])
    share = float(known["eff_compute"])
    flops = float(known["peak_flops"]) * share
    half = float(accelerator(SERVER_GPU).peak(CACHE_PRECISION)) * share
    experts = f.LAYER_READ_S.at(known, n_rows=n_rows, ep=NODE)
    computed = f.LAYER_COMPUTE_S.at(known, gpu_rows=n_rows / NODE)
    tokens, pair = n_rows * context, DEEPSEEK.attn_flops_per_pair()
    reduces = PER_LAYER * DEEPSEEK.n_layers
    return {
        "experts": MOE_LAYERS * max(float(experts), float(computed)),
        "weights": max(read_bytes() / bandwidth, 2 * read_bytes() * n_rows / flops),
        "attention": max(tokens * kv_bytes() / bandwidth, tokens * pair / NODE / half),
        "sending": reduces * all_reduce_s(n_rows, link_share),
    }


def left_bytes() -> float:
    """What an engine takes of a GPU, less the weights that it holds."""
    sliced = sum(stored().values()) - whole_bytes()
    return taken_bytes(SERVER_GPU) - whole_bytes() - sliced / NODE


def room(tokens: float) -> int:
    """Requests of so many tokens, a slot for each; each cache lies on every GPU."""
    return requests_that_fit(
        left_bytes(),
        request_bytes=kv_bytes() * tokens,
        vocab=DEEPSEEK.vocab,
        n_gpus=int(NODE),
    )


def shared_room(tokens: float) -> int:
    """The same with data-parallel attention: each cache lies on one GPU."""
    return int(NODE) * cache_room(NODE, tokens, SERVER_GPU)
