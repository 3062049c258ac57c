"""A smaller budget and a slot too few: what the page says of both, from other sides."""

from __future__ import annotations

import pytest

from llmserve_lab.capacity import budget, measured, triangle
from llmserve_lab.capacity.triangle import LEVEL
from llmserve_lab.continuous_batching.machine import priced
from llmserve_lab.running_example import cost


def billed() -> float:
    return triangle.goodput(triangle.points(), LEVEL.ttft_s, LEVEL.tpot_s)


def test_the_smaller_budget_gains_only_if_its_launches_are_replayed() -> None:
    small = budget.small_budget()
    assert small.not_replayed_per_s < billed() < small.usual_per_s


@pytest.mark.parametrize("replayed", (False, True))
def test_the_stored_goodput_lies_between_a_rate_that_keeps_and_one_that_does_not(
    replayed: bool,
) -> None:
    small = budget.small_budget()
    rate = small.usual_per_s if replayed else small.not_replayed_per_s
    price = priced(budget.ROWS) if replayed else cost()
    kept = [
        LEVEL.kept(
            triangle.served(triangle.LOADS[0], rate + more, budget.pool_of(price))
        ).good
        for more in (-1.0, 1.0)
    ]
    assert kept == [True, False]


def test_the_plan_needs_a_replica_less() -> None:
    small = budget.small_budget()
    many = small.replicas(1.2)
    assert (
        (many - 2) * small.hour_per_s / 1.2 < 40 <= (many - 1) * small.hour_per_s / 1.2
    )


def test_with_one_slot_fewer_one_client_waits_at_any_time() -> None:
    """By Little's law it waits for one over the rate, and then for its prompt."""
    row, full = measured.rows()[0], measured.beside()[0]
    waited_s = measured.one_slot_fewer_s() - full.ttft_s
    answer_s = full.tpot_s * (row.output_len - 1)
    assert waited_s == pytest.approx(answer_s / (row.clients - 1), rel=0.1)
