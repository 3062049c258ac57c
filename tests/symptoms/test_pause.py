"""A pause is drawn as long as the words say, on an axis in the unit of its title."""

from __future__ import annotations

import re

import numpy as np
import pytest

from llmserve_lab.engine import Report
from llmserve_lab.symptoms.cases import case
from llmserve_lab.symptoms.page import boards, pause
from llmserve_lab.symptoms.served import WatchedRun
from tests.page import drawn

SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}
TIME = r"([\d.,]+)\s(s|ms|µs)\b"


def seconds(text: str) -> list[float]:
    """Every time that a text names, in seconds."""
    found = re.findall(TIME, text)
    return [float(n.replace(",", "")) * SECONDS[unit] for n, unit in found]


def test_a_pause_is_shaded_as_long_as_the_words_say() -> None:
    """The gap between two tokens as well, read in the unit of the axis below."""
    told = list[str]()

    def make() -> object:
        picture = boards.pair.__wrapped__().picture
        told.extend(re.findall(r"stands still for (.*?) \(", picture.sentence))
        return picture

    panels = drawn.panels(make)  # type: ignore[arg-type]
    (unit,) = {
        match[1]
        for panel in panels
        if (match := re.search(r"\((\w+)\)$", panel.get_xlabel()))
    }
    answers = [panel for panel in panels if "written" in panel.get_ylabel()]
    assert len(answers) == len(told) == 2
    for panel, words in zip(answers, told, strict=True):
        (said_s,) = seconds(words)
        shaded = max(panel.patches, key=lambda patch: patch.get_alpha() or 0)
        (line,) = panel.lines
        gap = np.diff(line.get_xdata()).max()
        for long in (shaded.get_width(), gap):
            assert long * SECONDS[unit] == pytest.approx(said_s, rel=0.05)
        (written_s,) = seconds(" ".join(each.get_text() for each in panel.texts))
        assert written_s == said_s


def test_an_iteration_is_drawn_over_the_time_in_which_it_ran() -> None:
    """As high as it had tokens: the log says when it began, and when it ended."""
    panels = drawn.panels(lambda: boards.pair.__wrapped__().picture)
    areas = [panel for panel in panels if panel.collections]
    reports = list[Report]()
    for cause in boards.PAIR.values():
        run = case("pauses").cause(cause).setup(0)
        assert isinstance(run, WatchedRun)
        reports.append(run.report())
    most_s = min(map(pause.worst_s, reports))
    for panel, report in zip(areas, reports, strict=True):
        assert report.log is not None
        zero_s = pause.longest(report, most_s).begin_s
        first_s, last_s = (zero_s + each for each in panel.get_xlim())
        (area,) = (each for each in panel.collections if each.get_alpha())
        (outline,) = area.get_paths()
        seen = [s for s in report.log if first_s < s.start_s and s.end_s < last_s]
        tokens = [
            step.decode_rows + sum(chunk for _, chunk, _ in step.chunks)
            for step in seen
        ]
        assert len({*tokens}) > 3
        for step, many in zip(seen, tokens, strict=True):
            middle = (step.start_s + step.end_s) / 2 - zero_s
            assert outline.contains_point((middle, 0.99 * many))
            assert not outline.contains_point((middle, 1.01 * many))


def test_a_token_counts_from_the_moment_at_which_it_was_written() -> None:
    panels = drawn.panels(lambda: boards.pair.__wrapped__().picture)
    lines = [panel.lines[0] for panel in panels if "written" in panel.get_ylabel()]
    assert [line.get_drawstyle() for line in lines] == ["steps-post"] * 2
    for line in lines:
        assert list(line.get_ydata()) == list(range(len(line.get_xdata())))
