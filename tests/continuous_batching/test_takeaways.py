"""What a reader should take away from the chapter, each sentence a test."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.continuous_batching.article_machine import DECODES, cost
from llmserve_lab.continuous_batching.chunks import prefill
from llmserve_lab.continuous_batching.on_transformer import (
    ANSWERS,
    POLICIES,
    PROMPTS,
    agreement,
    driven,
)
from llmserve_lab.continuous_batching.outcomes import long_ttft_s, longest_gap_s, loops
from llmserve_lab.continuous_batching.serving import (
    ARRIVES_S,
    LONG,
    around_the_stall,
    convoy,
    serve,
    stall,
    stalled,
    within,
)
from llmserve_lab.continuous_batching.toy import model, prompt
from llmserve_lab.engine import Chunked, Continuous, IterationLoad, Request, Static
from llmserve_lab.transformer import ORDERED, generate

CALM = IterationLoad.of(chunk=1, context=1024)


def test_who_comes_late_to_a_frozen_batch_waits_for_its_longest_answer() -> None:
    run = serve(convoy(), Static(2))
    short, long, late = (np.flatnonzero(run.id == number)[0] for number in range(3))
    assert run.first_token_s[late] > run.last_token_s[long]
    assert run.finished_s[short] == run.finished_s[long]
    assert run.finished_s[short] > 15 * run.last_token_s[short]


def test_at_iteration_level_a_free_slot_is_taken_at_once() -> None:
    run = serve(convoy(), Continuous(2))
    short, long, late = (np.flatnonzero(run.id == number)[0] for number in range(3))
    assert run.finished_s[short] == run.last_token_s[short]
    assert run.scheduled_s[late] < run.last_token_s[long] / 10
    freed = max(run.arrival_s[late], run.last_token_s[short])
    assert run.scheduled_s[late] - freed < 0.01


def test_clients_who_wait_hide_the_queue_that_a_crowd_makes() -> None:
    closed, sparse, crowded = loops().values()
    assert closed.queue_s.max() == 0  # never more requests than slots
    for run in (closed, sparse, crowded):
        prompts = (
            cost().seconds(IterationLoad.of(chunk=int(s))) for s in run.prompt_len
        )
        prefill_s = (run.ttft_s - run.queue_s).mean()
        assert prefill_s == pytest.approx(np.mean(list(prompts)), rel=0.2)
    assert crowded.ttft_s.mean() > 5 * sparse.ttft_s.mean() > 25 * closed.ttft_s.mean()
    rate = [len(run.id) / run.elapsed_s for run in (closed, crowded)]
    assert rate[1] == pytest.approx(rate[0], rel=0.06)


def test_a_long_prompt_is_the_gap_of_everyone_who_decodes() -> None:
    run = serve(stall(), Continuous())
    decoders = run.id < DECODES
    whole = cost().seconds(IterationLoad.of(chunk=LONG))
    assert whole > 7
    assert np.all(run.worst_gap_s[decoders] >= whole)
    assert np.all(run.worst_gap_s[decoders] < 1.01 * whole)
    calm = cost().seconds(CALM)
    assert longest_gap_s(run) > 1000 * calm


def test_chunks_slice_the_stall_and_do_not_shorten_it() -> None:
    whole, cut = stalled(LONG), stalled(2048)
    assert longest_gap_s(cut) < longest_gap_s(whole) / 25
    assert long_ttft_s(whole) <= long_ttft_s(cut) < 1.02 * long_ttft_s(whole)


@pytest.mark.parametrize("chunk", [1, 5, 8, 23])
def test_cutting_a_prompt_changes_no_logit_and_no_flop(chunk: int) -> None:
    whole, cut = (
        prefill(model(), prompt(23), chunk=c, run=ORDERED) for c in (23, chunk)
    )
    assert np.array_equal(whole.logits, cut.logits)
    assert whole.meter.linear_flops == cut.meter.linear_flops
    assert whole.useful_pairs == cut.useful_pairs == 23 * 24 // 2
    assert whole.block_pairs >= cut.block_pairs


def test_decode_is_a_chunk_of_one() -> None:
    """An answer, read back as a prompt in chunks of one row, predicts itself again."""
    text = prompt(6)
    answer = generate(model(), text, 8, run=ORDERED)
    read = np.concatenate([text, answer[:-1]])
    again = prefill(model(), read, chunk=1, run=ORDERED)
    assert np.array_equal(again.logits[5:].argmax(axis=1), answer)
    assert all(mask.shape[0] == 1 and mask.all() for mask in again.masks)


def test_every_scheduler_gives_the_same_tokens() -> None:
    """Those of each request alone, too."""
    alone = {
        number: tuple(generate(model(), prompt(length, seed=number), answer).tolist())
        for number, (length, answer) in enumerate(zip(PROMPTS, ANSWERS, strict=True))
    }
    passes = set()
    for policy in POLICIES.values():
        run = driven(policy)
        assert dict(run.tokens) == alone
        passes.add(len(run.passes))
    assert len(passes) > 2
    assert {row[-1] for row in agreement().rows} == {"same"}


def test_above_the_ridge_chunks_cost_no_time() -> None:
    """The seconds of all chunks, one after the other, as the engine counts them."""

    def seconds(chunk: int) -> float:
        starts = range(0, 32_768, chunk)
        return sum(
            cost().seconds(IterationLoad.of(chunk=chunk, context=s)) for s in starts
        )

    whole = seconds(32_768)
    for chunk in (256, 1024, 4096):
        assert seconds(chunk) == pytest.approx(whole, rel=1e-9)
    assert seconds(64) > 1.5 * whole
    ridge = cost().weights_s / cost().row_s
    assert 100 < ridge < 200


def test_a_budget_of_rows_is_not_a_budget_of_time() -> None:
    target_s = 0.05
    by_rows, by_time = stalled(2048), within(target_s)
    gaps = [beat.gap_s for beat in around_the_stall(by_rows) if beat.rows]
    assert min(gaps) > target_s and max(gaps) > 5 * target_s
    assert longest_gap_s(by_time) <= target_s
    rows = [beat.rows for beat in around_the_stall(by_time) if beat.rows]
    assert rows[0] > 4 * rows[-2] and sum(rows) == LONG
    assert len(rows) > 3 * len(gaps)


def test_a_short_prompt_behind_a_long_one_waits_in_any_case() -> None:
    late = Request(
        arrival_s=ARRIVES_S + 0.1, prompt_len=100, output_len=2, id=DECODES + 1
    )
    for policy in (Continuous(), Chunked(2048 + DECODES)):
        run = serve([*stall(), late], policy)
        (waited,) = run.ttft_s[run.prompt_len == 100]
        assert waited > 0.9 * long_ttft_s(run) > 6
