"""No rate in a table is above what its machine can do, by rows, bytes and launches."""

from __future__ import annotations

import pytest

from llmserve_lab.engine import Chunked, Pool, simulate
from llmserve_lab.kv_memory.machine import blocks_with, num_blocks
from llmserve_lab.running_example import cost
from llmserve_lab.symptoms.cases import CASES, case
from llmserve_lab.symptoms.dashboard import steady_tokens_per_s, steady_window_s
from llmserve_lab.symptoms.served import (
    BUDGET,
    SLOTS,
    WatchedRun,
    backlog,
    restarted,
    server,
)


def runs(key: str) -> dict[str, WatchedRun]:
    """Every run of a table: healthy, each cause, and each cause with each remedy."""
    of = case(key)
    found = {"healthy": of.healthy(0)}
    for cause in of.causes:
        found[cause.name] = cause.setup(0)
        for each in cause.remedies:
            found[f"{cause.name}, {each.name}"] = each.change(cause.setup(0))
    return {name: run for name, run in found.items() if isinstance(run, WatchedRun)}


def most_tokens_per_s(run: WatchedRun, pool: Pool) -> float:
    """An upper limit, by hand: the mean iteration of a full batch, nothing twice.

    Each of the most requests that run writes one token, and in the mean the batch reads
    as many tokens of prompts as answers need. The longer of two times and half of the
    shorter is convex in the rows, so that the mean iteration is never shorter than one
    of the mean rows. Launches of a prompt are paid as rarely as the budget allows.
    """
    assert isinstance(pool.policy, Chunked)
    price, budget, report = pool.cost, pool.policy.budget, run.report()
    answers = float(report.output_len.sum())
    prompts = float(report.prompt_len.sum() - report.hit_tokens.sum())
    most = min(run.clients or report.num_requests, pool.policy.max_batch)
    read = most * prompts / answers
    computing, reading = (most + read) * price.row_s, price.weights_s
    spent = max(computing, reading) + (1 - price.overlap) * min(computing, reading)
    seen = report.output_len * (report.prompt_len + report.output_len / 2)
    context = float(seen.sum()) / answers
    spent += most * (context * (price.kv_token_s + price.pair_s) + price.request_s)
    spent += price.overhead_s + price.prompt_s * min(1.0, read / budget)
    return pool.replicas * most / spent


@pytest.mark.long
@pytest.mark.parametrize("key", [each.key for each in CASES if each.key != "pools"])
def test_no_rate_is_above_the_limit_of_its_machine(key: str) -> None:
    """Lengths in the window differ a little from those of the whole run."""
    for name, run in runs(key).items():
        pool = run.pool
        if pool.speculation is None and isinstance(pool.policy, Chunked):
            rate = steady_tokens_per_s(run.report())
            assert rate < 1.03 * most_tokens_per_s(run, pool), name


def test_the_limit_is_near_where_a_batch_is_full() -> None:
    """So it would catch a rate that is a quarter too high."""
    run = runs("percentiles")["a large batch"]
    rate = steady_tokens_per_s(run.report())
    assert 0.75 < rate / most_tokens_per_s(run, run.pool) < 1


@pytest.mark.parametrize("many", (2, 5))
def test_the_rate_is_that_of_the_iterations_one_by_one(many: int) -> None:
    """Counted a second time: a request with one row more than it had writes a token."""
    requests = backlog(many=8 * many, seed=many)
    report = simulate(requests, server(), clients=many, leap=False, log=True)
    assert report.log is not None
    begin_s, end_s = steady_window_s(report)
    left = {each.id: each.prompt_len for each in requests}
    written = 0
    for frame in report.log.frames():
        for each in frame.running:
            left[each.id] -= each.rows
            inside = begin_s < frame.end_s <= end_s
            written += inside and left[each.id] <= 0
    assert steady_tokens_per_s(report) == pytest.approx(
        written / (end_s - begin_s), rel=0.01
    )


def test_every_token_is_a_decode_or_the_first_of_its_answer() -> None:
    run = case("percentiles").causes[0].setup(0)
    assert isinstance(run, WatchedRun)
    report = run.report()
    whole = float(report.output_len.sum())
    assert report.log is not None
    decodes = sum(each.decode_rows * each.count for each in report.log)
    assert decodes + report.num_requests == whole, "every token once"


def test_a_server_has_the_blocks_and_the_launches_of_its_own_slots() -> None:
    few, many = server(Chunked(512, 160)), server(Chunked(512, SLOTS))
    assert few.kv_blocks == num_blocks() > many.num_blocks == blocks_with(SLOTS)
    assert few.cost == cost(), "two rows for each slot are recorded: fewer than 512"
    assert many.cost.prompt_s == 0 and many.cost.row_s == cost().row_s
    run = WatchedRun(backlog(many=4, seed=0), server())
    again = restarted(Chunked(BUDGET, 160))(run)
    assert isinstance(again, WatchedRun)
    assert again.pool == server(Chunked(BUDGET, 160))
