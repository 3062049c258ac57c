"""The bench: any model, any number of its ranks; a wrong one is a readable sentence."""

from __future__ import annotations

from functools import cache, partial
from html import unescape
from typing import Any

import numpy as np
import pytest

from llmserve_lab.catalog import LINKS, MODELS
from llmserve_lab.cluster import run
from llmserve_lab.formula.text import si
from llmserve_lab.page.widget import Bench
from llmserve_lab.tensor_parallel.page.playground import bench
from tests.benches import answered


@cache
def made() -> Bench:
    return bench()


answer = partial(answered, made)


def test_the_picture_on_the_page_is_the_state_at_the_start() -> None:
    html = answer()
    assert made().picture.html() in html
    assert html.count("$$") == 2 * 5


@pytest.mark.parametrize("key", ["llama-3-8b", "deepseek-v3"])
def test_the_wait_is_that_of_all_reduces_really_made(key: str) -> None:
    """Sixteen rows in 16 bits go round four ranks, twice in every layer."""
    model = MODELS[key]
    rows = np.zeros((16, model.d_model), np.float16)
    ledger = run(lambda rank: rank.all_reduce(rows), 4).ledger
    wait_s = 2 * model.n_layers * ledger.seconds(LINKS["nvlink4"], rank=0)
    html = answer(model=model.name, tp=4, batch=16)
    assert f"{model.name} on 4 × H100 SXM" in html and "bench-error" not in html
    assert si(wait_s, "s").split()[0] in html


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tp": 3}, "n_heads must be a multiple of tp, 3, got 64"),
        ({"tp": 128}, "n_heads must be a multiple of tp, 128, got 64"),
        ({"batch": 0}, "batch must be positive, got 0"),
    ],
)
def test_a_wrong_setting_is_answered_in_a_sentence(
    changes: dict[str, Any], message: str
) -> None:
    html = answer(**changes)
    assert 'class="bench-error"' in html and message in unescape(html)
