"""The record of the simulated goodput, computed again at every sixth of its rates."""

import pytest

from llmserve_lab.disaggregation.goodput import (
    HANDS,
    LIMITS_S,
    LOADS,
    POOLS,
    WAYS,
    Demand,
    points,
    simulated,
    variants,
)
from tests.disaggregation.test_goodput import check_lasting

SIXTH = 6
RUNS = [
    (demand, name, hand)
    for demand in LOADS
    for way in WAYS
    for hand in (HANDS if way == POOLS else HANDS[:1])
    for name in variants(way, hand)
]


@pytest.mark.parametrize(("demand", "name", "hand"), RUNS)
def test_the_record_is_what_the_simulator_gives_now(
    demand: Demand, name: str, hand: str
) -> None:
    for rate, stored in list(points(demand, name, hand).items())[::SIXTH]:
        now = simulated(demand, name, hand, rate)
        assert now == pytest.approx(stored, abs=1e-4), rate


@pytest.mark.parametrize("limit", LIMITS_S)
def test_every_goodput_of_two_pools_lasts(limit: float) -> None:
    check_lasting(LOADS[0], "2P:2D", HANDS[0], limit)
