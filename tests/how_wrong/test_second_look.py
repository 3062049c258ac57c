"""What bears a second look: terms and sums, refused rows, the cache's end."""

from __future__ import annotations

from statistics import fmean

import pytest

from llmserve_lab.how_wrong import (
    example,
    fairness,
    term_by_term,
)
from llmserve_lab.how_wrong.folds import constants_without, folds
from llmserve_lab.how_wrong.pairs import (
    cache_requests,
    closed_loop,
    first_tokens,
    first_tokens_between,
    full_cache,
    fullest,
    shifted,
)
from llmserve_lab.how_wrong.record import (
    bias,
    mean_error,
    record,
    row_errors,
    validated,
)
from llmserve_lab.validation import (
    DATASHEET,
    Predictor,
    achieved,
    dense_rows,
)
from llmserve_lab.validation.rows import refused_rows


def test_one_token_term_by_term_is_the_prediction() -> None:
    """Terms summed one by one, beside the predictor that prices all rows at once."""
    clients = example.CLIENTS
    for reached in (achieved(), DATASHEET, example.unseen()):
        total = 1e3 * sum(each.seconds for each in term_by_term.terms(reached))
        assert total == pytest.approx(example.tpot_ms(reached)[clients], rel=1e-9)
    found = [1e3 * each.seconds for each in term_by_term.terms()]
    printed = (round(each, 3) for each in found)
    assert sum(printed) == pytest.approx(round(sum(found), 2), abs=0.005)


def test_errors_by_hand_are_those_of_the_printed_times() -> None:
    true, sheet, book = (example.worked(name) for name in example.MACHINES)
    for own, low, made in zip(true, sheet, book, strict=True):
        for each in (low, made):
            by_hand = round(1e3 * each.seconds, 2) / round(1e3 * own.seconds, 2) - 1
            assert by_hand == pytest.approx(each.share, rel=1e-9)


def test_without_an_end_the_cache_differs_only_where_it_is_full() -> None:
    for row, made, free in full_cache():
        full = row.clients > cache_requests(row)
        assert (made > 10 * free) if full else made == pytest.approx(free, rel=1e-3)
    rows = fullest()
    seen, _ = closed_loop(*((row.clients, row.ttft_s) for row in rows[4:]))
    assert seen == pytest.approx(cache_requests(rows[0]), rel=0.03)


def test_two_errors_at_the_end_of_the_cache_cancel() -> None:
    """Room and answer time are both too large; their waits are nearly right."""
    rows = full_cache()[-2:]
    true = closed_loop(*((row.clients, row.ttft_s) for row, _, _ in rows))
    made = closed_loop(*((row.clients, wait) for row, wait, _ in rows))
    room, answer = (ours / theirs for ours, theirs in zip(made, true, strict=True))
    assert 1.03 < room < answer and answer > 1.1
    for row, wait, _ in rows:
        assert abs(wait / row.ttft_s - 1) < answer - 1
        for fit, seconds in (true,):
            assert row.ttft_s == pytest.approx((row.clients - fit) / fit * seconds)


def test_no_engine_and_no_queue_explains_the_first_token() -> None:
    every = mean_error("ttft", "model")
    found = first_tokens()
    assert found["no queue"][1] > 0.95 * every and found["queue"][0] < 20
    assert shifted("engine") > 0.95 * every  # an engine's own lean neither
    assert 0.5 * every < shifted("server") < 0.75 * every


def test_the_last_wait_is_no_matter_of_speed() -> None:
    """TPOT grows by a tenth or so where TTFT grows more than a hundredfold."""
    rows = fullest()
    assert 0.08 < rows[4].tpot_s / rows[3].tpot_s - 1 < 0.15
    assert rows[4].ttft_s > 100 * rows[3].ttft_s


@pytest.mark.long
def test_a_refused_server_reads_prompts_faster_than_its_gpu_can() -> None:
    n_rows, size, with_them = fairness.refused()
    assert n_rows == len(refused_rows()) == 21
    assert with_them == pytest.approx(
        (len(dense_rows()) * mean_error("tpot", "model") + n_rows * size)
        / (len(dense_rows()) + n_rows)
    )
    assert size > 10 * mean_error("tpot", "model")


def test_the_same_rows_as_the_tool_change_little() -> None:
    least, most = fairness.same_rows()
    assert least < mean_error("tpot", "model") < most < 0.09


