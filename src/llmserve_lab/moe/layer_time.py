"""Time of a whole decode layer, by the size of the group; and what a hot GPU changes.

Experts and sending are the chapter's formulas; experts are read by the busiest GPU, for
which all others wait. What every GPU does for its own requests (attention, shared
expert, dense layers, LM head) takes the longer of reading and computing, with the same
shares of the datasheet.
"""

from __future__ import annotations

from functools import cache
from math import comb

import numpy as np

from llmserve_lab.catalog import accelerator
from llmserve_lab.formula.band import Unmeasured
from llmserve_lab.moe import formulas as f
from llmserve_lab.moe.exchange_time import exchange_s, start_s
from llmserve_lab.moe.grouped_router import busiest_reads
from llmserve_lab.moe.kernel_time import layer_kernels_s
from llmserve_lab.moe.layer_micro import LayerMicro
from llmserve_lab.moe.models import DEEPSEEK
from llmserve_lab.moe.serving import (
    CACHE_PRECISION,
    GPUS,
    GROUPS,
    MOE_LAYERS,
    ROWS,
    SPEC,
    kv_bytes,
    layer_s,
    setting,
    stored,
    taken_bytes,
)
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import ANSWER, PROMPT
from llmserve_lab.validation.room import requests_that_fit

CONTEXT = PROMPT + ANSWER // 2  # cached tokens of a request, half way through
LAYER = Unmeasured("a layer, of which only dispatch and combine were measured", True)
LONG_CONTEXTS = (1_200, 4_096, 32_768)  # tokens of a request
NEARLY = 0.01  # of an expert: a GPU reads all that it holds


def rest_s(gpu_rows: float, context: float = CONTEXT, gpu: str = GPUS[0]) -> float:
    """Seconds of all but the routed experts, divided by the MoE layers."""
    each = rest_parts_s(gpu_rows, context, gpu)
    products = max(each["weights read"], each["weights computed"])
    return products + max(each["caches read"], each["caches computed"])


def experts_s(ep: float, gpu_rows: float) -> float:
    """Seconds of the routed experts: reading or computing, whichever is longer.

    Reading is that of the busiest GPU. Choices fall evenly, so all compute alike.
    """
    each = layer_s(ep, gpu_rows)
    return max(each["read"] * _busiest_over_mean(ep, ep * gpu_rows), each["compute"])


@cache
def _busiest_over_mean(ep: float, n_rows: float) -> float:
    """Experts that the busiest GPU reads over those of the mean one, on average.

    Each expert is taken as read or not by its own chance, as if no other counted.
    """
    held = int(SPEC.n_experts / ep)
    chance = float(f.TOUCHED_EXPERTS.at(setting(), n_rows=n_rows)) / SPEC.n_experts
    exactly = [
        comb(held, j) * chance**j * (1 - chance) ** (held - j) for j in range(held)
    ]
    most = float((1 - np.cumsum(exactly) ** ep).sum())
    return most / (held * chance)


def in_turn_s(
    ep: float, gpu_rows: float, times_start: float = 1.0, context: float = CONTEXT
) -> float:
    """Seconds of a layer that waits for its transfers.

    ``times_start`` multiplies the fitted constant of each of them.
    """
    work = experts_s(ep, gpu_rows) + rest_s(gpu_rows, context)
    more = (times_start - 1) * 2 * start_s()
    return work + exchange_s(ep, gpu_rows) + more


def halves_s(
    ep: float, gpu_rows: float, context: float = CONTEXT
) -> tuple[float, float]:
    """Seconds that half a batch works on its GPU, and that it is sent."""
    half = gpu_rows / 2
    return experts_s(ep, half) + rest_s(half, context), exchange_s(ep, half)


def own_read_bytes() -> float:
    """Weights beside the routed experts that an iteration reads, in FP8.

    The embedding is stored on every GPU, but only looked up.
    """
    return stored()["replicated_bytes"] - DEEPSEEK.vocab * DEEPSEEK.d_model


def rest_parts_s(
    gpu_rows: float, context: float = CONTEXT, gpu: str = GPUS[0]
) -> dict[str, float]:
    """Reading and computing of what is not attention, and of attention, a layer."""
    known = setting(gpu)
    bandwidth = float(known["hbm_bw"]) * float(known["eff_mem"])
    share = float(known["eff_compute"])
    params = own_read_bytes()  # FP8: a byte a parameter
    tokens = gpu_rows * context
    peak = float(accelerator(gpu).peak(CACHE_PRECISION)) * share
    whole = {
        "weights read": params / bandwidth,
        "weights computed": 2
        * params
        * gpu_rows
        / (float(known["peak_flops"]) * share),
        "caches read": tokens * kv_bytes() / bandwidth,
        "caches computed": tokens * DEEPSEEK.attn_flops_per_pair() / peak,
    }
    return {name: each / MOE_LAYERS for name, each in whole.items()}


def layers_micro() -> tuple[LayerMicro, ...]:
    """A layer's parts by group size in µs, those of half a batch in tenths."""
    found = []
    for ep in GROUPS[1:]:
        parts = (experts_s(ep, ROWS), rest_s(ROWS), exchange_s(ep))
        experts, rest, sending = (round(1e6 * each) for each in parts)
        tenths = (*halves_s(ep, ROWS), layer_kernels_s())
        works, sends, kernels = (round(1e6 * each, 1) for each in tenths)
        found.append(LayerMicro(ep, experts, rest, sending, works, sends, kernels))
    return tuple(found)


