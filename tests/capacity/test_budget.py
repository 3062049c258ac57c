"""A smaller budget and a slot too few: what the page says of both, from other sides."""

from __future__ import annotations

import pytest

from llmserve_lab.capacity import budget, margins, measured, triangle
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.triangle import LEVEL
from llmserve_lab.continuous_batching.machine import priced
from llmserve_lab.engine import IterationLoad
from llmserve_lab.running_example import cost, model
from llmserve_lab.validation import achieved


def billed() -> float:
    return triangle.goodput(triangle.points(), LEVEL.ttft_s, LEVEL.tpot_s)


def test_the_smaller_budget_gains_only_if_its_launches_are_replayed() -> None:
    small = budget.small_budget()
    assert small.not_replayed_per_s < billed() < small.usual_per_s


@pytest.mark.parametrize("answers", [1, 40, 256])
def test_a_step_without_a_prompt_costs_the_same_under_both_budgets(
    answers: int,
) -> None:
    """It replays under both; a prompt beside it pays four times a layer's launches."""
    step = IterationLoad.of(chunk=1, context=1100).times(answers)
    small, large = (priced(each) for each in (budget.ROWS, triangle.ROWS))
    assert small.seconds(step) == large.seconds(step) == cost().seconds(step)
    both = step.plus(IterationLoad.of(chunk=100))
    launch_s = model().n_layers * achieved().layer_s
    assert large.seconds(both) - small.seconds(both) == pytest.approx(3 * launch_s)


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


@pytest.mark.parametrize("factor", [1.0, 1.2])
def test_the_plan_needs_a_replica_less(factor: float) -> None:
    small = budget.small_budget()
    many, each = small.replicas(factor), small.hour_per_s / factor
    assert (many - 2) * each < 40 <= (many - 1) * each
    own = float(recorded()["hour"]["goodput_per_s"])
    assert many == margins.planned(own, factor - 1).replicas - 1


def test_with_one_slot_fewer_one_client_waits_at_any_time() -> None:
    """By Little's law it waits for one over the rate, and then for its prompt."""
    row, full = measured.rows()[0], measured.beside()[0]
    waited_s = measured.one_slot_fewer_s() - full.ttft_s
    answer_s = full.tpot_s * (row.output_len - 1)
    assert waited_s == pytest.approx(answer_s / (row.clients - 1), rel=0.1)
