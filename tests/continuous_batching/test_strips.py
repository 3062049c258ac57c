"""The strips of mixed iterations: as long as what they draw."""

import re

import pytest

from llmserve_lab.continuous_batching.page import strips


def test_the_strips_are_as_long_as_their_iterations_in_the_unit_of_the_axis() -> None:
    figure = strips.mixed_iterations()
    (unit,) = re.findall(r"\((m?s)\)", figure.scene.x.title)
    assert figure.counters[0].unit == unit
    for log in figure.logs.values():
        took = [float(frame.counters[0]) for frame in log.frames]
        ends = max(row["x2"] for row in log.tables["rows"])
        assert ends == pytest.approx(sum(took), abs=0.1 * len(took))