def rate_table() -> Table:
    """Table of a layer's parts, one after another and overlapped, by group size."""
    rows = []
    for each in layers_micro():
        parts = (each.experts, each.rest, each.sending, each.in_sequence)
        halves = (each.half_works, each.half_sends, each.halves)
        times = (*parts, *halves, each.whole_in_sequence, each.whole_halves)
        rows.append((f"{each.ep:.0f}", *map(str, times)))
    columns = (
        *("GPUs", "experts", "rest", "sending", "in sequence"),
        *("half works", "half sends", "two halves"),
        *("in sequence, kernels", "two halves, kernels"),
    )
    title = f"An MoE layer in µs, {ROWS:.0f} tokens on each H800, computed"
    return Table(title, columns, rows, band=LAYER)


def cache_room(
    ep: float, tokens: float, gpu: str = GPUS[0], more_bytes: float = 0.0
) -> int:
    """Requests of so many tokens, a slot for each, that fit beside a GPU's weights.

    ``more_bytes`` are what a GPU holds besides: replicas, say.
    """
    return requests_that_fit(
        left_bytes(ep, gpu) - more_bytes,
        request_bytes=kv_bytes() * tokens,
        vocab=DEEPSEEK.vocab,
        n_gpus=int(ep),
    )


def left_bytes(ep: float, gpu: str = GPUS[0]) -> float:
    """What an engine takes of a GPU, less weights; below zero if these do not fit."""
    return taken_bytes(gpu) - float(f.GPU_WEIGHT_BYTES.at(setting(gpu), ep=ep))


def cache_table() -> Table:
    """Table of what a group leaves for caches, and of the requests that this holds."""
    rows = []
    for ep in (16.0, 64.0, 256.0):
        held = (f"{cache_room(ep, tokens)}" for tokens in LONG_CONTEXTS)
        rows.append((f"{ep:.0f}", f"{left_bytes(ep) / 1e9:.2f} GB", *held))
    columns = ("GPUs", "left by weights", *(f"of {n:,} tokens" for n in LONG_CONTEXTS))
    return Table("Memory left on an H800, and the requests it holds", columns, rows)


def even_rows() -> float:
    """Tokens of a GPU for which 64 GPUs take in turn as long a layer as 16.

    The experts save time, by reading or computing, whichever is longer; sending costs
    more with each token.
    """
    fewer, more = 1.0, ROWS * 2
    while more - fewer > 1e-3:
        middle = (fewer + more) / 2
        if saved_s(middle) > middle * sent_more_s():
            fewer = middle
        else:
            more = middle
    return fewer


def saved_s(gpu_rows: float) -> float:
    """Seconds that the experts of a layer take longer on 16 GPUs than on 64."""
    return experts_s(16.0, gpu_rows) - experts_s(64.0, gpu_rows)


def sent_more_s() -> float:
    """Seconds that a token takes longer to be sent on 64 GPUs than on 16, a layer."""
    return exchange_s(64.0, 1.0) - exchange_s(16.0, 1.0)


def hot_layer_s(
    ep: float, n_rows: float, hot_share: float, gpu: str = GPUS[1]
) -> dict[str, float]:
    """Seconds that the hot GPU reads and computes its experts, in one layer.

    A share of all choices is drawn to its experts, evenly among them. It reads at most
    the experts that it holds.
    """
    known = {"n_rows": n_rows, "ep": ep, "hot_share": hot_share}
    above = 1 / float(f.BALANCEDNESS.at(setting(gpu), known))  # of the mean load
    chance = min(1.0, above * SPEC.top_k / SPEC.n_experts)
    read_one = 1 - (1 - chance) ** n_rows  # the chance that it is read at all
    same = float(f.TOUCHED_EXPERTS.at(setting(gpu), n_rows=n_rows)) / SPEC.n_experts
    even = layer_s(ep, n_rows / ep, gpu)
    return {
        "read": even["read"] * read_one / same,
        "compute": above * even["compute"],
    }


def equal_layer_s(ep: float, n_rows: float, gpu: str = GPUS[1]) -> dict[str, float]:
    """Seconds that the busiest of eight equal GPUs reads, and that each computes."""
    each = layer_s(ep, n_rows / ep, gpu)
    mean = float(f.TOUCHED_EXPERTS.at(setting(gpu), n_rows=n_rows)) / ep
    held = SPEC.n_experts / ep
    most = held if held - mean < NEARLY else busiest_reads(int(n_rows))
    return each | {"read": each["read"] * most / mean}


def slower(ep: float, n_rows: float, hot_share: float, gpu: str = GPUS[1]) -> float:
    """Time of a layer's experts with one hot GPU, over that with equal ones."""
    hot = max(hot_layer_s(ep, n_rows, hot_share, gpu).values())
    return hot / max(equal_layer_s(ep, n_rows, gpu).values())


def hot_table(hot_share: float, ep: float = 8.0) -> Table:
    """Table of reading and computing on an equal and on a hot GPU, by batch."""
    rows = []
    for n_rows in (64.0, 1024.0, 8192.0):
        even = equal_layer_s(ep, n_rows)
        hot = hot_layer_s(ep, n_rows, hot_share)
        times = (f"{1e6 * t:.0f} µs" for part in (even, hot) for t in part.values())
        rows.append((f"{n_rows:,.0f}", *times, f"{slower(ep, n_rows, hot_share):.1f}"))
    columns = (
        *("tokens in all", "equal: read", "equal: compute", "hot: read"),
        *("hot: compute", "times as long"),
    )
    name = accelerator(GPUS[1]).name
    title = (
        f"One layer's experts on {ep:.0f} {name}: the GPU that reads most among equal "
        f"ones, and a hot one to which {hot_share:.0%} are drawn"
    )
    return Table(title, columns, rows, band=LAYER)
