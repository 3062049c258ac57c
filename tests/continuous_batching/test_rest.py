"""What an iteration takes beside its chunk, and how the page has it measured."""

from __future__ import annotations

import pytest

from llmserve_lab.continuous_batching import machine, tuning
from llmserve_lab.continuous_batching import worked_example as worked
from llmserve_lab.continuous_batching.machine import LONG, TARGET_S
from llmserve_lab.engine import IterationLoad
from llmserve_lab.running_example import cost


def test_two_gaps_say_what_an_iteration_takes_without_a_chunk() -> None:
    rest_s = TARGET_S - worked.chunk_parts(LONG)["left"]
    assert tuning.rest_by_two_s(tuning.FEW) == pytest.approx(rest_s, rel=0.05)
    bare_s = worked.chunk_parts(LONG, machine.hidden())["rest"]
    found_s = tuning.rest_by_two_s(tuning.FEW, machine.hidden())
    assert found_s == pytest.approx(bare_s, rel=0.1)


def test_the_correction_takes_a_rest_that_the_page_tells_how_to_measure() -> None:
    """With recorded launches, and so with budgets that vLLM records and starts with."""
    rest_s = worked.chunk_parts(LONG, machine.replayed())["rest"]
    found_s = tuning.rest_by_two_s(tuning.RECORDED)
    assert found_s == pytest.approx(rest_s, rel=0.05)
    assert abs(tuning.rest_by_two_s(tuning.FEW) / rest_s - 1) > 0.5  # not by those
    assert min(tuning.RECORDED) >= tuning.SEQS  # or it does not start
    assert max(tuning.RECORDED) <= machine.GRAPH_ROWS < min(tuning.FEW)
    hides = cost().weights_s / cost().row_s  # rows of a chunk that hide half of it
    assert min(tuning.RECORDED) - machine.DECODES > hides
    by_hand, measured = (
        tuning.corrected(0.12, rest_s=each) for each in (rest_s, found_s)
    )
    assert by_hand == measured


@pytest.mark.parametrize("rows", [100, 200, 400, 800])
def test_the_inequality_is_that_of_the_engine_where_a_chunk_hides_the_reading(
    rows: int,
) -> None:
    parts, calm = worked.chunk_parts(LONG), machine.calm()
    said_s = parts["rest"] + rows * parts["line"] + rows**2 * parts["pair"] / 2
    chunk = IterationLoad.of(chunk=rows, context=LONG)
    took_s = cost().seconds(calm.plus(chunk))
    holds = rows >= cost().weights_s / cost().row_s
    assert (took_s == pytest.approx(said_s, rel=0.002)) is holds


@pytest.mark.parametrize("measured_s", [0.101, 0.12, 0.15, 0.19, 0.2, 0.5, 5.0])
def test_a_corrected_budget_starts_and_says_from_where_on_it_fails(
    measured_s: float,
) -> None:
    """vLLM refuses a budget of fewer rows than slots, whatever was measured."""
    rest_s = worked.chunk_parts(LONG, machine.replayed())["rest"]
    rows = tuning.corrected(measured_s, rest_s=rest_s)
    assert tuning.SEQS <= rows < tuning.budget()
    assert rows % tuning.TILE == 0
    row_s = (measured_s - rest_s) / (tuning.budget() - machine.DECODES)
    kept = rest_s + (rows - machine.DECODES) * row_s <= TARGET_S
    assert kept is (measured_s < tuning.most_corrected_s(rest_s))
