"""Bars of a step follow one another: none begins before its block, or ends after it."""

import pytest

from llmserve_lab.deepseek.page import charts, figures
from tests.formula.javascript import evaluate

SETTINGS: tuple[dict[str, float], ...] = (
    {},
    {"gpu_requests": 8.0},
    {"context": 16_384.0},
)
TO_MS = 1e3


def _ms(expression: str, known: dict[str, float]) -> float:
    return float(evaluate(expression, **known))


@pytest.mark.parametrize("changes", SETTINGS, ids=str)
def test_each_bar_lies_in_its_block_and_the_blocks_follow(
    changes: dict[str, float],
) -> None:
    """The kernel begins when reading and computing of the projections are over."""
    known = {
        name: float(value)
        for name, value in figures.waterfall().values(**changes).items()
        if isinstance(value, int | float)
    }
    *bars, host = [
        (bar["lane"], _ms(bar["start"], known), _ms(bar["length"], known))
        for bar in charts.bars()
    ]
    begins = 0.0
    for block, *inside in charts.BLOCKS:
        ends = begins + TO_MS * known[block.name]
        lanes = {mark.name for mark, _ in inside}
        own = [times for lane, *times in bars if lane in lanes]
        assert min(start for start, _ in own) == pytest.approx(begins)
        for start, length in own:
            assert start >= begins - 1e-9 and start + length <= ends * (1 + 1e-9)
        if len(own) != 2 or block.name != "experts_s":
            assert max(sum(each) for each in own) == pytest.approx(ends)
        begins = ends
    assert host[1] == pytest.approx(begins)
    assert sum(host[1:]) == pytest.approx(TO_MS * known["turn_s"])
