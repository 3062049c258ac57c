"""The record of the chapter on capacity, sampled and made anew; the search in full.

Which part of the record is computed again is drawn by a seed, a share of each kind;
`python -m llmserve_lab.capacity` makes all of it.
"""

import json
from random import Random
from typing import Any

import pytest

from llmserve_lab.capacity import headroom, mlperf, pools, runs, sweep, triangle
from llmserve_lab.capacity.__main__ import PARTS
from llmserve_lab.capacity.autoscaling import Autoscaler, scaled
from llmserve_lab.capacity.deployment import grid
from llmserve_lab.capacity.level import ServiceLevel
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.search import (
    Ranked,
    by_gpus,
    by_price,
    exhaustive,
    search,
)
from llmserve_lab.capacity.trace import azure_hour

DRAW = Random(18)
LINES = [
    (model, device, load)
    for model in triangle.MODELS
    for device in triangle.DEVICES
    for load in triangle.LOADS
]
BURSTS = [(s, name) for s in (runs.SLOW_S, runs.FAST_S) for name in runs.policies(s)]


def as_stored(made: Any) -> Any:
    """What comes back from a file."""
    return json.loads(json.dumps(made))


@pytest.mark.parametrize(("model", "device", "load"), DRAW.sample(LINES, 8))
def test_a_line_of_the_triangle_is_what_the_engine_gives(
    model: str, device: str, load: triangle.MeanLengths
) -> None:
    one = triangle.pool(model, device)
    most = sweep.saturation(load, one)
    stored = recorded()["triangle"][f"{model}, {device}, {load}"]
    asked = {float(f"{share * most:.3g}") for share in sweep.SHARES}
    rates = [row[0] for row in stored]
    assert asked <= {*rates} and rates == sorted(rates)
    for place in DRAW.sample(range(len(rates)), 4):
        run = triangle.served(load, rates[place], one, seconds=sweep.LONG_S)
        assert stored[place] == as_stored(sweep.point(run, rates[place]))


@pytest.mark.parametrize(("cold_s", "name"), DRAW.sample(BURSTS, 4))
def test_a_burst_is_what_the_autoscaler_makes_of_it(cold_s: float, name: str) -> None:
    one = triangle.pool("llama-3.1-8b", "h100-sxm")
    run = scaled(runs.burst(), one, runs.policies(cold_s)[name])
    assert recorded()["scaled"][f"{cold_s:g}"][name] == as_stored(runs.stored(run))


@pytest.mark.parametrize("place", DRAW.sample(range(len(headroom.TRIED)), 2))
def test_a_burst_with_headroom_is_what_is_stored(place: int) -> None:
    cold_s, target, fewest, late_s = headroom.TRIED[place]
    policy = Autoscaler(
        "requests",
        target,
        cold_s=cold_s,
        fewest=fewest,
        most=runs.MOST,
        late_s=late_s,
    )
    one = triangle.pool("llama-3.1-8b", "h100-sxm")
    draws = [headroom.outcome(seed, policy, one) for seed in headroom.DRAWS]
    assert recorded()["headroom"][place] == draws


@pytest.mark.parametrize("mix", DRAW.sample(pools.MIXES, 3), ids=str)
def test_a_mix_carries_what_is_stored(mix: pools.GpuMix) -> None:
    assert pools.goodput(mix) == round(pools.carried(mix), 2)


def test_the_hour_is_what_the_simulations_give() -> None:
    assert recorded()["hour"] == as_stored(runs.hour_all())


@pytest.mark.parametrize("part", ["caps", "charged", "latencies", "few", "best"])
def test_runs_at_the_goodputs_are_what_is_stored(part: str) -> None:
    assert recorded()[part] == as_stored(PARTS[part]())


def test_the_engine_beside_the_benchmark_is_what_is_stored() -> None:
    assert recorded()["mlperf"] == as_stored(mlperf.compared())


def test_the_fates_are_those_of_the_search() -> None:
    for name, rank in runs.RANKS.items():
        found = search(grid(), azure_hour(), runs.SEARCHED, rank=rank)
        fates = [
            [each.device, each.tp, each.replicas, each.rows, fate]
            for each, fate in found.fates.items()
        ]
        assert recorded()["search"][name] == as_stored(fates)


@pytest.mark.parametrize(
    ("rank", "level"),
    [
        (by_price(), runs.SEARCHED),
        (by_price(spare=1), runs.SEARCHED),
        (by_price(), ServiceLevel(0.5, 0.1)),
        (by_gpus(), ServiceLevel(1.0, 0.03)),
    ],
)
def test_the_search_agrees_with_simulating_every_better_candidate(
    rank: Ranked, level: ServiceLevel
) -> None:
    found = search(grid(), azure_hour(), level, rank=rank)
    assert found.best == exhaustive(grid(), azure_hour(), level, rank=rank)
    assert found.in_full <= 0.05 * len(found.fates)
