"""What the prose compares stays so when the machine is another one."""

from __future__ import annotations

import pytest

from llmserve_lab.catalog.evidence.servers import VLLM_TOKEN_BUDGET
from llmserve_lab.continuous_batching import arrival_rates, lanes
from llmserve_lab.continuous_batching.machine import DECODES, LONG
from llmserve_lab.continuous_batching.page import questions, slots
from llmserve_lab.continuous_batching.workloads import beside_a_book, crowd, four
from llmserve_lab.engine import (
    Chunked,
    Continuous,
    IterationLoad,
    Pool,
    Request,
    Static,
    simulate,
)
from llmserve_lab.running_example import PROMPT, model
from tests.continuous_batching.test_remember import SHARES, on

each = pytest.mark.parametrize("share", SHARES)


@each
def test_the_part_of_attention_grows_from_negligible_to_the_larger_one(
    share: str,
) -> None:
    machine = on(share)
    for rows, low, high in ((PROMPT, 0.0, 0.05), (LONG, 0.5, 1.0)):
        linear_s = rows * machine.row_s
        all_s = machine.compute_s(IterationLoad.of(chunk=rows))
        assert low < 1 - linear_s / all_s < high


@pytest.mark.parametrize("share", SHARES[:-1])  # ideal ones: no launches to pay for
def test_a_small_chunk_rides_for_free_and_a_large_one_does_not(share: str) -> None:
    machine = on(share)
    free = int(machine.weights_s / machine.row_s)
    assert 64 < free < 1024
    alone = machine.seconds(IterationLoad.of(chunk=1))
    assert machine.seconds(IterationLoad.of(chunk=free // 2)) < 1.05 * alone
    assert machine.seconds(IterationLoad.of(chunk=4 * free)) > 3 * alone


@each
def test_both_keep_up_at_a_low_rate_and_one_waits(share: str) -> None:
    asked = crowd(per_s=1.0, num_requests=200)
    runs = [
        simulate(asked, Pool(on(share), policy(arrival_rates.SLOTS)))
        for policy in (Static, Continuous)
    ]
    static, free = (run.throughput_tokens_per_s for run in runs)
    assert static == pytest.approx(free, rel=0.05)
    static, free = (run.percentile("ttft", 50) for run in runs)
    assert static > 10 * free


@each
def test_c_waits_for_the_whole_static_batch_and_for_next_to_nothing_else(
    share: str,
) -> None:
    waits = []
    for policy in slots.POLICIES.values():
        run = simulate(four(), Pool(on(share), policy))
        waits.append(float(run.ttft_s[run.id == slots.LATE][0]))
    assert waits[0] > 1 and waits[1] < 0.1


@each
def test_the_default_budget_leaves_a_gap_that_a_reader_sees(share: str) -> None:
    budget = int(VLLM_TOKEN_BUDGET.value)
    run = simulate(beside_a_book(), Pool(on(share), Chunked(budget)))
    assert run.gaps.longest_s > 0.2


@each
def test_a_short_prompt_behind_the_book_waits_whatever_the_budget(share: str) -> None:
    asked = beside_a_book(short=True)
    waits, gaps = [], []
    for budget in (4096, 8192):
        run = simulate(asked, Pool(on(share), Chunked(budget)))
        waits.append(float(run.ttft_s[run.prompt_len == 100][0]))
        gaps.append(run.gaps.longest_s)
    assert waits[0] == pytest.approx(waits[1], rel=0.05)
    assert gaps[0] < 0.7 * gaps[1]  # whom the smaller budget helps


def test_the_book_fits_the_model_and_the_cache() -> None:
    pool = Pool(on("datasheet"), Continuous())
    asked = beside_a_book()
    tokens = sum(request.prompt_len + request.output_len for request in asked)
    assert tokens < pool.num_blocks * pool.block_tokens
    assert (model().max_context or 0) > LONG + 10
    assert lanes.whole().preemptions.sum() == 0
    with pytest.raises(ValueError, match="at most 131,072 tokens"):
        beside_a_book(prompt_len=131_072)


def test_the_predictions_come_true_in_a_run() -> None:
    late = questions.WAITS[int(questions.predict_late.right)]
    assert late == "a few tens of milliseconds"
    assert (
        questions.FREEZES[int(questions.predict_freeze.right)] == "about half a second"
    )
    assert questions.PRICES[int(questions.predict_price.right)] == questions.PRICES[1]


def test_the_exercises_are_what_the_engine_counts() -> None:
    static = [
        Request(id=n, arrival_s=0.0, prompt_len=1, output_len=answer)
        for n, answer in enumerate(questions.ANSWERS)
    ]
    run = simulate(static, Pool(on("datasheet"), Static(4)), log=True, leap=False)
    assert run.log is not None
    steps = 4 * len(run.log)
    assert questions.idle.right == pytest.approx(1 - sum(questions.ANSWERS) / steps)
    load = IterationLoad.of(chunk=questions.TOO_LONG)
    seconds = on("fitted to servers").compute_s(load)
    assert questions.freeze.right == pytest.approx(seconds)
    assert DECODES == 5
