"""What is drawn beside the runs is as long as it is called."""

import re

import pytest

from llmserve_lab.continuous_batching.page import blocks, charts, figures, slots
from llmserve_lab.continuous_batching.page.controls import LIMITS, TARGETS
from llmserve_lab.continuous_batching.workloads import LETTERS, four
from tests.page import drawn

BAR = 6  # pixels that the stroke of the target is high
BESIDE = "the longest gap that the target allows"


@pytest.mark.parametrize("limit", [LIMITS[0], LIMITS[-1]])
@pytest.mark.parametrize("target_s", [TARGETS[0], TARGETS[-1]])
def test_the_bar_of_the_target_is_as_long_as_the_target_whatever_the_run(
    limit: str, target_s: float
) -> None:
    """It begins at zero; what lies left of it is a known part of a second."""
    figure, known = figures.lanes(), {"limit": limit, "tbt_target": target_s}
    rules = drawn.marks(figure, "rule", **known)
    (bar,) = (each for each in rules if each.get("strokeWidth") == BAR)
    pixels_per_s = bar["x"] / -charts.FROM_S
    assert (bar["x2"] - bar["x"]) / pixels_per_s == pytest.approx(target_s)
    words = drawn.marks(figure, "text", **known)
    (named,) = (each for each in words if each.get("text") == BESIDE)
    assert named["x"] == pytest.approx(bar["x2"]) and named["y"] == bar["y"]


def test_the_counter_of_rows_counts_a_prompt_row_by_row() -> None:
    """The rows that an iteration runs, as the engine charges for them."""
    (log,) = blocks.blocks_run_out().logs.values()
    run = blocks.watched()
    for frame in log.frames:
        assert frame.at is not None
        moment = run[round(frame.at) - 1]
        rows = sum(part.rows for part in moment.running)
        assert float(frame.counters[3]) == rows
        assert float(frame.counters[1]) == moment.kv_blocks - moment.used_blocks
        assert float(frame.counters[2]) == len(moment.waiting)
    counted = [float(frame.counters[3]) for frame in log.frames]
    assert max(counted) > 3  # a prompt is more than one row of each request


def test_a_request_has_as_many_tokens_as_it_asked_for() -> None:
    """Under either scheduler, wherever a sentence says that it "has its" tokens."""
    asked = {LETTERS[each.id]: each.output_len for each in four()}
    for log in slots.slots_by_iteration().logs.values():
        told = " ".join(frame.sentence for frame in log.frames)
        found = re.findall(r"\b([A-D]) has its ([\d,]+) tokens", told)
        assert found
        for letter, tokens in found:
            assert int(tokens.replace(",", "")) == asked[letter]
