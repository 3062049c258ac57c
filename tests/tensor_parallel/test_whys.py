"""Numbers in the reasons of answers, and in prompts with options, worked out twice."""

from __future__ import annotations

import pytest

from llmserve_lab import running_example
from llmserve_lab.collectives import calibration
from llmserve_lab.engine import IterationLoad
from llmserve_lab.page.question.content import text_of
from llmserve_lab.page.question.question import questions
from llmserve_lab.tensor_parallel import article
from llmserve_lab.tensor_parallel.arguments import (
    DEFAULT,
    DEVICE,
    MODEL,
    all_reduce_times,
)
from llmserve_lab.tensor_parallel.page import questions as module
from tests.page.cells import unsaid

ROW = 2 * 8192


def token_s(gpus: int) -> float:
    load = IterationLoad.of(chunk=1, context=1000)
    return running_example.served_by(MODEL, DEVICE, tp=gpus).seconds(load)


def rest_s() -> float:
    """What does not shrink: work is that which halves from four GPUs to eight."""
    return 2 * token_s(8) - token_s(4)


def crossing() -> float:
    """Bytes from which two shots take less than one, by halving."""
    two = calibration.two_shot()
    per_s = float(two.known()["link_bw"]) * two.share
    low, high = 1e3, 1e8
    for _ in range(60):
        middle = (low + high) / 2
        shot_s = all_reduce_times(4, middle)["one_shot_s"]
        sooner = two.start_s + 1.5 * middle / per_s < shot_s
        low, high = (low, middle) if sooner else (middle, high)
    return low


def sent() -> float:
    """Bytes of two all-reduces over those of four gathers, by the ledger."""
    one, other = (
        article.execute(name, 2, article.batch(n_rows=1)).ledger.sent_bytes(rank=0)
        for name in ("paired", "gathered")
    )
    return one / other


def test_numbers_of_the_reasons() -> None:
    every = questions().items()
    found = {n: text_of(q.why) for n, q in every if n.startswith("tensor-")}
    work = token_s(4) - rest_s()
    room = 2 * (float(DEFAULT["hbm_bytes"]) - MODEL.params_total) / 327_680
    limit = 512 * 1024
    told: dict[str, tuple[str, tuple[float, ...]]] = {
        "predict-bytes": ("In this block # of the bytes", (sent(),)),
        "predict-degree": (
            "takes #. Only the work is halved, # to #. The rest, #,",
            (token_s(8), work, work / 2, rest_s()),
        ),
        "prefill-bytes": (
            "sends #/# of the vectors…times the layers, #.",
            (2 * 7, 8, 80 * 2 * 14 / 8 * 2048 * ROW),
        ),
        "fits": (
            "token: # tokens, enough for # of … of # tokens",
            (room, room // 1200, 1200),
        ),
        "turn": (
            "is #, the vectors of # tokens…over at # KiB, those of # tokens",
            (crossing(), crossing() / ROW, limit / 1024, limit / ROW),
        ),
    }
    for name, (words, wants) in told.items():
        assert unsaid(found[f"tensor-parallel.{name}"], words, *wants) == [], name
    assert {f"tensor-parallel.{name}" for name in told} == {
        name for name, text in found.items() if any(c.isdigit() for c in text)
    }


def test_a_number_of_a_prompt_with_options() -> None:
    prompt = text_of(module.predict_degree.prompt)
    assert unsaid(prompt, "On four … takes #.", token_s(4)) == []
    assert token_s(8) / token_s(4) == pytest.approx(0.67, abs=0.02)
