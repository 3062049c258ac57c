"""A goal is decided alike by NumPy's numbers and by the browser's expression."""

import itertools
import random
from typing import Any

import pytest

from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.registry import figures
from tests.formula.example import example
from tests.formula.javascript import evaluate

GOALS = [
    Goal("reach", lambda a, b: a >= b),
    Goal("below", lambda a, b: a < 2 * b + 1),
    Goal("between", lambda a, b: (a > 1) & (a <= b)),
    Goal("either", lambda a, b: (a > 3) | (b > 3) & (a > 1)),
    Goal("near", lambda a, b: abs(a - b) < 0.5),
]


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: goal.sentence)
def test_python_and_the_browser_agree(goal: Goal) -> None:
    draw = random.Random(6)
    values = [draw.uniform(0, 5) for _ in range(12)] + [1.0, 3.0]
    pairs = list(itertools.product(values, values))
    source = f"pairs.map(([a, b]) => {goal.param()['expr']})"
    found = evaluate(source, pairs=pairs)
    want = [int(goal.met({"a": a, "b": b})) for a, b in pairs]
    assert found == want and 0 < sum(want) < len(want)


def test_a_goal_that_reads_an_unknown_signal_is_refused() -> None:
    with pytest.raises(ValueError, match="the goal reads nothing, which nothing sets"):
        Goal("?", lambda nothing: nothing > 1).met({"a": 1.0})
    with pytest.raises(TypeError, match="which the browser's expressions do not offer"):
        Goal("?", lambda a: a % 2 > 1).expression()


def test_a_goal_joins_the_signals_and_stands_hidden_on_the_page() -> None:
    goal = Goal("get `there`", lambda intensity, ridge: intensity >= ridge)
    figure = example(goal=goal)
    assert figure.params()[-1] == {
        "name": "goal_reached", "expr": "(intensity >= ridge) ? 1 : 0",
    }  # fmt: skip
    html = figure._repr_mimebundle_()["text/html"]
    assert '<p class="live-goal" hidden>' in html and "<code>there</code>" in html
    assert "live-goal" not in example()._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("name", figures())
def test_every_goal_of_the_book_can_be_reached_and_is_not_at_first(name: str) -> None:
    figure = figures()[name]()
    if figure.goal:
        settings: dict[str, Any] = dict(figure.goal.example)
        assert figure.goal.met(figure.values(**settings))
        assert not figure.goal.met(figure.values())
