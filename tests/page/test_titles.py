"""The title of an axis names what lies along it, where panels side by side differ.

Two titles that change places leave every line where it is. So of each still whose
panels have axes of several quantities, each is asked for by its title alone: the same
law in the unit of the title, the same run, or the values that it can have at all.
"""

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

from llmserve_lab.continuous_batching import tuning
from llmserve_lab.kv_memory.page import stills
from tests.page import drawn
from tests.page.seen import notes
from tests.page.stills import STILLS
from tests.page.test_bars import burst, served

Check = Callable[[Any], bool]
CYCLES = 1e6  # of a second, as the paper's machine is drawn


def values(panel: Any, way: int) -> Any:
    """All numbers that lines and bars have along an axis, in its units."""
    lines = [
        np.asarray(line.get_xydata())[:, way]
        for line in panel.lines
        if line.get_transform() == panel.transData
    ]
    bars = [[patch.get_width()] for patch in panel.patches if way == 0]
    found = np.concatenate([*lines, *bars])
    return found[np.isfinite(found)]


def within(low: float, high: float, way: int) -> Check:
    """Values that begin and end near these, whatever lies between."""
    return lambda panel: bool(
        low <= values(panel, way).max() <= high and values(panel, way).min() >= -0.01
    )


def called(panel: Any) -> list[str]:
    """What bars are called, at the left of the first panel."""
    labels = [label.get_text() for label in panel.figure.axes[0].get_yticklabels()]
    return [each.replace("-\n", "-").replace("\n", " ") for each in labels]


def widths(panel: Any) -> list[float]:
    """How long the bars are, from the top."""
    return [float(bar.get_width()) for bar in panel.patches]


def bursts(field: str) -> Check:
    """Bars of the bursts that their names tell, by one of their times."""

    def check(panel: Any) -> bool:
        want = [getattr(burst(name), field) for name in called(panel)]
        return widths(panel) == pytest.approx(want)

    return check


def routed(scale: float) -> Check:
    """The shortest bar is that of the run with the least, in the unit of the title."""

    def check(panel: Any) -> bool:
        least = min(served(name).hit_share for name in called(panel))
        return min(widths(panel)) == pytest.approx(scale * least)

    return check


def traded(field: str, scale: float) -> Check:
    """The two points that are marked: the budget that is tried, and the default."""

    def check(panel: Any) -> bool:
        found = {
            int(line.get_xdata()[0]): float(line.get_ydata()[0])
            for line in panel.lines
            if line.get_marker() in ("o", "s")
        }
        want = {rows: scale * getattr(tuning.trade(rows), field) for rows in found}
        return len(found) == 2 and found == pytest.approx(want)

    return check


def running(panel: Any) -> bool:
    """Whole requests."""
    return len(panel.lines) == 2 and bool(np.all(values(panel, 1) % 1 == 0))


def held(panel: Any) -> bool:
    """An area, from nothing to all of the cache."""
    low, high = panel.get_ylim()
    return len(panel.collections) == 1 and (low, high) == (0, 105)


TITLES: dict[str, dict[str, Check]] = {
    "afd.stills.simulated": {
        "tokens per 1,000 µs, machine": within(300, 1000, 1),
        "share of time": within(0.5, 1, 1),
    },
    "continuous_batching.stills.budgets": {
        "gap (ms, log)": traded("gap_s", 1e3),
        "TTFT (s)": traded("ttft_s", 1),
    },
    "continuous_batching.stills.load": {
        "requests that arrive each second": within(10, 20, 0),
        "output tokens/s, saturated": within(2000, 3000, 0),
    },
    "kv_memory.stills.preemption": {
        "last answer complete (s)": bursts("end_s"),
        "longest pause (s)": bursts("pause_s"),
    },
    "kv_memory.stills.routing": {
        "prompt tokens\nfound (%)": routed(100),
        "time to the first\ntoken (ms)": routed(1000),
    },
    "quantization.stills.layouts": {
        "bits": within(16, 16, 0),
        "numbers, the largest = 1": within(1, 1, 0),
    },
    "symptoms.boards.bench_picture": {"requests": running, "KV cache (%)": held},
}
# Panels of two servers, each with its name; a test of boxes tells them apart.
ELSEWHERE = {"symptoms.boards.pair"}


def titles(panel: Any) -> list[str]:
    """Both titles of a panel."""
    return [panel.get_xlabel(), panel.get_ylabel()]


@pytest.mark.parametrize("still", TITLES)
def test_what_lies_along_an_axis_is_what_its_title_says(still: str) -> None:
    with mock.patch.object(stills, "warm", served):  # these runs take long
        panels = drawn.panels(STILLS[still])
    read = set()
    for panel in panels:
        for title in titles(panel):
            if title in TITLES[still]:
                read.add(title)
                assert TITLES[still][title](panel), title
    assert read == set(TITLES[still])


def test_every_still_with_axes_of_several_quantities_was_read() -> None:
    several = set()
    for chapter in {name.split(".")[0] for name in STILLS}:
        for name, note in notes(chapter).items():
            ways = zip(
                *(each["axes"][1:] for each in note.get("panels", ())), strict=True
            )
            if any(len({title for title in way if title}) > 1 for way in ways):
                several.add(name)
    assert several - ELSEWHERE == set(TITLES)
