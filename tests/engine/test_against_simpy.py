"""The engine against its slow twin, and its leaps against its steps."""

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from llmserve_lab.engine import Pool
from tests.engine.scenarios import Scenario, scenario, slow
from tests.engine.slow import Life

SCENARIOS = {seed: scenario(seed) for seed in range(100)}


def same(found: Any, expected: Any, note: str, *, rtol: float = 0) -> None:
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-9, err_msg=note)


def gap_list(lives: list[Life]) -> list[float]:
    gaps = [b - a for life in lives for a, b in pairwise(life.token_times_s)]
    return sorted(gaps)


@pytest.mark.parametrize("tens", range(10))
def test_the_slow_twin_has_the_same_times(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        given = SCENARIOS[seed]
        report, lives = given.fast(), slow(given)
        assert len(lives) == report.num_requests == len(given.requests), seed
        twins = [lives[int(number)] for number in report.id]
        expected: dict[str, list[float]] = {
            "arrival_s": [life.arrived_s for life in twins],
            "scheduled_s": [life.scheduled_s for life in twins],
            "first_token_s": [life.token_times_s[0] for life in twins],
            "last_token_s": [life.token_times_s[-1] for life in twins],
            "finished_s": [life.answered_s for life in twins],
            "preemptions": [life.preemptions for life in twins],
            "worst_gap_s": [max(gap_list([life]), default=0) for life in twins],
        }
        for name, values in expected.items():
            same(getattr(report, name), values, f"{name}, seed {seed}")
        lengths, counts = report.gaps.values()
        found = np.repeat(lengths, counts.astype(int))
        same(found, gap_list(twins), f"gaps, seed {seed}")


def test_a_leap_is_the_steps_it_skips() -> None:
    saved = 0
    for seed, given in SCENARIOS.items():
        leaps, steps = given.fast(), given.fast(leap=False)
        for name in (
            "id",
            "first_token_s",
            "last_token_s",
            "finished_s",
            "worst_gap_s",
        ):
            same(getattr(leaps, name), getattr(steps, name), f"{name}, seed {seed}")
        assert leaps.iterations == steps.iterations
        assert leaps.gaps.count == steps.gaps.count
        same(leaps.gaps.total_s, steps.gaps.total_s, f"gaps, seed {seed}")
        for name, use in leaps.pools.items():
            mine, theirs = vars(use).values(), vars(steps.pools[name]).values()
            same(list(mine), list(theirs), f"{name}, seed {seed}", rtol=1e-9)
        saved += steps.iterations - runs(given)
    assert saved > 1000  # it does leap


def runs(given: Scenario) -> int:
    trace = given.fast(log=True).log
    assert trace is not None
    return len(trace)


def test_the_workloads_are_of_every_kind() -> None:
    kinds: Counter[str] = Counter()
    for given in SCENARIOS.values():
        kinds[type(given.deployment).__name__] += 1
        kinds["closed"] += given.clients is not None
        kinds["preempted"] += bool(given.fast().preemptions.any())
        if isinstance(given.deployment, Pool):
            kinds[type(given.deployment.policy).__name__] += 1
    assert min(kinds.values()) >= 8, kinds
