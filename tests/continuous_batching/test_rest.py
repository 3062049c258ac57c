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
