"""Checks of more rows than are recorded: when paying their launches brings loss."""

from llmserve_lab.continuous_batching.machine import GRAPH_ROWS
from llmserve_lab.speculative import machine as m


def test_unrecorded_checks_lose_from_the_first_batch_of_too_many_rows() -> None:
    law = m.usual()
    recorded = m.break_even(8, law, m.SMALL)
    launched = m.break_even_unrecorded(8, law, m.SMALL)
    assert recorded is not None and launched is not None
    assert launched < recorded
    assert (launched - 1) * 9 <= GRAPH_ROWS < launched * 9


def test_recorded_checks_lose_where_they_did() -> None:
    poor = type(m.usual())(m.POORER[1], m.usual().falls)
    lose = m.break_even(8, poor, m.SMALL)
    assert lose is not None and lose * 9 <= GRAPH_ROWS
    assert m.break_even_unrecorded(8, poor, m.SMALL) == lose
