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


def test_the_longest_gap_is_written_into_every_pale_lane() -> None:
    log = next(iter(strips.mixed_iterations().logs.values()))
    gaps_ms = [1e3 * strips.longest_s(policy) for policy in strips.POLICIES.values()]
    assert [row["text"] for row in log.tables["gaps"]] == [
        f"{each:.0f} ms" for each in gaps_ms
    ]
    assert sorted(gaps_ms) == gaps_ms
