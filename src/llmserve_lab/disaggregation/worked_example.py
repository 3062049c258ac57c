"""The page's calculations by hand: parts that add up, and where two ways are equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llmserve_lab import catalog
from llmserve_lab.catalog.data.prices import HOURLY
from llmserve_lab.checks import key_of, positive
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.goodput import (
    BUDGETS,
    GPUS,
    HANDS,
    KINDS,
    LOADS,
    SPLITS,
    points,
)
from llmserve_lab.disaggregation.served import known, load, setting, value
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import WEIGHTS_S
from llmserve_lab.running_example import cost, model

HALF = {"n_prefill": GPUS / 2, "n_decode": GPUS / 2}
LOOSEST_S = 0.05
FARTHEST_S = 0.1  # looser than any promise on the page
TOGETHER = (1, 2, 4, 8)  # prompts in an iteration of a prefill GPU
BATCH = 40.0  # requests that decode beside the prompt, in the calculation by hand


def usual(formula: Formula, promise_s: float = 0.02, **more: Any) -> float:
    """A result for the usual request on the chapter's machine."""
    layers = {"n_layers": float(model().n_layers)}
    return value(formula, known(load(promise_s=promise_s), **HALF, **layers), **more)


def prefill_parts() -> dict[str, float]:
    """Products, what of the weights is not hidden, attention, launches: s, and all."""
    linear = usual(f.PREFILL_LINEAR_S)
    pairs = usual(f.PREFILL_COMPUTE_S) - linear
    unhidden = (1 - cost().overlap) * usual(WEIGHTS_S)
    launch = cost().overhead_s + cost().prompt_s + cost().request_s
    parts = {"linear": linear, "pairs": pairs, "weights": unhidden, "launch": launch}
    return parts | {"sum": sum(parts.values())}


def ride_s(batch: float = BATCH) -> float:
    """What one prompt adds to a step of so many decodes."""
    return usual(f.RIDE_S, shared_batch=batch)


def steady_rate() -> float:
    """Prompts a second that keep ``BATCH`` answers under way on a GPU (Little's law).

    Each answer takes its steps, and a ride of each of the batch's prompts.
    """
    steps = usual(f.DECODE_STEPS)
    step_s = usual(f.DECODE_STEP_S, decode_batch=BATCH)
    return BATCH / (steps * step_s + BATCH * ride_s())


def gap_s(per_s: float) -> float:
    """Mean gap of a GPU that decodes ``BATCH`` requests while prompts arrive."""
    step_s = usual(f.DECODE_STEP_S, decode_batch=BATCH)
    return float(
        f.SHARED_GAP_S(decode_step_s=step_s, arrival_rate=per_s, ride_s=ride_s())
    )


def whole_split(promise_s: float, together: float = 1.0) -> tuple[int, float]:
    """Prefill GPUs of the best split into whole GPUs, and the rate that it carries."""
    carried = {}
    for x in SPLITS:
        size = load(promise_s=promise_s, together=together)
        has = known(size, n_prefill=x, n_decode=GPUS - x)
        carried[x] = value(f.POOLS_RATE, has)
    return max(carried.items(), key=lambda each: each[1])


def whole_advantage(promise_s: float, together: float = 1.0) -> float:
    """Rate of the best split into whole GPUs over that of one engine on each.

    As many prompts share a step there as share an iteration of a prefill GPU.
    """
    return whole_split(promise_s, together)[1] / shared_rate(promise_s, together)


def fleet_advantage(promise_s: float, together: float = 1.0) -> float:
    """The same for GPUs that can be divided, as they nearly can in a large fleet."""
    two = usual(f.BEST_POOLS_RATE, promise_s, prompts_together=together)
    return two / shared_rate(promise_s, together)


def shared_rate(promise_s: float, together: float, **more: float) -> float:
    """Rate of one engine on each GPU if ``together`` prompts ride in the same step.

    Half a prompt together is a prompt read in two steps. By halving, since
    [shared_rate](#eq-shared_rate) is solved for one prompt a step.
    """

    def step_s(batch: float) -> float:
        alone_s = usual(f.DECODE_STEP_S, promise_s, decode_batch=batch)
        rides = usual(f.RIDE_S, promise_s, shared_batch=batch, **more)
        each_s = own_s + (rides - own_s) / together
        return alone_s + batch / steps * each_s

    own_s = usual(f.PREFILL_COMPUTE_S, promise_s) + cost().request_s
    steps = usual(f.DECODE_STEPS, promise_s)
    low, high = 0.0, usual(f.ROOM_BATCH, promise_s)
    if step_s(high) <= promise_s:
        low = high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if step_s(middle) <= promise_s else (low, middle)
    return GPUS * low / (steps * step_s(low))


