"""Time of a whole token by the size of the group, and requests that meet a deadline.

A token takes all MoE layers and, for each kernel, a fixed time that no bytes explain.
Two half-batches run every kernel twice, so that they take this fixed time twice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from llmserve_lab.moe import layer_time
from llmserve_lab.moe.kernel_time import kernels_s
from llmserve_lab.moe.layer_time import CONTEXT
from llmserve_lab.moe.serving import MOE_LAYERS
from llmserve_lab.running_example import ANSWER, PROMPT

PROMISED_S = 30e-3  # of a token, that a service might promise
LATER_S = 48e-3  # a deadline at which the smallest group has caught up
TokenTime = Callable[[float, float], float]


def in_turn_s(
    ep: float, gpu_rows: float, times_start: float = 1.0, context: float = CONTEXT
) -> float:
    """Seconds of a token in sequence; ``times_start`` is that of a transfer."""
    layer = layer_time.in_turn_s(ep, gpu_rows, times_start, context)
    return MOE_LAYERS * layer + kernels_s()


def half_start_s(ep: float, gpu_rows: float) -> float:
    """As :func:`in_turn_s`, each transfer's constant halved."""
    return in_turn_s(ep, gpu_rows, 0.5)


def double_start_s(ep: float, gpu_rows: float) -> float:
    """As :func:`in_turn_s`, each transfer's constant doubled."""
    return in_turn_s(ep, gpu_rows, 2.0)


def halves_s(ep: float, gpu_rows: float, context: float = CONTEXT) -> float:
    """Seconds of a token in two half-batches, each kernel's fixed time taken twice."""
    beat = max(layer_time.halves_s(ep, gpu_rows, context))
    return 2 * (MOE_LAYERS * beat + kernels_s())


def overlapped_s(ep: float, gpu_rows: float, context: float = CONTEXT) -> float:
    """Seconds of a token if the batch is split only where that is faster."""
    whole = in_turn_s(ep, gpu_rows, context=context)
    return min(halves_s(ep, gpu_rows, context), whole)


def room(ep: float) -> int:
    """Requests of the running example whose caches fit beside a GPU's weights."""
    return layer_time.cache_room(ep, PROMPT + ANSWER)


@cache
def promised_rows(token: TokenTime, ep: float, deadline_s: float = PROMISED_S) -> int:
    """Most requests of a GPU for which a token takes no longer than promised."""
    fits = [n for n in range(1, room(ep) + 1) if token(ep, float(n)) <= deadline_s]
    return max(fits, default=0)


def rate(token: TokenTime, ep: float, gpu_rows: float) -> float:
    """Tokens a second of one GPU, each of its requests writing one per iteration."""
    return gpu_rows / token(ep, gpu_rows)
