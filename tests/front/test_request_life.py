"""The life that the front page shows is what the engine logged."""

from __future__ import annotations

from itertools import pairwise

import pytest

from llmserve_lab.front import request_life as life
from llmserve_lab.front.page.figures import request_life
from llmserve_lab.front.promise import READERS, blind, mean_error, step_s
from llmserve_lab.running_example import PROMPT, cost, model
from llmserve_lab.validation.dense_trial import trial_record, trial_runs


def test_a_goes_through_the_stages_in_their_order() -> None:
    stages = list(dict.fromkeys(moment.station for moment in life.moments()))
    assert stages == list(life.STATIONS)


def test_all_of_the_prompt_is_read_and_all_of_the_answer_written() -> None:
    *_, last = life.moments()
    assert (last.read, last.written) == (PROMPT, life.ANSWERS[0])
    steps = [r for s in life.iterations() for r in s.running if r.id == 0]
    assert sum(r.rows for r in steps) == PROMPT + life.ANSWERS[0] - 1
    assert max(sum(r.rows for r in s.running) for s in life.iterations()) <= life.BUDGET


def test_the_times_are_those_of_the_report() -> None:
    (first,) = (m for m in life.moments() if m.written == 1)
    *_, last = life.moments()
    assert first.waited_s == pytest.approx(life.ttft_s())
    gaps = life.ANSWERS[0] - 1
    assert last.waited_s == pytest.approx(life.ttft_s() + gaps * life.tpot_s())


def test_the_queue_lasts_while_the_places_are_taken() -> None:
    for moment in life.moments():
        if moment.station == "queue":
            assert len(moment.beside) == life.SLOTS and not moment.cache_bytes
    assert [m.cache_bytes for m in life.moments()][-1] == 0
    most = max(m.cache_bytes for m in life.moments())
    assert most == (PROMPT + life.ANSWERS[0] - 2) * model().kv_bytes_per_token()


def test_the_figure_has_a_bar_for_each_stage_and_a_sentence_for_each_moment() -> None:
    figure = request_life()
    (log,) = figure.logs.values()
    assert len(log.frames) == len(life.moments())
    rows = [row for row in log.tables["cells"] if row["y"] == "A's stage"]
    assert [row["text"] for row in rows] == ["queue", "prefill", "decode"]
    for before, after in pairwise(rows):
        assert before["x2"] == after["x"]
    read = [
        int(r["text"])
        for r in log.tables["cells"]
        if r["y"] == "A" and r["ink"] == "new"
    ]
    assert sum(read) == PROMPT


def test_company_costs_less_than_turns() -> None:
    assert step_s(1) < step_s(READERS) < READERS * step_s(1)
    assert step_s(1) > cost().weights_s
    with pytest.raises(ValueError, match="batch must be at least 1 request, got 0"):
        step_s(0)


def test_the_errors_are_those_of_the_record() -> None:
    from llmserve_lab.validation.tables import error_table

    for row, kind in zip(error_table().rows, ("tpot", "ttft", "e2e"), strict=True):
        error, n = mean_error(kind)
        assert (str(n), f"{100 * error:.1f} %") == (row[1], row[2])


def test_every_blind_prediction_of_a_dense_server_was_too_short() -> None:
    """As the front page says, with how many and which share the ranges held."""
    errors = trial_record()["errors"]["book"]
    mean, many, share = blind()
    assert max(errors) < 0 and len(errors) == many == len(trial_runs())
    assert mean == pytest.approx(-sum(errors) / many, abs=1e-4)
    inside = [each for each in trial_record()["held"] if each is not None]
    assert share == f"{100 * inside.count(True) / len(inside):.0f} %"
