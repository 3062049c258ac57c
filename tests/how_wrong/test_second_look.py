"""What bears a second look: terms and sums, refused rows, the cache's end, a plan."""

from __future__ import annotations

import pytest

from llmserve_lab.how_wrong import decision, example, fairness, term_by_term
from llmserve_lab.how_wrong.page import tables
from llmserve_lab.how_wrong.pairs import (
    cache_requests,
    full_cache,
    fullest,
    slots_seen,
)
from llmserve_lab.how_wrong.record import mean_error
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
        true, _, _, made, error = (float(str(cell).split()[0].replace("−", "-"))
                                   for cell in row[1:])  # fmt: skip
        assert 100 * (made / true - 1) == pytest.approx(error, abs=0.006)
    place, of = example.rank()
    assert 1 < place < of


def test_without_an_end_the_cache_differs_only_where_it_is_full() -> None:
    for row, made, free in full_cache():
        full = row.clients > cache_requests(row)
        assert (made > 10 * free) if full else made == pytest.approx(free, rel=1e-3)
    rows = fullest()
    assert slots_seen(rows[4], rows[5]) == pytest.approx(
        cache_requests(rows[0]), rel=0.03
    )


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


def test_a_plan_by_the_band_keeps_what_it_promises() -> None:
    hope, plan = decision.hoped(), decision.planned()
    assert plan.clients < hope.clients and plan.longest_tpot_s <= decision.TPOT_S
    assert plan.measured_per_s >= plan.fewest_per_s
    assert decision.servers(plan.fewest_per_s) > decision.servers(hope.measured_per_s)
    assert hope.measured_tpot_s <= decision.TPOT_S < hope.longest_tpot_s
    for each in decision.loads():
        assert each.measured_tpot_s < each.longest_tpot_s
        worst = each.clients * each.answer_len / each.longest_e2e_s
        assert each.fewest_per_s == pytest.approx(worst, rel=1e-3)  # ends: four digits


def test_the_plan_never_looks_at_its_own_server() -> None:
    row = example.rows()[3]
    known, used = band("ttft", Setting.of(row)), decision.error_band("ttft", row)
    assert isinstance(known, Band) and used.high > known.high  # its own rows were kind
    for place, each in enumerate(decision.loads()):
        unseen = example.predictor().predict(example.unseen())
        assert each.tpot_s == pytest.approx(float(unseen.tpot[place]))


def test_the_band_in_use_covers() -> None:
    least = fairness.covered("model", "tpot", name="llama-3-8b")
    assert 0.8 < least < fairness.covered("model", "tpot")
    for by in ("model", "engine", "system"):
        plain = fairness.covered(by, "tpot", plain=True)
        assert fairness.covered(by, "tpot") >= 0.9 > plain
