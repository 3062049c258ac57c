"""The figures say what runs say, in every state, and no control is idle."""

import re
from functools import cache
from typing import Any

import pytest

from llmserve_lab.book.controls import Lookup, Slider
from llmserve_lab.book.live import LiveFigure
from llmserve_lab.catalog import MODELS
from llmserve_lab.end_to_end import figures, pictures
from llmserve_lab.end_to_end.loops import both_loops
from llmserve_lab.end_to_end.toy import TEXT, tokenize, toy

TINY = {"prompt_len": 32.0, "new_tokens": 16.0}


@cache
def live() -> LiveFigure:
    return figures.again_or_once()


def states() -> list[dict[str, Any]]:
    """Each control moved alone to each of its settings."""
    settings: list[dict[str, Any]] = []
    for control in live().controls:
        if not isinstance(control, Lookup):
            every = control.stops if isinstance(control, Slider) else control.options
            settings += [{control.name: setting} for setting in every]
    return settings


def test_the_caption_is_complete_in_every_state() -> None:
    for setting in states():
        caption = live().caption(**setting)
        assert "{" not in caption and "nan" not in caption and caption.endswith(".")


def test_every_control_changes_a_number() -> None:
    start = live().values()
    for control in live().controls:
        moved = [live().values(**s) for s in states() if control.name in s]
        shown = {readout.name for readout in live().readouts}
        assert any(after[name] != start[name] for after in moved for name in shown)


def test_rows_and_pairs_of_the_figure_are_those_of_two_loops() -> None:
    known = live().values(**TINY)
    both = both_loops(toy(), [0] * 32, 16)
    again, once = both.recomputed.tally, both.cached.tally
    assert known["rows_ratio"] == pytest.approx(again.rows / once.rows)
    assert known["pairs_ratio"] == pytest.approx(again.pairs / once.pairs)


def test_the_cache_of_the_figure_is_the_catalog_s() -> None:
    known, model = live().values(**TINY), MODELS["llama-3-8b"]
    assert known["kv_held_bytes"] == 47 * model.kv_bytes_per_token()


def test_page_and_picture_are_the_same_twice() -> None:
    html = live()._repr_mimebundle_()["text/html"]
    assert html == figures.again_or_once()._repr_mimebundle_()["text/html"]
    label = re.search(r'role="img" aria-label="([^"]*)"', html)
    assert label and label.group(1) == live().caption()


def test_the_mask_states_how_many_pairs_it_lets_through() -> None:
    tokens = tokenize(TEXT)
    one, other = (pictures.causal_mask(tokens) for _ in range(2))
    assert one.html() == other.html()
    n = len(tokens)
    assert f"Of the {n * n} pairs" in one.sentence
    assert f"lets {n * (n + 1) // 2} through" in one.sentence
