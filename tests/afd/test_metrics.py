"""The paper's metrics, by hand: times between steps, tokens one by one."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from llmserve_lab.afd.simulation.bundle import Load, bundle
from llmserve_lab.afd.simulation.length_distributions import STEPS, Independent, Uniform
from tests.afd.bundles import drawn, ran, times


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("answer", [2, 5])
def test_the_time_per_token_is_that_between_two_steps(steps: str, answer: int) -> None:
    """Answers alike that start together: all steps take the same, bar their loads."""
    made = bundle(times(random.Random(3)), batch=4, n_attn=2, n_batches=2)
    still = replace(made, attn=replace(made.attn, slope=1e-12))
    law = Independent(Uniform(4, 4), Uniform(answer, answer))
    run = ran(still, Load(law=law, n_requests=400, steps=steps), 1)
    between = 2 * np.diff(run.back[20:220]).mean()
    assert run.tpot_s == pytest.approx(between, rel=0.02)


@pytest.mark.parametrize("seed", range(12))
def test_generated_tokens_are_those_of_the_slots_one_by_one(seed: int) -> None:
    made, load = drawn(random.Random(seed))
    run = ran(made, load, seed)
    r, m, per_slot = run.requests, run.bundle.n_batches, []
    last = run._first[1]
    for i in range(len(r)):
        until = (last - int(r.batch[i])) // m - int(r.first[i]) + 1
        per_slot.append(min(max(until, 0), int(r.decode[i] - r.age[i])))
    time = run.back[last] * run.bundle.n_instances
    assert run.generated_per_s == pytest.approx(sum(per_slot) / time)


def test_no_token_is_no_time_per_token() -> None:
    made = bundle(times(random.Random(1)), batch=4)
    none = Load(law=Independent(Uniform(5, 5), Uniform(0, 0)), n_requests=40)
    run = ran(made, none, 1)
    assert math.isnan(run.tpot_s) and run.generated_per_s == run.completed_per_s == 0
    assert "–" in repr(run.table())
