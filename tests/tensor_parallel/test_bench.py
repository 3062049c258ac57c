"""The bench: a dense model on the GPUs of a server; a wrong one is a sentence."""

from __future__ import annotations

from functools import cache, partial
from html import unescape
from typing import Any

import pytest

from llmserve_lab import catalog, running_example
from llmserve_lab.engine import IterationLoad
from llmserve_lab.formula.text import si
from llmserve_lab.page.widget import Bench
from llmserve_lab.tensor_parallel.page import playground
from llmserve_lab.tensor_parallel.page.playground import bench
from tests.benches import answered


@cache
def made() -> Bench:
    return bench()


answer = partial(answered, made)


def test_the_picture_on_the_page_is_the_state_at_the_start() -> None:
    html = answer()
    assert made().picture.html() in html
    assert html.count("$$") == 2 * len(playground.STEPS)


@pytest.mark.parametrize("key", ["llama-3.1-8b", "llama-3.1-70b"])
def test_the_time_is_that_of_the_engine(key: str) -> None:
    model = catalog.model(key)
    cost = running_example.served_by(model, running_example.device(), tp=4)
    load = IterationLoad(16, 16 * 1001, 16 * 1000, 16, 0)
    html = answer(model=model.name, tp=4, batch=16, context=1000)
    assert f"{model.name} on 4 × H100 SXM" in html and "bench-error" not in html
    assert si(cost.seconds(load), "s").split()[0] in html


def test_the_goal_can_be_reached() -> None:
    reached = {"batch": 64, "context": 8192}
    assert "reached" in answer(accelerator="H200 SXM", tp=4, **reached)
    assert "reached" not in answer(tp=4, **reached)  # no room
    assert "reached" not in answer(accelerator="H200 SXM", tp=2, **reached)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tp": 3}, "n_heads must be a multiple of tp, 3, got 64"),
        ({"batch": 0}, "batch must be positive, got 0"),
    ],
)
def test_a_wrong_setting_is_answered_in_a_sentence(
    changes: dict[str, Any], message: str
) -> None:
    html = answer(**changes)
    assert 'class="bench-error"' in html and message in unescape(html)
