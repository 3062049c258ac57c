"""What bears a second look: terms and sums, refused rows, the cache's end, a plan."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import pytest

from llmserve_lab.how_wrong import decision, example, fairness, term_by_term
from llmserve_lab.how_wrong.folds import folds
from llmserve_lab.how_wrong.page import tables
from llmserve_lab.how_wrong.pairs import (
    cache_requests,
    closed_loop,
    first_tokens,
    full_cache,
    fullest,
    shifted,
)
from llmserve_lab.how_wrong.record import bias, mean_error, record, validated
from llmserve_lab.validation import (
    DATASHEET,
    Band,
    Setting,
    achieved,
    band,
    dense_rows,
)
from llmserve_lab.validation.rows import refused_rows


def test_one_token_term_by_term_is_the_prediction() -> None:
    """Terms summed one by one, beside the predictor that prices all rows at once."""
    clients = example.CLIENTS
    for reached in (achieved(), DATASHEET, example.unseen()):
        total = 1e3 * sum(each.seconds for each in term_by_term.terms(reached))
        assert total == pytest.approx(example.tpot_ms(reached)[clients], rel=1e-9)
    printed = [float(row[-1]) for row in tables.iteration().rows]
    assert sum(printed[:-1]) == pytest.approx(printed[-1], abs=0.005)


def test_errors_by_hand_are_those_of_the_printed_times() -> None:
    for row in tables.by_hand().rows[:-2]:
        true, made, error, _ = (
            float(str(cell).split()[0].replace("−", "-")) for cell in row[1:]
        )
        assert 100 * (made / true - 1) == pytest.approx(error, abs=0.006)


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


def test_a_plan_that_knows_its_engine_lies_between() -> None:
    known, plan, hope = decision.engine_known(), decision.planned(), decision.hoped()
    assert known.clients == plan.clients < hope.clients
    needed = [decision.servers(each, "longest_s") for each in (known, plan)]
    assert decision.servers(hope, "measured_s") < needed[0] < needed[1]
    assert decision.broken(plan) < 0.02 < 0.4 < decision.broken(hope)
    assert known.tpot.measured_s < known.tpot.longest_s
    assert known.ttft.measured_s < known.ttft.longest_s


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


def test_the_plan_follows_from_the_printed_numbers() -> None:
    """A reader's pocket calculator, fed with the cells of the table alone."""
    cells = {str(row[0]): [float(str(cell)) for cell in row[1:]] for row in plan_rows()}
    answers = {32: 923.7, 64: 921.8}
    for clients, which, servers in ((64, 0, 13), (32, 2, 26)):
        tpot, ttft = (cells[f"{clients} {name}"] for name in ("TPOT", "TTFT"))
        for made, factor, longest, _ in (tpot, ttft):
            assert longest == pytest.approx(made * factor, rel=2e-3)
        answer_len = answers[clients]
        answer_s = round(ttft[which] / 1e3 + (answer_len - 1) * tpot[which] / 1e3, 2)
        per_s = clients * answer_len / answer_s
        assert ceil(decision.ASKED_PER_S / per_s) == servers
        load = next(each for each in decision.loads() if each.clients == clients)
        name = ("predicted_s", "", "longest_s")[which]
        assert load.tokens_per_s(name) == pytest.approx(per_s, abs=1)
        assert decision.servers(load, name) == servers


def plan_rows() -> Sequence[Sequence[object]]:
    return tables.plan().rows


def test_a_plan_by_the_band_keeps_what_it_promises() -> None:
    hope, plan = decision.hoped(), decision.planned()
    assert plan.clients < hope.clients and plan.tpot.longest_s <= decision.TPOT_S
    assert plan.tokens_per_s("measured_s") >= plan.tokens_per_s("longest_s")
    assert hope.tpot.measured_s <= decision.TPOT_S < hope.tpot.longest_s
    for each in decision.loads():
        assert each.tpot.measured_s < each.tpot.longest_s
        assert each.ttft.measured_s < each.ttft.longest_s <= decision.TTFT_S


def test_the_plan_never_looks_at_its_own_server() -> None:
    row = example.rows()[3]
    known, used = band("ttft", Setting.of(row)), decision.error_band("ttft", row)
    assert isinstance(known, Band) and used.high > known.high  # its own rows were kind
    for place, each in enumerate(decision.loads()):
        unseen = example.predictor().predict(example.unseen())
        found = float(unseen.tpot[place])
        assert each.tpot.predicted_s == pytest.approx(found, abs=6e-6)


def test_a_band_without_the_model_is_made_of_other_models() -> None:
    row = example.rows()[3]
    near, _ = decision.near_rows("tpot", row)
    assert any(each.model == example.MODEL for each in near)  # what the page warns of
    assert all(each.server != row.server for each in near)
    other, used = decision.without_the_model(row), decision.error_band("tpot", row)
    assert 0 < other.high < used.high  # narrower, and holds less:
    held = fairness.covered("model", "tpot", name=example.MODEL)
    assert held < fairness.covered("model", "tpot")


def test_what_a_measurement_is_worth_before_it_is_made() -> None:
    found = decision.worth()
    assert 0 < found.alike < found.share < 1
    least = decision.servers(decision.hoped(), "predicted_s")
    booked = decision.servers(decision.planned(), "longest_s")
    assert 0 < found.saved < example.TP * booked and least < booked


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
