"""The five sentences that a reader keeps, each held by runs on several loads."""

from __future__ import annotations

import pytest

from llmserve_lab.symptoms.case import trials, tried, watched
from llmserve_lab.symptoms.cases import CASES, case
from llmserve_lab.symptoms.served import WatchedRun
from tests.symptoms.counts import swept

SEEDS = (0, 7)


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_one_alarm_two_causes_and_one_remedy_that_helps_only_one(seed: int) -> None:
    """Smaller chunks end the pauses of long prompts, and not those of preemption."""
    of = case("pauses")
    whole, storm = of.causes
    assert tried(of, whole.name, "smaller chunks", seed).factor > 10
    assert not tried(of, storm.name, "smaller chunks", seed).helped


@pytest.mark.parametrize("seed", SEEDS)
def test_queue_time_tells_a_full_server_from_a_long_prompt(seed: int) -> None:
    of = case("first-token")
    long, few = (watched(of, cause.name, seed) for cause in of.causes)
    assert few["queue_share"] > 0.95 and long["queue_share"] < 0.2


@pytest.mark.parametrize("seed", SEEDS)
def test_rate_times_queue_time_is_how_many_wait(seed: int) -> None:
    """The queue of the overloaded server, counted event by event."""
    run = case("first-token").causes[1].setup(seed)
    assert isinstance(run, WatchedRun)
    report = run.report()
    rate = report.num_requests / report.elapsed_s
    waits = swept(report, "arrived", "admitted")
    assert rate * float(report.queue_s.mean()) == pytest.approx(waits)
    assert waits > 10


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_two_points_of_memory_leave_most_of_the_storm(seed: int) -> None:
    of = case("preemption-storm")
    first, _ = of.causes
    more = tried(of, first.name, "a larger share of the memory", seed)
    fewer = tried(of, first.name, "fewer slots", seed)
    assert more.after["preemptions"] > 0.65 * more.before["preemptions"]
    assert fewer.after["preemptions"] == 0
    eight = tried(of, first.name, "8 bits for the cache", seed)
    assert eight.after["preemptions"] == 0
    assert eight.after["tokens_per_s"] > 1.5 * fewer.after["tokens_per_s"]


@pytest.mark.long
def test_remedies_that_help_have_a_price_that_is_read_beside_their_goal() -> None:
    """What is worse is another metric than the goal, and worse by 30% or more."""
    done = [each for of in CASES for each in trials(of) if each.helped]
    priced = [each for each in done if each.price]
    assert (len(done), len(priced)) == (30, 9)
    for each in priced:
        assert each.case.goal not in each.price
        for metric in each.price:
            before, after = (seen[metric] for seen in each.pair)
            worse = before / after if metric == "tokens_per_s" else after / before
            assert worse >= 1.3


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_a_cap_raises_the_rate_of_a_storm_by_a_few_per_cent(
    seed: int,
) -> None:
    """Both caps end their storm, and the first token waits for a slot."""
    found = {
        key: tried(case(key), cause, "fewer slots", seed)
        for key, cause in (
            ("preemption-storm", "answers outgrow the cache"),
            ("pauses", "preemption"),
        )
    }
    rates = {
        key: each.after["tokens_per_s"] / each.before["tokens_per_s"]
        for key, each in found.items()
    }
    assert all(each.helped for each in found.values())
    assert all(1 < rate < 1.12 for rate in rates.values()), rates
    for each in found.values():
        assert each.after["ttft_p50"] > each.before["ttft_p50"]
