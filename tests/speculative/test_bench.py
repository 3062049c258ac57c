"""The bench's goal can be reached, and what it shows is the machine."""

from llmserve_lab.engine import Acceptance
from llmserve_lab.speculative import machine as m
from llmserve_lab.speculative.page.playground import bench


def test_the_goal_is_reached_at_a_large_batch_and_a_poor_acceptance() -> None:
    law = Acceptance(0.4, 0.9)
    assert m.speedup(128, 8, law, m.LOOKUP) < 1 < m.speedup(128, 1, law, m.LOOKUP)
    shown = bench().answer(source=m.LOOKUP, batch=128, kept=40, falls=90)
    assert f"{m.speedup(128, 1, law, m.LOOKUP):.2f}" in shown
    assert "0.00 ms" in shown  # looking up takes no pass


def test_the_bench_opens_with_the_usual_law() -> None:
    shown = bench().answer(source=m.SMALL, batch=32, kept=84, falls=93)
    number, gain = m.best(32, m.usual(), m.SMALL)
    assert f"{number} drafts are best, {gain:.2f} times" in shown
