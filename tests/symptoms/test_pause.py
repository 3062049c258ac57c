"""A pause is drawn as long as the words say, on an axis in the unit of its title."""

from __future__ import annotations

import re

import numpy as np
import pytest

from llmserve_lab.symptoms.page import boards
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
