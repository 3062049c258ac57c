"""A slot's mean and spread: by table, by trace, by looking at real slots."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.experiments.replications import joint
from llmserve_lab.afd.experiments.trace_moments import TRACES
from llmserve_lab.afd.simulation.bundle import Load
from llmserve_lab.afd.simulation.empirical_lengths import JointLengths
from llmserve_lab.afd.simulation.length_distributions import (
    STEPS,
    Floats,
    Geometric,
    Independent,
    Ints,
    Law,
    Uniform,
)
from llmserve_lab.afd.simulation.slots import fill
from tests.workloads.real import lengths

LAWS: list[Law] = [
    Independent(Uniform(0, 40), Geometric(20, least=0)),
    Independent(Geometric(30, least=0), Uniform(5, 30)),
    Independent(Uniform(7, 7), Uniform(12, 12)),
    JointLengths(np.array([3, 40, 7, 90]), np.array([30, 2, 0, 60])),
]


def looked_at(law: Law, steps: str) -> list[int]:
    """What a look finds at every step of many requests, one after the other."""
    prompts, decodes = law.draw(np.random.default_rng(1), 4000)
    lasts = STEPS[steps](decodes)
    pairs = zip(prompts.tolist(), lasts.tolist(), strict=True)
    return [prompt + age for prompt, last in pairs for age in range(last)]


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_a_slot_holds_what_a_look_finds(law: Law, steps: str) -> None:
    slot, looks = law.slot(steps), looked_at(law, steps)
    assert slot.theta == pytest.approx(np.mean(looks), rel=0.05)
    assert slot.variance**0.5 == pytest.approx(np.std(looks), rel=0.06, abs=1e-9)
    assert slot.steps == pytest.approx(len(looks) / 4000, rel=0.05)
    apart = np.array(looks) - np.mean(looks)
    lopsided = np.mean(apart**3) / np.std(looks) ** 3
    assert slot.skewness == pytest.approx(lopsided, abs=0.2)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_a_stationary_start_is_stationary(law: Law) -> None:
    """The load does not drift: not at the first step, not later."""
    slots, rounds = 400, 8
    load = Load(law=law, n_requests=1, start="stationary")
    loads = np.array([
        fill(load, n_slots=slots, n_steps=60, batch=0, instance=i, seed=3).load(60)
        for i in range(rounds)
    ])  # fmt: skip
    error = 5 * math.sqrt(law.slot().variance / slots / rounds) / law.slot().theta
    for step in (0, 20, 59):
        mean = loads[:, step].mean() / slots
        assert mean == pytest.approx(law.slot().theta, rel=error + 0.005)


def test_a_fresh_start_holds_prompts_alone_and_follows_the_recursion() -> None:
    law = Independent(Uniform(0, 20), Geometric(15, least=0))
    load = Load(law=law, n_requests=1)
    loads = np.array([
        fill(load, n_slots=300, n_steps=40, batch=0, instance=i, seed=3).load(40)
        for i in range(10)
    ])  # fmt: skip
    for step in (0, 5, 39):
        known = {"mean_prompt": 10.0, "p_stop": 1 / 16, "step_index": step}
        expected = f.STEP_LOAD.at(known, batch=300)
        assert loads[:, step].mean() == pytest.approx(float(expected), rel=0.03)


def test_the_long_run_of_the_geometric_law_is_the_sum_of_means() -> None:
    law = Independent(Uniform(0, 200), Geometric(500, least=0))
    theta = f.SLOT_TOKENS_GEOMETRIC(mean_prompt=100, mean_decode=500)
    assert law.slot().theta == pytest.approx(float(theta), rel=1e-6)
    spread = f.SLOT_SD(prompt_variance=(201**2 - 1) / 12, mean_decode=500)
    assert law.slot().variance == pytest.approx(float(spread) ** 2, rel=1e-6)


def test_answers_that_always_end_at_once_hold_their_prompts() -> None:
    law = Independent(Uniform(7, 9), Geometric.stopping(1, least=0))
    assert (law.slot().steps, law.slot().theta) == pytest.approx((1, 8))
    assert law.draw(np.random.default_rng(1), 5)[1].tolist() == [0] * 5


def test_theta_of_a_trace_is_formula_9_8() -> None:
    trace = joint()
    steps = trace.decodes + 1.0
    theta = f.SLOT_TOKENS(
        mean_steps=steps.mean(),
        mean_square_steps=(steps**2).mean(),
        mean_prompt_steps=(trace.prompts * steps).mean(),
    )
    assert trace.slot().theta == pytest.approx(float(theta), rel=1e-12)
    assert trace.correlation > 0.9


def test_a_trace_is_counted_in_64_bits_whatever_it_comes_in() -> None:
    rows: list[Any] = [np.array([250, 255], dtype=kind) for kind in ("u1", "i8", "f4")]
    few, many, real, plain = (
        JointLengths(row, row).slot() for row in [*rows, [250, 255]]
    )
    assert few == many == real == plain
    alike = JointLengths(np.full(7, 100_003), np.zeros(7, dtype=np.int64)).slot()
    assert (alike.theta, alike.variance, alike.skewness) == (100_003, 0, 0)


@dataclass(frozen=True)
class Coin:
    """A law of one length that the book does not have."""

    def draw(self, rng: np.random.Generator, size: int) -> Ints:
        return 10 * rng.integers(1, 3, size)

    def table(self) -> tuple[Ints, Floats]:
        return np.array([10, 20]), np.array([0.5, 0.5])


def test_a_law_of_one_length_is_anything_that_draws_and_knows_its_chances() -> None:
    law = Independent(Coin(), Geometric(20, least=0))
    looks = looked_at(law, "end token")
    assert law.slot().theta == pytest.approx(np.mean(looks), rel=0.05)


@pytest.mark.parametrize("name", TRACES)
def test_real_traces_have_the_moments_that_are_recorded(name: str) -> None:
    seen, (prompts, answers) = TRACES[name], lengths(name)
    steps = np.maximum(answers, 1).astype(np.float64)
    for record, counted in (
        (seen.prompt, prompts.mean()),
        (seen.steps, steps.mean()),
        (seen.square, (steps**2).mean()),
        (seen.product, (prompts * steps).mean()),
    ):
        assert float(record) == pytest.approx(counted, rel=1e-5)
    theta = JointLengths(prompts, answers).slot("one each").theta
    assert seen.slot_tokens() == pytest.approx(theta, rel=1e-4)
