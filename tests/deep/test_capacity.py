"""The record of the chapter on capacity, made anew; the search against everything."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from llmserve_lab.capacity import pools, runs, triangle
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


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("triangle", triangle.traced_all),
        ("scaled", runs.scaled_all),
        ("pools", pools.carried_all),
        ("hour", runs.hour_all),
        ("search", runs.searched_all),
    ],
)
def test_the_record_is_what_the_simulations_give(
    name: str, made: Callable[[], Any]
) -> None:
    assert recorded()[name] == json.loads(json.dumps(made()))


@pytest.mark.parametrize("rank", [by_price(), by_gpus()])
@pytest.mark.parametrize(
    "level",
    [runs.SEARCHED, ServiceLevel(1.0, 0.03), ServiceLevel(0.5, 0.1)],
)
def test_the_search_agrees_with_simulating_every_better_candidate(
    rank: Ranked, level: ServiceLevel
) -> None:
    found = search(grid(), azure_hour(), level, rank=rank)
    assert found.best == exhaustive(grid(), azure_hour(), level, rank=rank)
    assert found.in_full <= 0.05 * len(found.fates)
