"""What holds for every live figure of the book, because it is found, not listed."""

import json
import re
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from llmserve_lab.page.html import escape
from llmserve_lab.page.live import registry
from llmserve_lab.page.live.controls import Choice, Lookup, Slider
from llmserve_lab.page.live.figure import LiveFigure

ROOT = Path(__file__).resolve().parents[2]
every_figure = pytest.mark.parametrize("name", registry.figures())


@cache
def made(name: str) -> LiveFigure:
    """The figure, made once."""
    return registry.figures()[name]()


def settings(control: Any) -> list[Any]:
    """Settings of a control besides its default: of a slider, its ends."""
    if isinstance(control, Slider):
        chosen = [control.stops[0], control.stops[-1]]
    else:
        chosen = list(control.options)
    return [setting for setting in chosen if setting != control.default]


def numbers(figure: LiveFigure, **state: Any) -> dict[str, Any] | None:
    """What the figure says in this state; nothing where it says that there is none."""
    try:
        return figure.values(**state)
    except ValueError as error:
        assert "has no value" in str(error)
        return None


@cache
def states(name: str) -> list[tuple[Any, dict[str, Any], dict[str, Any]]]:
    """Each control moved alone to each of its settings, and the numbers there."""
    figure, found = made(name), []
    for control in figure.controls:
        if isinstance(control, Slider | Choice):
            for state in ({control.name: setting} for setting in settings(control)):
                if known := numbers(figure, **state):
                    found.append((control, state, known))
    return found


@every_figure
def test_the_sentence_is_whole_in_every_state(name: str) -> None:
    for state in [{}, *(state for _, state, _ in states(name))]:
        caption = made(name).caption(**state)
        assert not re.search(r"[{}]|\bnan\b|\binf\b", caption), state
        assert caption.endswith("."), state


@every_figure
def test_every_control_changes_a_number_or_moves_a_line(name: str) -> None:
    figure = made(name)
    start = figure.values()
    drawn = json.dumps({k: v for k, v in figure.spec.items() if k != "params"})
    shown = [readout.name for readout in figure.readouts]
    shown += [each for each in figure.derived if re.search(rf"\b{each}\b", drawn)]
    moved = {
        control.name
        for control, _, known in states(name)
        if any(known[each] != start[each] for each in shown)
    }
    for control in figure.controls:
        if not isinstance(control, Lookup) and control.name not in moved:
            assert re.search(rf"\b{control.name}\b", drawn), control.name


@every_figure
def test_every_choice_is_told_apart_in_the_sentence(name: str) -> None:
    figure = made(name)
    for control, state, _ in states(name):
        if isinstance(control, Choice) and f"{{{control.name}}}" in figure.sentence:
            assert state[control.name] in figure.caption(**state)


@every_figure
def test_a_chapter_has_the_picture_and_its_sentence(name: str) -> None:
    """As stored, which the strict run of the chapter holds against what is drawn."""
    figure = made(name)
    shown = stored()[figure.caption()]
    assert "<svg" in shown and escape(figure.title) in shown


@cache
def stored() -> dict[str, str]:
    """The HTML of every picture in the stored outputs, by its sentence."""
    found = {}
    for path in (ROOT / "chapters").glob("*.ipynb"):
        cells = json.loads(path.read_text("utf8"))["cells"]
        outputs = (output for cell in cells for output in cell.get("outputs", ()))
        for html in ("".join(o.get("data", {}).get("text/html", "")) for o in outputs):
            for sentence in re.findall(r'role="img" aria-label="([^"]*)"', html):
                found[unescape(sentence)] = html
    return found
