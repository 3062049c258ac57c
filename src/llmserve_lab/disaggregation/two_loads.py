"""Four whole GPUs, more of them, and a fleet: what the formulas say of each load.

And how far the simulated goodput of two pools is from the rate of GPUs always busy.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.checks import whole
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.goodput import (
    GPUS,
    HANDS,
    LIMITS_S,
    LOADS,
    POOLS,
    Demand,
    served_best,
)
from llmserve_lab.disaggregation.served import known, load, value

MOST_GPUS = 10_000  # every division of them is priced


@dataclass(frozen=True)
class Divided:
    """Requests a second on so many GPUs: one engine on each, two pools, a fleet's."""

    one: float
    whole: float
    prefills: int
    best: float


def split(demand: Demand, limit_s: float, gpus: int = GPUS) -> Divided:
    """What each way carries, if all GPUs are busy and read one prompt at a time.

    Raises:
        ValueError: there are not GPUs for two pools, or more than are tried in turn.
    """
    whole(of="GPU", first=2, most=MOST_GPUS, gpus=gpus)
    asked = load(demand.prompt, demand.answer, limit_s)
    carried = {
        x: value(f.POOLS_RATE, known(asked, n_prefill=x, n_decode=gpus - x))
        for x in range(1, gpus)
    }
    prefills = max(carried, key=carried.__getitem__)
    half = known(asked, n_prefill=gpus / 2, n_decode=gpus / 2)
    return Divided(
        one=value(f.SHARED_RATE, half),
        whole=carried[prefills],
        prefills=prefills,
        best=value(f.BEST_POOLS_RATE, half),
    )


def simulated_over_formula() -> tuple[float, float]:
    """Goodput of two pools over the rate of the best split: least and most.

    Over both loads, all promises, and both hand-overs.
    """
    found = [
        served_best(POOLS, limit_s, hand, demand).per_s / split(demand, limit_s).best
        for demand in LOADS
        for limit_s in LIMITS_S
        for hand in HANDS
    ]
    return min(found), max(found)
