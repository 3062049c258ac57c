"""What the page promises of its two clients, with and without a cap."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.servers import VLLM_MAX_SEQS, VLLM_TOKEN_BUDGET
from llmserve_lab.continuous_batching import (
    arrival_rates,
    clients,
    commands,
    lanes,
    machine,
    tuning,
)
from llmserve_lab.continuous_batching.machine import (
    LONG,
    TARGET_S,
    hidden,
    priced,
    slower_attention,
)
from llmserve_lab.continuous_batching.occupancy import logged
from llmserve_lab.continuous_batching.tuning import CAP
from llmserve_lab.continuous_batching.workloads import beside_a_book, crowd
from llmserve_lab.engine import Chunked, Pool, simulate
from llmserve_lab.running_example import ANSWER, PROMPT, cost

ALONE = Chunked(tuning.budget(), tuning.SEQS)


@pytest.mark.parametrize("rows", [CAP, 896])
@pytest.mark.parametrize("leap", [False, True])
def test_no_prompt_has_more_rows_than_the_cap(rows: int, leap: bool) -> None:
    asked = [*beside_a_book(), *clients.usual()[:20]]
    asked = [replace(each, id=number) for number, each in enumerate(asked)]
    asked.sort(key=lambda each: each.arrival_s)
    pool = Pool(cost(), Chunked(rows, tuning.SEQS, cap=CAP))
    if leap:  # over like iterations: the same times
        step = simulate(asked, pool, leap=False)
        assert np.allclose(simulate(asked, pool).ttft_s, step.ttft_s, rtol=1e-9)
        return
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
    run = simulate(beside_a_book(), Pool(cost(), Chunked(budget, cap=budget)))
    other = simulate(beside_a_book(), Pool(cost(), Chunked(budget)))
    assert np.allclose(run.ttft_s, other.ttft_s, rtol=1e-9)


def test_the_requests_are_those_of_the_commands() -> None:
    usual, text = commands.usual_client(), commands.long_client()
    run = clients.both(ALONE, priced(ALONE.budget))
    assert f"--num-prompts {clients.USUAL_REQUESTS} " in usual
    assert f"--random-input-len {PROMPT} " in usual
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


@pytest.mark.long
def test_the_cap_keeps_the_target_and_lets_the_short_ones_in() -> None:
    rows, safe_s = clients.capped_budget(), tuning.safe_target_s()
    assert tuning.capped_gap_s(rows, LONG, long_decodes=1) <= safe_s
    assert tuning.capped_gap_s(rows + tuning.TILE, LONG, long_decodes=1) > safe_s
    assert tuning.capped_gap_s(rows, LONG, LONG) > TARGET_S
    slow = slower_attention(0.5)
    slow_s = tuning.capped_gap_s(rows, LONG, long_decodes=1, machine=slow)
    assert safe_s < slow_s < TARGET_S
    small, cap = clients.choices()[0], clients.capped()
    run, alone = cap.served(), small.served()
    assert run.gaps.longest_s <= safe_s and alone.gaps.longest_s <= safe_s
    assert clients.short_ttft_s(run) < 1 < 7 < clients.short_ttft_s(alone)
    most = [tuning.saturated(n, cost(), cap=c) for n, c in ((512, None), (rows, CAP))]
    assert most[0] < most[1] < tuning.saturated(tuning.DEFAULT)


def test_the_budget_under_the_cap_adds_up() -> None:
    parts = clients.cap_parts()
    spare_s = round(tuning.safe_target_s(), 4) - 0.0156
    assert sum(parts.values()) == pytest.approx(spare_s, abs=1e-9)
    all_rows = clients.cap_room() + CAP + machine.DECODES + 1
    assert all_rows // tuning.TILE * tuning.TILE == clients.capped_budget()


def test_a_request_behind_the_long_prompt_waits_at_any_budget() -> None:
    for rows in (tuning.DEFAULT, tuning.bound(), tuning.budget()):
        run = clients.both(Chunked(rows, tuning.SEQS), priced(rows))
        assert clients.short_ttft_s(run) > 0.9 * lanes.ttft_s(lanes.whole())


def test_a_percentile_below_the_hundredth_hides_the_freeze() -> None:
    run = clients.in_one_piece()
    assert run.gaps.percentile(99) < TARGET_S < 50 * TARGET_S < run.gaps.longest_s
    cut = clients.both(ALONE, priced(ALONE.budget))
    assert cut.gaps.percentile(99) > run.gaps.percentile(99)  # chunks slow many gaps


@pytest.mark.long
def test_the_table_prints_every_setting_with_its_slots() -> None:
    settings, table = clients.choices(), clients.choices_table()
    slots, gap, long, usual, most = table.rows
    assert len(table.columns) == 1 + len(settings)
    for place, each in enumerate(settings, start=1):
        run = each.served()
        assert str(table.columns[place]).split()[0] == f"{each.rows:,}"
        assert slots[place] == f"{each.seqs:,}"
        assert gap[place] == f"{1e3 * run.gaps.longest_s:.0f} ms"
        assert long[place] == f"{clients.long_ttft_s(run):.1f} s"
        assert usual[place] == f"{clients.short_ttft_s(run):.1f} s"
        assert most[place] == f"{each.per_s():,.0f}"


def test_what_is_called_the_default_has_the_default_slots() -> None:
    """With fewer slots it would serve less, and the loss would look smaller."""
    default = clients.default()
    assert (default.rows, default.seqs) == (
        VLLM_TOKEN_BUDGET.value,
        VLLM_MAX_SEQS.value,
    )
    few = replace(default, seqs=tuning.SEQS)
    assert few.per_s() < 0.98 * default.per_s()
    assert clients.choices()[-2:] == (few, default)


def test_neighbours_in_the_table_differ_in_one_thing() -> None:
    """Or nobody could say what the loss comes from."""
    settings = clients.choices()
    for one, other in itertools.pairwise(settings):
        assert (one.rows != other.rows) + (one.seqs != other.seqs) == 1


@pytest.mark.long
def test_the_loss_is_that_of_the_budget_because_its_slots_do_not_fill() -> None:
    first, default = clients.choices()[0], clients.default()
    for seqs in (384, first.rows):  # as many as vLLM starts with
        assert replace(first, seqs=seqs).per_s() == pytest.approx(first.per_s())
    assert 0.02 < replace(default, seqs=first.seqs).lost() < 0.5 * first.lost()
    asked = crowd(per_s=arrival_rates.NEVER_CEASE_PER_S, num_requests=1500)
    run = logged(asked, Chunked(first.rows, first.seqs), priced(first.rows))
    assert run.log is not None
    full = [step for step in run.log if step.prefill_rows + step.decode_rows == 512]
    decodes = [step.decode_rows for step in full][100:]
    mean = sum(decodes) / len(decodes)
    assert mean == pytest.approx(tuning.saturated_decodes(), rel=0.05)
    assert max(decodes) < first.seqs
    assert first.rows // 2 == first.seqs  # the fewest that record all its rows


def test_no_table_of_budgets_tells_of_lengths_that_it_does_not_hold() -> None:
    """Nor of the metric of another table: each says its own doubt in a note."""
    for table in (clients.choices_table(), clients.bounds_table()):
        assert table.band is None and "measured" in " ".join(table.notes)
        held = " ".join(str(cell) for row in table.rows for cell in row)
        said = re.findall(r"[\d,]{5,}", " ".join(table.notes))
        assert all(number in held for number in said)


@pytest.mark.long
def test_a_smaller_budget_costs_throughput_under_every_count_of_launches() -> None:
    alone, cap, default = clients.choices()[0], clients.capped(), clients.default()
    for served in (cost(), hidden()):
        lost = [each.lost(served) for each in (alone, cap, default)]
        assert lost[0] > lost[1] > lost[2] == 0
    assert 0.03 < alone.lost() < 0.12  # recorded, against each by itself
    most = 1 - alone.per_s() / default.per_s(hidden())
    assert alone.lost(hidden()) < most < 0.25
    assert alone.lost(cost()) > most  # which the page does not count


@pytest.mark.long
def test_more_decodes_than_five_stand_beside_a_long_prompt() -> None:
    """Little's law for the time that a long prompt is read: the gap makes them slow."""
    beside = clients.decodes_beside()
    mean = sum(beside) / len(beside)
    assert mean > 2 * machine.DECODES and max(beside) < 50
    run = clients.both(ALONE, priced(ALONE.budget))
    assert run.gaps.longest_s == pytest.approx(
        tuning.trade(tuning.budget()).gap_s, rel=0.01
    )
    calm_s = run.latency_s[run.prompt_len == PROMPT].min()
    assert mean > tuning.RATE_PER_S * calm_s  # as many would be there at rest


