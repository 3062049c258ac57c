"""What the page promises of its two clients, with and without a cap."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from llmserve_lab.continuous_batching import clients, lanes, tuning
from llmserve_lab.continuous_batching.capped import CAP, Capped
from llmserve_lab.continuous_batching.machine import LONG, TARGET_S, slower_attention
from llmserve_lab.continuous_batching.workloads import beside_a_book
from llmserve_lab.engine import Chunked, Pool, simulate
from llmserve_lab.running_example import ANSWER, PROMPT, cost

ALONE = Chunked(tuning.budget(), tuning.SEQS)


def capped() -> Capped:
    """The cap that the page recommends."""
    return Capped(clients.capped_budget(), tuning.SEQS)


@pytest.mark.parametrize("rows", [CAP, 896])
def test_no_prompt_has_more_rows_than_the_cap(rows: int) -> None:
    asked = [*beside_a_book(), *clients.usual()[:20]]
    asked = [replace(each, id=number) for number, each in enumerate(asked)]
    asked.sort(key=lambda each: each.arrival_s)
    pool = Pool(cost(), Capped(rows, tuning.SEQS))
    run = simulate(asked, pool, log=True, leap=False)
    assert run.log is not None
    read = 0
    for frame in run.log.frames():
        own = [part.rows for part in frame.running]
        assert max(own) <= CAP and sum(own) <= rows
        read += sum(own)
    written = sum(each.output_len - 1 for each in asked)
    assert read == sum(each.prompt_len for each in asked) + written


def test_a_cap_as_large_as_the_budget_is_chunked_prefill() -> None:
    budget = tuning.budget()
    run = simulate(beside_a_book(), Pool(cost(), Capped(budget, cap=budget)))
    other = simulate(beside_a_book(), Pool(cost(), Chunked(budget)))
    assert np.allclose(run.ttft_s, other.ttft_s, rtol=1e-9)


def test_the_requests_are_those_of_the_commands() -> None:
    text, run = tuning.commands(), clients.both(ALONE)
    assert f"--num-prompts {clients.USUAL_REQUESTS} " in text
    assert f"--num-prompts {clients.LONG_REQUESTS} " in text
    assert f"--random-output-len {clients.LONG_ANSWER}" in text
    assert f"--random-input-len {LONG} " in text
    assert (run.prompt_len == PROMPT).sum() == clients.USUAL_REQUESTS
    assert set(run.output_len[run.prompt_len == PROMPT]) == {ANSWER}
    long = run.prompt_len == LONG
    assert long.sum() == clients.LONG_REQUESTS
    order = np.argsort(run.arrival_s[long])
    ends, starts = run.last_token_s[long][order], run.arrival_s[long][order]
    assert np.allclose(ends[:-1], starts[1:])  # one at a time


def test_the_cap_keeps_the_target_and_lets_the_short_ones_in() -> None:
    rows, safe_s = clients.capped_budget(), tuning.safe_target_s()
    assert tuning.capped_gap_s(rows, LONG, long_decodes=1) <= safe_s
    assert tuning.capped_gap_s(rows + tuning.TILE, LONG, long_decodes=1) > safe_s
    assert tuning.capped_gap_s(rows, LONG, LONG) > TARGET_S
    slow = slower_attention(0.5)
    slow_s = tuning.capped_gap_s(rows, LONG, long_decodes=1, machine=slow)
    assert safe_s < slow_s < TARGET_S
    run, alone = clients.both(capped()), clients.both(ALONE)
    assert run.gaps.longest_s <= safe_s and alone.gaps.longest_s <= safe_s
    assert clients.short_ttft_s(run) < 1 < 8 < clients.short_ttft_s(alone)
    assert clients.long_ttft_s(run) < 1.1 * clients.long_ttft_s(alone)
    most = tuning.saturated(rows, cap=CAP)
    assert tuning.saturated(tuning.budget()) < most < tuning.saturated(tuning.DEFAULT)


def test_a_request_behind_the_long_prompt_waits_at_any_budget() -> None:
    for rows in (tuning.DEFAULT, tuning.bound(), tuning.budget()):
        run = clients.both(Chunked(rows, tuning.SEQS))
        assert clients.short_ttft_s(run) > 0.9 * lanes.ttft_s(lanes.whole())


def test_a_percentile_below_the_hundredth_hides_the_freeze() -> None:
    run = clients.in_one_piece()
    assert run.gaps.percentile(99) < TARGET_S < 50 * TARGET_S < run.gaps.longest_s
    cut = clients.both(ALONE)
    assert cut.gaps.percentile(99) > run.gaps.percentile(99)  # chunks slow many gaps


def test_the_table_has_a_row_for_each_choice() -> None:
    found = clients.choices()
    table = clients.choices_table()
    assert [row[0] for row in table.rows] == [
        f"{letter}: {each.name}" for letter, each in zip("ABC", found, strict=True)
    ]
    for row, each in zip(table.rows, found, strict=True):
        assert row[3] == f"{clients.short_ttft_s(each.served()):.2f}"


def test_a_smaller_budget_costs_throughput_less_if_launches_are_hidden() -> None:
    alone, capped, default = clients.choices()
    for launches in (True, False):
        lost = [each.lost(launches=launches) for each in (alone, capped, default)]
        assert lost[0] > lost[1] > lost[2] == 0
    assert 0.02 < alone.lost(launches=False) < alone.lost() / 2 < 0.2


def test_another_long_decode_beside_the_cap_keeps_the_safe_target() -> None:
    run_s = clients.choices()[1].served().gaps.longest_s
    beside_s = clients.capped_gap_beside_long_s()
    assert run_s < beside_s <= tuning.safe_target_s()
    lines = tuning.servers(clients.capped_budget())
    assert f"--long-prefill-token-threshold {CAP} " in lines