def even_whole_s(together: float = 1.0) -> float:
    """The promise under which both ways carry the same on four whole GPUs."""
    return equal_at(lambda s: whole_advantage(s, together), 0.01, FARTHEST_S)


def even_fleet_s(together: float = 1.0) -> float:
    """The promise under which both ways carry the same, if GPUs can be divided."""
    return equal_at(lambda s: fleet_advantage(s, together), 0.01, FARTHEST_S)


def ahead_until_s(share: float) -> float:
    """The promise from which on two pools are less than a share ahead, GPUs divided."""
    return equal_at(lambda s: advantage(s) - share, 0.01, FARTHEST_S)


def ratio_if(error: float, promise_s: float) -> float:
    """Decode GPUs for each prefill GPU if steps take ``1 + error`` times as long."""
    if error <= -1:
        raise ValueError(f"error must be above -1, got {error}")
    batch = usual(f.DECODE_BATCH, promise_s / (1 + error))
    positive("batch within promise_s at this error", batch)
    return usual(f.DECODE_STEPS) * promise_s / batch / usual(f.PREFILL_S)


def advantage(promise_s: float, **more: float) -> float:
    """Rate of two pools, split at best, over that of one engine on each GPU."""
    return usual(f.BEST_POOLS_RATE, promise_s) / usual(f.SHARED_RATE, promise_s, **more)


def advantage_without_launches(promise_s: float) -> float:
    """Two pools over one engine, if a step that reads a prompt launched no more."""
    rates = (
        usual(formula, promise_s, prompt_launch_s=0.0)
        for formula in (f.BEST_POOLS_RATE, f.SHARED_RATE)
    )
    two, one = rates
    return two / one


def halves_rate(promise_s: float, launch_s: float = 0.0) -> float:
    """Rate of one engine that reads each prompt in two steps, by their extra launches.

    The second half reads the cache of the first again, which is left out: it takes less
    than a thousandth of the prompt's time.
    """
    return shared_rate(promise_s, 0.5, prompt_launch_s=launch_s)


def equal_at(advantage_of: Callable[[float], float], low: float, high: float) -> float:
    """Where the advantage falls through one, by halving.

    Raises:
        ValueError: it does not do so between the two ends.
    """
    if not advantage_of(low) > 1 > advantage_of(high):
        raise ValueError(f"advantage must cross 1 between {low} and {high}")
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if advantage_of(middle) > 1 else (low, middle)
    return low


def even_promise_s() -> float:
    """The promise under which both ways carry the same, if GPUs can be divided."""
    return equal_at(advantage, 0.01, LOOSEST_S)


def even_overlap_kv(promise_s: float) -> float:
    """The overlap of cache reads at which they do, under a promise."""
    return equal_at(lambda share: advantage(promise_s, overlap_kv=share), 0.0, 1.0)


def strict_streams(limit_s: float, per_s: float) -> dict[str, float]:
    """Share kept if every gap must be within a limit, by way, at a recorded rate."""
    named = {
        "whole": f"{BUDGETS[0]:,}",
        "chunks": f"{BUDGETS[-1]}, 0",
        "pools": "2P:2D",
    }
    return {
        way: points(LOADS[0], name, HANDS[0])[per_s][KINDS[1], limit_s]
        for way, name in named.items()
    }


@dataclass(frozen=True)
class PricedPools:
    """What a request takes of a GPU in each pool: ms, and dollars for a million."""

    read_ms: float
    write_ms: float
    read_usd: float
    write_usd: float


def priced(device: str, promise_s: float) -> PricedPools:
    """The usual request on a kind of GPU, at its hourly price.

    Raises:
        LookupError: the catalog does not know the GPU, or its price.
    """
    key_of("device", device, HOURLY)
    has = setting(None, catalog.accelerator(device)) | load(promise_s=promise_s)
    both = [1e3 * value(each, has) for each in (f.PREFILL_EACH_S, f.DECODE_GPU_S)]
    million_usd = 1e6 * float(HOURLY[device]) / 3600  # of a second in each request
    return PricedPools(*both, *(million_usd * ms / 1e3 for ms in both))
