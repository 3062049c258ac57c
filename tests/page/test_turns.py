"""A sign that says which way something turns agrees with the arrows that turn."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from llmserve_lab.page.live import registry
from llmserve_lab.page.step.figure import StepFigure, StepLog
from llmserve_lab.page.step.marks import Links
from tests.page.drawn import steps_of
from tests.page.seen import alive

Row = Mapping[str, Any]
SIGNS = {"↺": 1, "↻": -1}  # against the clock, and with it
LEAST = 1e-6  # of a turn, between arrows of length one
SIGNED = steps_of(re.compile("|".join(SIGNS)))  # in the source of their chapter


def hands(figure: StepFigure, log: StepLog) -> Iterator[list[dict[Any, Row]]]:
    """Lines that start from one place in every frame, by that place and their ink."""
    for mark in figure.scene.marks:
        if isinstance(mark, Links):
            shown = [
                [row for row in log.tables.get(mark.table, ()) if alive(row, at)]
                for at in range(len(log.frames))
            ]
            found = [{(r["x"], r["y"], r["ink"]): r for r in rows} for rows in shown]
            if found[0] and all(each.keys() == found[0].keys() for each in found):
                yield found


def way(row: Row) -> tuple[float, float]:
    """From where a line starts to where it ends."""
    return row["x2"] - row["x"], row["y2"] - row["y"]


def senses(figure: StepFigure, log: StepLog) -> set[int]:
    """Which ways hands turn from frame to frame, as they are seen on the page."""
    first, last = figure.scene.y.domain[:2]
    upwards = 1 if float(last) > float(first) else -1
    found = set()
    for frames in hands(figure, log):
        for before, after in pairwise(frames):
            for key, row in before.items():
                (x, y), (to_x, to_y) = way(row), way(after[key])
                turn = upwards * (x * to_y - y * to_x)
                found |= {1 if turn > 0 else -1} if abs(turn) > LEAST else set()
    return found


def said(figure: StepFigure, log: StepLog) -> set[int]:
    """Which ways the words in the picture say that something turns."""
    tables = (*log.tables.values(), *(figure.scene.fixed or {}).values())
    words = " ".join(str(row.get("text", "")) for rows in tables for row in rows)
    return {sense for sign, sense in SIGNS.items() if sign in words}


def test_what_turns_turns_as_the_picture_says() -> None:
    found = set()
    for name in SIGNED:
        figure = registry.steps()[name]()
        for log in figure.logs.values():
            if said(figure, log):
                found.add(name)
                assert senses(figure, log) == said(figure, log), name
    assert found == {"end_to_end.turn"}


def test_what_stays_has_the_ink_that_the_legend_gives_the_key() -> None:
    figure = registry.steps()["end_to_end.turn"]()
    moves = {name: ink for ink, name in figure.legend.items()}
    for log in figure.logs.values():
        for frames in hands(figure, log):
            for key, row in frames[0].items():
                stays = all(way(row) == way(each[key]) for each in frames)
                assert key[-1] == moves["key" if stays else "query"]


@pytest.mark.parametrize(("sign", "other"), [*SIGNS.items()])
def test_the_other_sign_is_found(sign: str, other: int) -> None:
    figure = registry.steps()["end_to_end.turn"]()
    ((name, log),) = figure.logs.items()
    names = [{**row, "text": sign} for row in log.tables["names"]]
    made = replace(log, tables={**log.tables, "names": names})
    wrong = replace(figure, logs={name: made})
    assert (senses(wrong, made) == said(wrong, made)) == (other == SIGNS["↺"])