def test_the_run_with_the_most_clients_errs_most_and_is_no_measure_of_the_others() -> (
    None
):
    """Its own error is the largest; divided by it, loads between get worse."""
    loads: dict[tuple[str, int, int], list[tuple[int, float]]] = {}
    for row, error in zip(dense_rows(), row_errors("tpot", "model"), strict=True):
        key = (row.server, row.prompt_len, row.output_len)
        loads.setdefault(key, []).append((row.clients, abs(float(error))))
    several = [sorted(each) for each in loads.values() if len(each) > 2]
    few, most = (fmean(each[at][1] for each in several) for at in (0, -1))
    assert fairness.at_the_most() == pytest.approx(most)
    before, after = fairness.own_runs("most")
    assert most > 1.3 * before > 1.3 * few and after > before
    assert fairness.own_runs("both")[1] < before


def test_an_iteration_by_hand_carries_what_the_simulator_counts() -> None:
    """Prompts by clients over answer lengths, the cache by prompts and half answers."""
    _, found = term_by_term.counted()
    answer, busy = example.mean_answer(), term_by_term.with_a_prompt()
    prompts = busy.share * (busy.tokens - found.requests) / answer
    assert (example.CLIENTS - 1) / answer == pytest.approx(prompts, rel=0.08)
    cached = example.CLIENTS * 1.5 * answer
    assert cached == pytest.approx(found.kv_tokens, rel=0.02)


def answers_by_tpot() -> tuple[float, float]:
    """Seconds of a mean answer on the fullest server at its largest load, by TPOT.

    By the TPOT that was measured, and by that which is predicted.
    """
    row = fullest()[-1]
    predictor = Predictor([row])
    made = predictor.predict(constants_without("model", row.model)).tpot
    tokens = float(predictor.exposures[0].output_len)
    return tokens * row.tpot_s, tokens * float(made[0])


def test_an_answer_is_predicted_too_long_by_two_ways() -> None:
    """At the end of the cache: from the waits, and from TPOT."""
    rows = full_cache()[-2:]
    _, true = closed_loop(*((row.clients, row.ttft_s) for row, _, _ in rows))
    _, made = closed_loop(*((row.clients, wait) for row, wait, _ in rows))
    seconds, foretold = answers_by_tpot()
    assert foretold / seconds == pytest.approx(made / true, rel=0.03)
    assert seconds == pytest.approx(true, rel=0.08)


def test_bands_held_together_hold_no_more_than_each_alone() -> None:
    tried = validated()["coverage"]["tried"]
    for by, names in record()["together"]["both"].items():
        for name, (n_rows, both, kept) in names.items():
            first = tried[by]["ttft"][name]
            assert n_rows == first[0] and both <= first[3] + 1e-4 and both <= kept


def test_the_band_in_use_covers() -> None:
    least = fairness.covered("model", "tpot", name="llama-3-8b")
    assert 0.8 < least < fairness.covered("model", "tpot")
    for by in ("model", "engine", "system"):
        plain, even = (
            fairness.covered(by, "tpot", rule=rule) for rule in ("plain", "even")
        )
        assert fairness.covered(by, "tpot") >= 0.9 > plain
        assert even < fairness.covered(by, "tpot")
    with pytest.raises(LookupError, match="rule must be one of plain"):
        fairness.covered("model", "tpot", rule="narrow")
    with pytest.raises(ValueError, match="labels must be those of a row"):
        fairness.mean_of(tp=3)


def test_biases_of_models_cancel_in_their_sum() -> None:
    """Weighted by their rows they give the pooled one, which is smaller than each."""
    found = folds("model")
    total = sum(fold.n_predicted * fold.bias for fold in found)
    pooled = bias("tpot", "model")
    assert total / len(dense_rows()) == pytest.approx(pooled, abs=1e-4)
    assert all(abs(fold.bias) > 5 * abs(pooled) for fold in found)


def test_the_predicted_first_token_jumps_where_the_prose_says() -> None:
    clients, seconds = first_tokens_between()
    jump = next(i for i in range(1, len(clients)) if seconds[i] > 3 * seconds[i - 1])
    assert clients[jump - 1] < 51 <= clients[jump] + 1  # "about 50, there it bends"
