"""The bench: every setting gives an answer, a wrong one a readable sentence."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from llmserve_lab.end_to_end.page.playground import LOOPS, bench, passes, run, show
from llmserve_lab.end_to_end.story import PROMPT, STORIES, WORDS, tokenize
from llmserve_lab.page.widget import Bench, Choose, Turn
from tests.page import drawn, seen


@cache
def made() -> Bench:
    return bench()


START: dict[str, Any] = {
    "prompt": "",
    "temperature": 100,
    "top_p": 100,
    "seed": 0,
    "loop": "with a KV cache",
}


def test_the_picture_on_the_page_is_the_state_at_the_start() -> None:
    assert made().picture.svg == passes(run()).svg
    turned = {
        name: knob.default
        for name, knob in made().knobs.items()
        if isinstance(knob, Turn | Choose)
    }
    assert {"prompt": "", **turned} == START


@pytest.mark.parametrize("loop", LOOPS)
def test_both_loops_say_the_same(loop: str) -> None:
    assert run(seed=3, loop=loop).text == run(seed=3).text
    assert PROMPT in made().answer(**START | {"loop": loop})


def test_a_wrong_setting_is_answered() -> None:
    assert "Not possible: text must use the words" in made().answer(
        **START | {"prompt": "Sing"}
    )


def test_the_goal_can_be_reached() -> None:
    """Hot enough, the model says what it was never taught; top-p forbids it."""
    hot: dict[str, Any] = {"temperature": 300, "seed": 5}
    answers = {s: run(**hot | {"seed": s}).text for s in range(10)}
    strange = [s for s, text in answers.items() if PROMPT + text not in STORIES]
    assert strange
    tame = run(**hot | {"seed": strange[0], "top_p": 40})
    assert PROMPT + tame.text in STORIES
    assert "Pass by pass" in show(**hot)


@pytest.mark.parametrize("loop", LOOPS)
def test_each_pass_of_the_bench(loop: str) -> None:
    """Its table, and bars of what a pass computes and finds."""
    found = run(loop=loop)
    n, count = len(tokenize(PROMPT)), len(found.passes)
    (panel,) = drawn.panels(lambda: passes(found))
    words = [WORDS[one.token] for one in found.passes]
    names = [text.get_text() for text in panel.get_xticklabels()]
    assert names == [word.strip() for word in words]
    _, labels = panel.get_legend_handles_labels()
    assert labels == ["from the cache", "computed"]
    for container, ink in zip(panel.containers, ("green", "vermillion"), strict=True):
        assert {seen._name(p.get_facecolor()) for p in container} == {ink}
    kept, done = ([p.get_height() for p in c] for c in panel.containers)
    rows = [1 if "KV" in loop and i else n + i for i in range(count)]
    assert done == rows and kept == [n + i - own for i, own in enumerate(rows)]
    assert [p.get_y() for p in panel.containers[1]] == kept
    cells = re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", show(loop=loop))
    lines = [cells[i : i + 4] for i in range(0, len(cells), 4)]
    assert lines[0] == ["pass", "rows computed", "rows from the cache", "token"]
    for i, line in enumerate(lines[1:-1]):
        word = words[i].replace(" ", "␣").replace("<", "&lt;").replace(">", "&gt;")
        assert line == [f"{i + 1}", f"{rows[i]}", f"{n + i - rows[i]}", word]
    assert lines[-1] == ["all", f"{sum(rows)}", f"{sum(kept):g}", ""]
