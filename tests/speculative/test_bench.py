"""The bench's goal can be reached, and what it shows is the machine."""

import pytest

from llmserve_lab.engine import Acceptance
from llmserve_lab.speculative import machine as m
from llmserve_lab.speculative.page import playground
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


def test_each_column_of_the_bench_follows_from_those_beside_it() -> None:
    """A round drafts and verifies, and yields its tokens; a plain pass yields one."""
    law = m.usual()
    table = playground._table(64, law, m.SMALL)
    heads = ("drafts", "tokens of a pass", "drafting", "verifying", "speedup")
    assert table.columns == heads
    one, left, kept = 1e3 * m.drafting_s(64, 1, m.SMALL), 1.0, 1.0
    for place, row in enumerate(table.rows, start=1):
        drafts, tokens, drafting, verifying, speedup = (
            float(str(cell).split()[0]) for cell in row
        )
        left *= law.rate * law.falls ** (place - 1)
        kept += left
        assert drafts == place and tokens == pytest.approx(kept, abs=0.006)
        assert drafting == pytest.approx(place * one, rel=0.01)
        assert verifying == pytest.approx(1e3 * m.verify_s(64, place), abs=0.006)
        plain = 1e3 * m.plain_s(64)
        gain = tokens * plain / (drafting + verifying)
        assert speedup == pytest.approx(gain, rel=0.01)
    even = m.break_even(8, law, m.SMALL)
    assert even is not None
    assert m.speedup(even, 8, law, m.SMALL) < 1 <= m.speedup(even - 1, 8, law, m.SMALL)
    assert f"from a batch of {even} on ({m.fits(m.SMALL)} requests" in table.notes[0]
