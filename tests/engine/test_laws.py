"""What holds under every policy: nothing is lost, nothing twice, no time runs back."""

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.engine import Chunked, Disaggregated, IterationRecord, Pool, Report
from llmserve_lab.engine.arrivals import ClosedLoop, OpenLoop
from llmserve_lab.engine.metrics.request_log import RequestLog
from llmserve_lab.engine.system import System
from tests.engine.scenarios import Scenario, scenario

scenarios = st.integers(1_000, 1_000_000).map(scenario)
few = settings(max_examples=30)


def steps(report: Report) -> dict[tuple[str, int], list[IterationRecord]]:
    """The trace of each replica."""
    found: dict[tuple[str, int], list[IterationRecord]] = defaultdict(list)
    assert report.log is not None
    for step in report.log:
        found[step.pool, step.replica].append(step)
    return found


def pools(given: Scenario) -> tuple[Pool, ...]:
    deployment = given.deployment
    if isinstance(deployment, Disaggregated):
        return deployment.prefill, deployment.decode
    return (deployment,)


@few
@given(given=scenarios)
def test_every_request_is_answered_once_and_every_token_said_once(
    given: Scenario,
) -> None:
    report = given.fast()
    assert Counter(report.id) == Counter(request.id for request in given.requests)
    tokens = sum(request.output_len for request in given.requests)
    assert report.gaps.count == tokens - len(given.requests)  # each but the first
    waited = (report.last_token_s - report.first_token_s).sum()
    assert abs(report.gaps.total_s - waited) < 1e-9


@few
@given(given=scenarios)
def test_all_blocks_come_back_and_never_are_more_than_all_taken(
    given: Scenario,
) -> None:
    system, record = System(given.deployment), RequestLog()
    source = ClosedLoop(given.requests, clients=3)
    assert system.serve(source, record, None)
    for replica in system.replicas:
        assert replica.free_blocks == replica.num_blocks
        assert 0 < replica.counters.kv_peak_blocks <= replica.num_blocks or (
            not replica.counters.iterations
        )
        assert not replica.waiting and not replica.size and not replica.num_requests
        assert replica.decode_batch.cached == 0


@few
@given(given=scenarios)
def test_time_never_runs_back(given: Scenario) -> None:
    report = given.fast(log=True)
    order = (
        report.arrival_s,
        report.scheduled_s,
        report.first_token_s,
        report.last_token_s,
        report.finished_s,
    )
    for before, after in pairwise(order):
        assert (before <= after).all()
    for own in steps(report).values():
        assert all(a.end_s <= b.start_s for a, b in pairwise(own))
        assert all(step.start_s < step.end_s for step in own)


@few
@given(given=scenarios)
def test_one_replica_starts_prompts_in_the_order_in_which_they_came(
    given: Scenario,
) -> None:
    report = given.fast()
    if all(pool.replicas == 1 for pool in pools(given)):
        by_arrival = report.scheduled_s[np.lexsort((report.id, report.arrival_s))]
        assert (by_arrival[:-1] <= by_arrival[1:]).all()


@few
@given(given=scenarios)
def test_rows_of_prompts_are_the_prompts_and_what_preemption_repeats(
    given: Scenario,
) -> None:
    report = given.fast(log=True)
    assert report.log is not None
    rows = sum(step.prefill_rows * step.count for step in report.log)
    prompts = sum(request.prompt_len for request in given.requests)
    if report.preemptions.any():
        assert rows > prompts
    else:
        assert rows == prompts


@few
@given(given=scenarios)
def test_every_row_is_a_token_of_a_request_or_is_computed_again(
    given: Scenario,
) -> None:
    """Rows = prompts + outputs but the last of each + recomputed tokens."""
    report = given.fast(log=True)
    assert report.log is not None
    rows = sum((s.decode_rows + s.prefill_rows) * s.count for s in report.log)
    tokens = sum(each.prompt_len + each.output_len - 1 for each in given.requests)
    assert rows == tokens + report.recomputed_tokens
    assert report.num_preemptions == report.preemptions.sum()
    assert (report.recomputed_tokens > 0) == (report.num_preemptions > 0)


@few
@given(given=scenarios)
def test_whatever_is_admitted_is_preempted_or_freed_and_said_in_order(
    given: Scenario,
) -> None:
    report = given.fast(log=True)
    assert report.log is not None
    kinds = Counter((e.pool, e.kind) for e in report.log.events)
    for pool in {event.pool for event in report.log.events}:
        out = kinds[pool, "preempted"] + kinds[pool, "freed"]
        assert kinds[pool, "admitted"] == out
        assert kinds[pool, "arrived"] == kinds[pool, "freed"]
    count = len(given.requests)
    assert sum(n for (_, kind), n in kinds.items() if kind == "first_token") == count
    assert sum(n for (_, kind), n in kinds.items() if kind == "finished") == count
    assert kinds["prefill", "sent"] == kinds["decode", "arrived"]
    times_s = [event.time_s for event in report.log.events]
    assert times_s == sorted(times_s)


@few
@given(given=scenarios)
def test_utilization_counts_all_replicas(given: Scenario) -> None:
    """Seconds, and token-seconds over the cache of each, added up from the log."""
    report = given.fast(log=True, leap=False)
    assert report.log is not None
    by_name = {"pool": pools(given)[0], "prefill": pools(given)[0]}
    by_name["decode"] = pools(given)[-1]
    for name, use in report.pools.items():
        own = [step for step in report.log if step.pool == name]
        for name_s in ("compute_s", "memory_s"):
            logged_s = sum(getattr(step, name_s) for step in own)
            assert abs(getattr(use, name_s) - logged_s) < 1e-9
        assert abs(use.busy_s - sum(step.end_s - step.start_s for step in own)) < 1e-9
        held = sum(s.kv_tokens_held * (s.end_s - s.start_s) for s in own)
        room = by_name[name].replicas * by_name[name].num_blocks * 16
        expected = held / (room * report.elapsed_s)
        assert abs(use.kv_occupancy - expected) < 1e-9
        most = max((step.used_blocks for step in own), default=0)
        assert use.kv_peak >= most / by_name[name].num_blocks


@few
@given(given=scenarios)
def test_a_chunked_iteration_keeps_its_budget_unless_decodes_alone_exceed_it(
    given: Scenario,
) -> None:
    report = given.fast(log=True)
    policies = {"pool": pools(given)[0], "prefill": pools(given)[0]}
    policies["decode"] = pools(given)[-1]
    for (name, _), own in steps(report).items():
        policy = policies[name].policy
        if isinstance(policy, Chunked):
            for step in own:
                rows = step.decode_rows + step.prefill_rows
                assert rows <= policy.budget or step.prefill_rows == 0


@few
@given(given=scenarios)
def test_littles_law(given: Scenario) -> None:
    """Requests in the system on average = rate × time in it, counted step by step."""
    record, system = RequestLog(), System(given.deployment)
    times, inside = [0.0], [0]
    source = OpenLoop(given.requests)
    for request in given.requests:
        times.append(request.arrival_s)
        inside.append(1)
    system.serve(source, record, None)
    columns = record.columns()
    times += list(columns["finished_s"])
    inside += [-1] * len(given.requests)
    events = sorted(zip(times, inside, strict=True))
    area = number = 0.0
    for (now_s, change), (next_s, _) in pairwise(events):
        number += change
        area += number * (next_s - now_s)
    spent = (columns["finished_s"] - columns["arrival_s"]).sum()
    assert abs(area - spent) < 1e-9
