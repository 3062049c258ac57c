"""What holds for every live figure of the book, because it is found, not listed."""

import json
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from typing import Any

import pytest

from llmserve_lab.book import registry
from llmserve_lab.book.controls import Choice, Lookup, Slider
from llmserve_lab.book.live import LiveFigure

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


def exists(figure: LiveFigure, **state: Any) -> bool:
    """Whether the figure has this state, or says that there is no value in it."""
    try:
        figure.values(**state)
    except ValueError as error:
        assert "has no value" in str(error)
        return False
    return True


def states(figure: LiveFigure, *kinds: type) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Each control moved alone to each of its settings."""
    for control in figure.controls:
        if isinstance(control, kinds or (Slider, Choice)):
            for setting in settings(control):
                state = {control.name: setting}
                if exists(figure, **state):
                    yield control, state


@every_figure
def test_the_sentence_is_whole_in_every_state(name: str) -> None:
    figure = made(name)
    for _, state in [(None, dict[str, Any]()), *states(figure)]:
        caption = figure.caption(**state)
        assert not re.search(r"[{}]|\bnan\b|\binf\b", caption), state
        assert caption.endswith("."), state


@every_figure
def test_every_control_changes_a_number_or_moves_a_line(name: str) -> None:
    figure = made(name)
    start = figure.values()
    drawn = json.dumps({k: v for k, v in figure.spec.items() if k != "params"})
    moved = {
        control.name
        for control, state in states(figure)
        if any(
            figure.values(**state)[each.name] != start[each.name]
            for each in figure.readouts
        )
    }
    for control in figure.controls:
        if not isinstance(control, Lookup) and control.name not in moved:
            assert re.search(rf"\b{control.name}\b", drawn), control.name


@every_figure
def test_every_choice_is_told_apart_in_the_sentence(name: str) -> None:
    figure = made(name)
    for control, state in states(figure, Choice):
        if f"{{{control.name}}}" in figure.sentence:
            assert state[control.name] in figure.caption(**state)


@every_figure
def test_the_page_has_the_picture_and_its_sentence(name: str) -> None:
    figure = made(name)
    html = figure._repr_mimebundle_()["text/html"]
    label = re.search(r'role="img" aria-label="([^"]*)"', html)
    assert label and unescape(label.group(1)) == figure.caption()
    assert "<svg" in html and figure.title in html
