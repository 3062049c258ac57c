"""The bench: every setting gives an answer, a wrong one a readable sentence."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from llmserve_lab.end_to_end.page.playground import LOOPS, bench, passes, run, show
from llmserve_lab.end_to_end.story import PROMPT, STORIES
from llmserve_lab.page.widget import Bench


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
