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
    said = [row["text"] for row in log.tables["gaps"]]
    assert said == [f"{each:.1f} ms" for each in gaps_ms]
    counted = [
        run.frames[-1].counters[2] for run in strips.mixed_iterations().logs.values()
    ]
    assert said == [f"{each} ms" for each in counted]  # beside the lanes
    assert sorted(gaps_ms) == gaps_ms
    for lane, written in zip(strips.BESIDE, gaps_ms, strict=True):  # as wide as it says
        (label,) = (row for row in log.tables["gaps"] if row["y"] == lane)
        (cell,) = (
            row
            for row in log.tables["beside"]
            if row["y"] == lane and row["x"] < label["x"] < row["x2"]
        )
        assert cell["x2"] - cell["x"] == pytest.approx(written, abs=0.2)


def test_a_pale_lane_is_named_after_the_scheduler_under_which_it_waits() -> None:
    logs = strips.mixed_iterations().logs
    told = {row["y"]: row["text"] for row in next(iter(logs.values())).tables["gaps"]}
    assert len(told) == len(logs)
    for lane, text in told.items():
        (run,) = (log for name, log in logs.items() if lane.split()[-1] in name.split())
        assert text == f"{run.frames[-1].counters[2]} ms", lane
