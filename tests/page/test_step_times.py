"""A time that a step figure counts fits on its axis of time, whatever the units."""

import re
from dataclasses import replace

import pytest

from llmserve_lab.page.live import registry
from llmserve_lab.page.step.content import Counter
from llmserve_lab.page.step.figure import StepFigure
from tests.page.drawn import steps_of

SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}
AXIS = re.compile(r"time.*\((s|ms|µs)\)")
DRAWN = re.compile(r"SceneAxis\(.*time.*\((?:s|ms|µs)\)")  # in the source
SAID = re.compile(r"([\d.,]+) (s|ms|µs)\b")
LEAST = 0.01  # of the axis: what is counted in too large a unit would be shorter
# Rounding, and what a mean of many other runs may have beyond those that are drawn.
ROOM = 1.02
TIMED = steps_of(DRAWN)


def axis_s(figure: StepFigure) -> float:
    """Seconds from end to end; the longest where each log has its own axis."""
    unit = AXIS.search(figure.scene.x.title)
    end = figure.scene.x.domain[1]
    ends = [float(each) for each in re.findall(r"\d+\.?\d*", str(end))]
    return max(ends) * SECONDS[unit[1]] if unit else 0.0


def counted_s(figure: StepFigure) -> dict[str, list[float]]:
    """Seconds that each counter says, frame by frame; one of no time says none."""
    found: dict[str, list[float]] = {}
    for log in figure.logs.values():
        for frame in log.frames:
            pairs = zip(figure.counters, frame.counters, strict=True)
            for counter, value in pairs:
                text = counter.shown(value)
                said = [
                    float(n.replace(",", "")) * SECONDS[u]
                    for n, u in SAID.findall(text)
                ]
                found.setdefault(counter.label, []).extend(said)
    return {label: times for label, times in found.items() if times}


def strays(figure: StepFigure) -> list[str]:
    """Counters whose times do not fit on the axis, or would not be seen on it."""
    whole = axis_s(figure)  # 0 where the axis is not of time
    return [
        label
        for label, times in counted_s(figure).items()
        if whole and not LEAST * whole <= max(times) <= ROOM * whole
    ]


@pytest.mark.parametrize("name", TIMED)
def test_a_time_that_is_counted_fits_on_the_axis(name: str) -> None:
    assert strays(registry.steps()[name]()) == []


@pytest.mark.parametrize("unit", ["s", "µs"])
def test_a_counter_in_another_unit_is_found(unit: str) -> None:
    figure = registry.steps()["continuous_batching.mixed_iterations"]()
    for place, counter in enumerate(figure.counters):
        if counter.unit:
            wrong = list(figure.counters)
            wrong[place] = Counter(counter.label, unit)
            assert strays(replace(figure, counters=tuple(wrong))) == [counter.label]


def test_several_figures_count_times() -> None:
    made = (registry.steps()[name]() for name in TIMED)
    counted = [each for each in made if axis_s(each) and counted_s(each)]
    assert len(counted) > 4
