"""The bench: every setting gives an answer, a wrong one a readable sentence."""

from __future__ import annotations

from functools import cache, partial
from html import unescape
from typing import Any

import pytest

from llmserve_lab.continuous_batching.page import playground as module
from llmserve_lab.continuous_batching.page.playground import SCHEDULERS, bench, read
from llmserve_lab.page.widget import Bench
from tests.benches import answered

TWO = "0 300 40; 0.01 4000 3"


@cache
def made() -> Bench:
    return bench()


answer = partial(answered, made)


def test_the_picture_on_the_page_is_the_state_at_the_start() -> None:
    assert made().picture.html() in answer()


def test_requests_are_read_and_put_in_order() -> None:
    found = read("0.5 3000 10; 0 1000 50;")
    assert [(r.arrival_s, r.prompt_len, r.output_len) for r in found] == [
        (0.0, 1000, 50),
        (0.5, 3000, 10),
    ]
    assert read("  ") == []


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_every_scheduler_serves(scheduler: str) -> None:
    html = answer(scheduler=scheduler, requests=TWO, accelerator="B200 SXM")
    assert f"on B200 SXM, {scheduler}" in html and "bench-error" not in html
    assert "2 requests in" in html


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"requests": "0 10"}, "a request must be 'arrival prompt answer', got '0 10'"),
        ({"requests": "0 10 x"}, "got '0 10 x'"),
        ({"requests": "0 10 0"}, "got '0 10 0'"),
        ({"requests": "0 10 300000"}, "must have at most 131,072 tokens"),
        ({"prompt": 900_000}, "the maximum context of Llama-3.1-8B, got 900,010"),
        ({"model": "Llama-2-7B"}, "the maximum context of Llama-2-7B, got 65,546"),
        ({"budget": 0}, "budget must be at least 1, got 0"),
    ],
)
def test_a_wrong_setting_is_answered_in_a_sentence(
    changes: dict[str, Any], message: str
) -> None:
    html = unescape(answer(**changes))
    assert "Not possible: " in html and message in html
    assert "Traceback" not in html


def test_a_run_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LOOKS", 600)
    html = answer(budget=1)
    assert "an iteration must carry more" in html and "is not over" in html


def test_the_widgets_answer_when_they_are_turned() -> None:
    made().widget()
    turned = made()._made
    assert made().picture.html() in turned["answer"].value
    turned["requests"].value = TWO
    assert "2 requests in" in turned["answer"].value
