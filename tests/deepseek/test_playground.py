"""The bench answers every setting with the twin's numbers, or says what is wrong."""

from dataclasses import replace
from functools import cache, partial
from html import unescape
from typing import Any

import pytest

from llmserve_lab import catalog
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.page.playground import KERNELS, bench
from llmserve_lab.formula.text import plain
from llmserve_lab.page.widget import Bench
from tests.benches import answered
from tests.deepseek.twins import twin


@cache
def made() -> Bench:
    return bench()


answer = partial(answered, made)


def test_the_picture_on_the_page_is_the_state_at_the_start() -> None:
    assert made().picture.html() in answer()


def test_the_answer_is_the_twins() -> None:
    html = answer(
        device="GB200 NVL72",
        n_gpus=48,
        model="Kimi K2",
        overlap="one after another",
        kernels="the paper's factors",
        balance=100,
        n_draft=1,
        kept=50,
    )
    place = twin(
        setup("gb200-nvl72", 48, model="kimi-k2"),
        overlap="none",
        kernels=KERNELS["the paper's factors"](),
        balancedness=1.0,
        n_draft=1,
        accepted=1.5,
        usable_memory=0.835,
    )
    rate = float(place.gpu_tokens_per_s(batch=128, context=4000))
    assert f"{plain(rate)} from a GPU" in html
    assert f"In memory fit {plain(float(place.batch_fits(4000)))}." in html
    assert html.count("$$") == 2 * 8  # seven terms, and the step


def test_a_slower_network_makes_fewer_tokens() -> None:
    """HDR has half of the bandwidth; RoCE at 400 gigabits as much as NDR."""
    far = catalog.link("infiniband-hdr")
    place = replace(setup("h100-sxm", 72), far=far)
    slow = float(twin(place).gpu_tokens_per_s(batch=128, context=4000))
    fast = float(twin(setup("h100-sxm", 72)).gpu_tokens_per_s(batch=128, context=4000))
    assert slow < 0.75 * fast
    assert f"{plain(slow)} from a GPU" in answer(network=far.name)
    assert f"{plain(fast)} from a GPU" in answer(network="RoCE 400G")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_gpus": 8}, "weights must fit in 71 GB"),
        ({"balance": 0}, "balancedness must be a share"),
    ],
)
def test_a_wrong_setting_is_answered_in_a_sentence(
    changes: dict[str, Any], message: str
) -> None:
    html = answer(**changes)
    assert 'class="bench-error"' in html and message in unescape(html)
