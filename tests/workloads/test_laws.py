"""Draws have the moments, the tails and the seeds that their laws promise."""

import math
from itertools import islice, pairwise
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.engine.scheduler.request import Request
from llmserve_lab.workloads import (
    Always,
    Bounded,
    Conversations,
    Empirical,
    Geometric,
    LengthLaw,
    Lognormal,
    bursty,
    bursty_requests,
    closed_requests,
    faster,
    made_up,
    poisson,
    poisson_requests,
)
from llmserve_lab.workloads.lengths import Integers
from llmserve_lab.workloads.traces import MOONCAKE_BLOCK

Array = np.ndarray[Any, np.dtype[np.float64]]
MANY = 40_000
LAWS: list[LengthLaw] = [
    Always(7),
    Geometric(30),
    Lognormal(mean=200, cv=1.2),
    Bounded(law=Geometric(30), low=5, high=60),
    Empirical((3, 3, 900)),
]
every_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)


def draws(law: LengthLaw, seed: int = 0, size: int = MANY) -> Integers:
    return law.draw(np.random.default_rng(seed), size)


def gaps(rate: float, cv: float, seed: int) -> Array:
    times = list(islice(bursty(rate, cv=cv, rng=np.random.default_rng(seed)), MANY))
    return np.diff(times)


@every_law
def test_lengths_are_whole_at_least_one_and_follow_the_seed(law: LengthLaw) -> None:
    found = draws(law)
    assert found.dtype == np.int64 and found.size == MANY and found.min() >= 1
    assert (found == draws(law)).all()
    assert isinstance(law, Always) or (found != draws(law, seed=1)).any()


def test_a_geometric_answer_stops_like_a_coin_after_every_token() -> None:
    rng, stop = np.random.default_rng(3), 1 / 30
    flipped = []
    for _ in range(4000):
        length = 1
        while rng.random() >= stop:
            length += 1
        flipped.append(length)
    found = draws(Geometric(30))
    for q in (10, 50, 90):
        near = pytest.approx(np.percentile(flipped, q), rel=0.1, abs=1)
        assert np.percentile(found, q) == near
    assert found.mean() == pytest.approx(30, rel=0.02)


def test_a_lognormal_has_its_mean_spread_and_tail() -> None:
    law = Lognormal(mean=200, cv=1.2)
    found = draws(law)
    assert found.mean() - 0.5 == pytest.approx(200, rel=0.03)
    assert found.std() / found.mean() == pytest.approx(1.2, rel=0.05)
    normal = NormalDist(math.log(200) - law.sigma**2 / 2, law.sigma)
    for q in (0.1, 0.5, 0.9, 0.99):
        near = pytest.approx(math.exp(normal.inv_cdf(q)), rel=0.06)
        assert np.quantile(found, q) == near


def test_bounds_are_kept_without_heaps_on_them() -> None:
    free, kept = draws(Geometric(30)), draws(LAWS[3])
    inside = free[(free >= 5) & (free <= 60)]
    assert kept.min() == 5 and kept.max() == 60
    for length in (5, 20, 60):
        share = np.mean(inside == length)
        assert np.mean(kept == length) == pytest.approx(share, abs=0.004)


def test_bounds_that_a_law_hardly_meets_are_refused() -> None:
    law = Bounded(law=Always(7), low=8, high=9)
    with pytest.raises(ValueError, match=r"low and high must hold .*got 0 of 256"):
        draws(law, size=10)


def test_observed_lengths_come_as_often_as_they_were_observed() -> None:
    found = draws(Empirical((3, 3, 900)))
    assert set(found) == {3, 900}
    assert np.mean(found == 3) == pytest.approx(2 / 3, abs=0.01)
    array: Any = np.array([3, 3, 900])
    assert Empirical(array) == Empirical((3, 3, 900))


@pytest.mark.parametrize("cv", [0.4, 1.0, 3.0])
def test_gaps_have_their_mean_and_their_burstiness(cv: float) -> None:
    found = gaps(5.0, cv, seed=2)
    assert found.mean() == pytest.approx(0.2, rel=0.06)
    assert found.std() / found.mean() == pytest.approx(cv, rel=0.06)


def test_poisson_arrivals_forget_how_long_it_has_been() -> None:
    """Given a wait of 0.3 s the next 0.3 s are as likely as the first."""
    found = gaps(5.0, 1.0, seed=4)
    first = np.mean(found > 0.3)
    assert np.mean(found[found > 0.3] > 0.6) == pytest.approx(first, rel=0.06)
    times = list(islice(poisson(5.0, np.random.default_rng(4)), MANY))
    counts = np.bincount(np.asarray(times).astype(int))[:-1]
    assert counts.var() == pytest.approx(counts.mean(), rel=0.06)


@given(st.integers(0, 9), st.sampled_from([1, 7, 1023, 1024, 1025]))
def test_taking_more_changes_no_request(seed: int, taken: int) -> None:
    def some(size: int) -> list[Request]:
        law = Geometric(9)
        return list(poisson_requests(
            rate_per_s=2, prompt=law, output=law, num_requests=size, seed=seed
        ))  # fmt: skip

    assert some(1100)[:taken] == some(taken)


def test_another_rate_stretches_the_times_and_leaves_the_lengths() -> None:
    def at(rate: float) -> list[Request]:
        return list(bursty_requests(
            rate_per_s=rate, cv=2, prompt=Geometric(90), output=Geometric(9),
            num_requests=50, seed=5,
        ))  # fmt: skip

    for one, other in zip(faster(at(2), times=3), at(6), strict=True):
        assert one.arrival_s == pytest.approx(other.arrival_s)
        assert one.prompt_len == other.prompt_len


def test_a_closed_loop_gives_lengths_and_no_times() -> None:
    law = Geometric(9)
    found = list(closed_requests(prompt=law, output=law, num_requests=20, seed=0))
    assert {each.arrival_s for each in found} == {0.0}
    assert [each.id for each in found] == list(range(20))
    assert [each.prompt_len for each in found] != [each.output_len for each in found]


TALK = Conversations(
    rate_per_s=0.5, turns=Geometric(4), question=Geometric(700), answer=Geometric(300),
    system_len=1100, think_s=20,
)  # fmt: skip


def test_a_turn_sends_its_past_again() -> None:
    """Whoever shares more than the system prompt is a later turn of one talk."""
    seen: dict[int, int] = {}
    again = 0
    for each in TALK.requests(num_requests=400, seed=0):
        whole = each.prompt_len // MOONCAKE_BLOCK
        assert each.prefix[:2] == (0, 1)
        assert len(each.prefix) == whole + (each.prompt_len % MOONCAKE_BLOCK > 0)
        shared = [name for name in each.prefix if name in seen]
        assert each.prefix[: len(shared)] == tuple(shared)  # a prefix, without holes
        if len(shared) > 2:
            again += 1
            assert each.prompt_len > seen[shared[-1]]
        seen.update(dict.fromkeys(each.prefix, each.prompt_len))
    assert 0.5 < again / 400 < 0.8  # one minus one over the mean number of turns, less


def test_turns_of_all_conversations_come_in_order() -> None:
    found = list(TALK.requests(num_requests=300, seed=1))
    assert all(a.arrival_s <= b.arrival_s for a, b in pairwise(found))
    assert found == list(TALK.requests(num_requests=300, seed=1))


def test_what_is_made_up_follows_its_seed() -> None:
    one, same, other = (made_up(num_requests=50, seed=seed) for seed in (0, 0, 1))
    for name in one:
        first = list(one[name])
        assert first == list(same[name]) != list(other[name])
