"""The map on every case, on every dashboard, and again after each of its remedies."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

from llmserve_lab.engine import Chunked, Pool, PrefixAware
from llmserve_lab.kv_memory.machine import blocks_with
from llmserve_lab.symptoms import triage
from llmserve_lab.symptoms.case import (
    HELPS,
    NO_HELP,
    Cause,
    Remedy,
    Symptom,
    trials,
    tried,
)
from llmserve_lab.symptoms.cases import CASES, case
from llmserve_lab.symptoms.cases.caching import PREFIX
from llmserve_lab.symptoms.cases.latency import CALM, CHUNK, FIRST_TOKEN
from llmserve_lab.symptoms.cases.memory import EIGHT_BITS
from llmserve_lab.symptoms.mapped import led_to, panel_of
from llmserve_lab.symptoms.page import boards
from llmserve_lab.symptoms.served import BUDGET, WatchedRun, poisson, server

GOALS = triage.Goals()
ON_FOUR = FIRST_TOKEN.cause("long prompts").remedy("tensor parallelism over four GPUs")
TIME_LAST = PREFIX.cause("prompts differ at the start").remedies[0]
RUNS = [(of, cause) for of in CASES if of.key != "hot-expert" for cause in of.causes]
NAMES = [f"{of.key}: {cause.name}" for of, cause in RUNS]
NOWHERE = triage.ELSEWHERE.cause
MOST = 12  # remedies one after another


def policy(pool: Pool) -> Chunked:
    assert isinstance(pool.policy, Chunked)
    return pool.policy


def remedied(run: WatchedRun, leaf: triage.Leaf) -> WatchedRun:
    """What the leaf says, done to the server."""
    pool = run.pool
    slots, budget = policy(pool).max_batch, policy(pool).budget
    seen = run.observe()
    now = seen["running"] / pool.replicas

    def capped(to: float) -> WatchedRun:
        assert int(to) < slots, "a cap that binds"
        return with_pool(policy=replace(policy(pool), max_batch=int(to)))

    def with_pool(**changes: object) -> WatchedRun:
        changed = replace(pool, **changes)  # type: ignore[arg-type]
        return replace(run, deployment=changed)

    def tried_on(remedy: Remedy) -> WatchedRun:
        done = remedy.change(run)
        assert isinstance(done, WatchedRun)
        return done

    if leaf is triage.FEW:
        return capped_at(run, 2 * slots)
    if leaf is triage.OUTGROWN:
        return capped(0.8 * now)
    if leaf is triage.BATCH and budget <= CHUNK:
        return capped(now * GOALS.itl_s / seen["itl_p50"])
    if leaf is triage.BATCH:
        return with_pool(policy=replace(policy(pool), budget=CHUNK))
    if leaf in (triage.LONG, triage.MIXED):
        assert budget > CHUNK, "chunks can still be smaller"
        return with_pool(policy=replace(policy(pool), budget=max(budget // 4, CHUNK)))
    if leaf is triage.FULL:
        return tried_on(EIGHT_BITS)
    if leaf is triage.OVERLOAD:
        return with_pool(replicas=2 * pool.replicas)
    if leaf is triage.LITTLE:
        return with_pool(kv_blocks=blocks_with(slots))
    if leaf is triage.OFF:
        return with_pool(prefix_caching=True)
    if leaf is triage.START:
        return tried_on(TIME_LAST)
    if leaf is triage.SCATTERED:
        return with_pool(routing=PrefixAware(8))
    assert leaf is triage.PROMPTS, leaf
    if pool.cost.n_gpus > 1:
        return with_pool(policy=replace(policy(pool), budget=2 * budget))
    return tried_on(ON_FOUR)


def capped_at(run: WatchedRun, slots: int) -> WatchedRun:
    """The same server with other slots."""
    wider = replace(policy(run.pool), max_batch=slots)
    return replace(run, deployment=replace(run.pool, policy=wider))


def walked(run: WatchedRun) -> list[triage.Leaf]:
    """Leaves of the map, each remedied before the next look, until it ends."""
    found: list[triage.Leaf] = []
    while len(found) < MOST:
        leaf = triage.cause_of(panel_of(run))
        found.append(leaf)
        if leaf in (triage.HEALTHY, triage.ELSEWHERE):
            return found
        run = remedied(run, leaf)
    raise AssertionError([each.cause for each in found])


@pytest.mark.long
@pytest.mark.parametrize(("of", "cause"), RUNS, ids=NAMES)
def test_remedying_what_the_map_names_and_looking_again_ends(
    of: Symptom, cause: Cause
) -> None:
    """At the end nothing is left to name, and no look goes back to an earlier one."""
    run = cause.setup(0)
    assert isinstance(run, WatchedRun)
    found = walked(run)
    assert found[0] == led_to(of, cause.name)
    assert found[-1] in (triage.HEALTHY, triage.ELSEWHERE)
    runs = [each for at, each in enumerate(found) if found[at - 1 : at] != [each]]
    assert len(runs) == len(set(runs)), "the map goes round in a circle"


@pytest.mark.long
@pytest.mark.parametrize(("of", "cause"), RUNS, ids=NAMES)
def test_the_map_ends_after_every_remedy_that_was_tried(
    of: Symptom, cause: Cause
) -> None:
    """What helps takes the cause off the map."""
    before = led_to(of, cause.name)
    for remedy in cause.remedies:
        run = remedy.change(cause.setup(0))
        assert isinstance(run, WatchedRun)
        found = walked(run)
        assert found[-1] in (triage.HEALTHY, triage.ELSEWHERE)
        if remedy.helps and found[0] not in (triage.ELSEWHERE, triage.HEALTHY):
            assert found[0] != before


def remedies_of(leaf: triage.Leaf) -> tuple[list[str], list[str]]:
    """Rows that a leaf names to be done, the best first, and those to be undone."""
    words = re.sub(r" \([^)]*\)", "", leaf.remedy)
    done, _, undone = words.partition("; undo ")
    return done.split(", or "), undone.split(", or ") if undone else []


@pytest.mark.long
@pytest.mark.parametrize("seed", (0, 3))
@pytest.mark.parametrize(
    ("key", "cause", "leaf"),
    [each for each in triage.TRIED if each[2].cause not in ("healthy", NOWHERE)],
)
def test_what_the_map_names_first_helped_most_in_the_table_of_its_cause(
    key: str, cause: str, leaf: triage.Leaf, seed: int
) -> None:
    """Each table that has its other remedies finds that they help, too."""
    of = case(key)
    factors = {
        each.remedy.name: each.factor
        for each in trials(of, seed)
        if each.cause.name == cause
    }
    (first, *others), undone = remedies_of(leaf)
    assert factors[first] == max(factors.values()) >= HELPS
    assert all(factors.get(each, HELPS) >= HELPS for each in others)
    assert all(factors[each] <= 1 / NO_HELP for each in undone)


def test_every_remedy_that_the_map_names_is_a_row_of_a_table_it_stands_for() -> None:
    rows: dict[triage.Leaf, set[str]] = {}
    for key, cause, leaf in triage.TRIED:
        rows.setdefault(leaf, set()).update(
            each.name for each in case(key).cause(cause).remedies
        )
    for leaf, names in rows.items():
        if leaf not in (triage.HEALTHY, triage.ELSEWHERE):
            done, undone = remedies_of(leaf)
            assert names.issuperset(done + undone)
    asked = {leaf for *_, leaf in triage.TRIED}
    untried = {triage.OVERLOAD, triage.FRONT, triage.UNKNOWN}
    assert set(triage.leaves()) == asked | untried


def test_neither_smaller_chunks_nor_a_replica_alone_keeps_both_limits() -> None:
    """So the map asks for the one, and then for the other."""
    of = case("percentiles")
    chunks, replica = (
        tried(of, "a large batch", each).after
        for each in ("smaller chunks", "a second replica")
    )
    assert chunks["itl_p99"] < GOALS.itl_p99_s < replica["itl_p99"]
    assert replica["itl_p50"] < GOALS.itl_s < chunks["itl_p50"]


def test_a_batch_that_was_capped_is_not_widened_again() -> None:
    """The first token is late after the cap; more slots would undo it."""
    of = case("percentiles")
    large = of.cause("a large batch")
    run = large.remedy("cap the batch").change(large.setup(0))
    assert isinstance(run, WatchedRun)
    assert panel_of(run)["ttft_p50"] > GOALS.ttft_s
    assert triage.cause_of(panel_of(run)) == triage.OVERLOAD


@pytest.mark.parametrize(("key", "cause"), boards.GAME.values())
def test_each_dashboard_of_the_page_is_led_to_its_cause(key: str, cause: str) -> None:
    assert led_to(case(key), cause).cause == cause


@pytest.mark.long
@pytest.mark.parametrize("seed", (0, 3))
@pytest.mark.parametrize(("key", "cause", "leaf"), triage.TRIED)
def test_the_map_leads_each_run_to_its_cause(
    key: str, cause: str, leaf: triage.Leaf, seed: int
) -> None:
    assert led_to(case(key), cause, seed) == leaf


def test_the_map_was_tried_on_all_causes() -> None:
    assert sorted((key, cause) for key, cause, _ in triage.TRIED) == sorted(
        (of.key, cause.name) for of in CASES for cause in of.causes
    )


@pytest.mark.parametrize("key", ("first-token", "pauses", "percentiles"))
def test_a_healthy_run_falls_through(key: str) -> None:
    run = case(key).healthy(0)
    assert isinstance(run, WatchedRun)
    seen = panel_of(run)
    assert triage.cause_of(seen) == triage.HEALTHY
    assert triage.cause_of(seen | {"in_front": 0.8}) == triage.FRONT


@pytest.mark.parametrize("budget", (512, BUDGET))
def test_overload_is_no_lack_of_slots(budget: int) -> None:
    """More arrives than the GPU carries: with a small budget the gaps are short and
    hardly any slot is taken, with a large one they are long."""
    requests = poisson(rate_per_s=60.0, many=900, seed=0)
    run = WatchedRun(requests, server(Chunked(budget, 256)))
    assert triage.cause_of(panel_of(run)) == triage.OVERLOAD


def test_twice_the_slots_make_a_gap_at_most_twice_as_long() -> None:
    """So the map never leads from too few slots to a batch that is too large."""
    requests = poisson(rate_per_s=2 * CALM, many=200, seed=1)
    gaps = [
        WatchedRun(requests, server(Chunked(BUDGET, slots))).observe()["itl_p50"]
        for slots in (2, 4, 8)
    ]
    assert all(more <= 2 * few for few, more in pairwise(gaps))