def test_each_row_of_the_budgets_is_what_it_is_called() -> None:
    """The runs take long, so others are put in their place, and each has its own."""

    def run(each: clients.BudgetAndSlots) -> SimpleNamespace:
        own = each.rows / 1e3 + each.seqs / 1e6
        return SimpleNamespace(gaps=SimpleNamespace(longest_s=own), own=own)

    of = clients.BudgetAndSlots
    with (
        mock.patch.object(of, "served", run),
        mock.patch.object(of, "per_s", lambda each: 10 * each.rows + each.seqs),
        mock.patch.object(clients, "long_ttft_s", lambda found: 2 * found.own),
        mock.patch.object(clients, "short_ttft_s", lambda found: 3 * found.own),
        mock.patch.object(clients, "steady_gain", lambda: 0.12),
    ):
        table = clients.choices_table()
    rows = {str(name): [*map(str, cells)] for name, *cells in table.rows}
    settings = clients.choices()
    own = [run(each).own for each in settings]
    assert rows == {
        "slots": [f"{each.seqs:,}" for each in settings],
        "longest gap": [f"{1e3 * each:.0f} ms" for each in own],
        "long prompts: TTFT, median": [f"{2 * each:.1f} s" for each in own],
        "usual: slowest TTFT": [f"{3 * each:.1f} s" for each in own],
        "saturated tokens/s": [f"{10 * e.rows + e.seqs:,}" for e in settings],
    }
    heads = [f"{each.rows:,}" for each in settings]
    assert table.columns == ("token budget", *heads[:-1], f"{heads[-1]} (default)")
    assert "it is 12% more" in table.notes[0]


def test_each_column_of_the_bounds_is_what_it_is_called() -> None:
    """A budget, its gap and its throughput, all three of the longest prompt."""
    with (
        mock.patch.object(clients, "largest", lambda tokens: tokens // 64),
        mock.patch.object(clients, "longest_s", lambda rows, n: (rows + n) / 1e6),
        mock.patch.object(clients, "saturated", lambda rows: 3 * rows),
    ):
        table = clients.bounds_table()
    for row in table.rows:
        cells = dict(zip(table.columns, map(str, row), strict=True))
        tokens = int(cells["longest prompt (tokens)"].replace(",", ""))
        rows = tokens // 64
        assert cells["largest budget (rows)"] == f"{rows:,}"
        assert cells["longest gap"] == f"{(rows + tokens) / 1e3:.0f} ms"
        assert cells["saturated tokens/s"] == f"{3 * rows:,}"
    assert table.caption.endswith(f"{1e3 * tuning.safe_target_s():.0f} ms")
