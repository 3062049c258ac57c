"""What the front page promises: the pace of a GPU, and how far off predictions are."""

from __future__ import annotations

from typing import Literal

from llmserve_lab.catalog import PRECISIONS
from llmserve_lab.checks import MOST_PLAYED, whole
from llmserve_lab.engine import IterationLoad
from llmserve_lab.how_wrong.factors import nested_held
from llmserve_lab.running_example import ANSWER, PROMPT, cost, model
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.dense_trial import ALL, held_share, trial_record

Kind = Literal["tpot", "ttft"]
READERS = 64  # requests that one GPU writes for at a time
CONTEXT = PROMPT + ANSWER // 2  # tokens in the cache of a request, half way


def step_s(batch: int) -> float:
    """Decode step: time of an iteration that gives each of ``batch`` requests a token.

    Raises:
        ValueError: there is no request.
    """
    whole(of="request", most=MOST_PLAYED, batch=batch)
    load = one = IterationLoad.of(chunk=1, context=CONTEXT)
    for _ in range(batch - 1):
        load = load.plus(one)
    return cost().seconds(load)


def stored_bytes() -> float:
    """Weights: bytes of all parameters of the book's model, 16 bits each."""
    return float(model().weight_bytes(float(PRECISIONS["bf16"].bytes_weight)))


def mean_error(kind: str) -> tuple[float, int]:
    """Mean absolute error on runs of models left out of the fit, and their number.

    ``kind`` is ``"tpot"``, ``"ttft"`` or ``"e2e"``.

    Raises:
        LookupError: no such time was scored.
    """
    score = record()["scores"]["model"][kind]
    return float(score["mean"]), int(score["n"])


def held(
    by: Literal["engine", "model", "system"], kind: Literal["tpot", "ttft"]
) -> str:
    """Share of left-out runs that ranges made without them hold, in per cent.

    ``by`` says what the ranges did not know: the runs' engine, model or kind of GPU.
    """
    return f"{100 * nested_held(by, kind):.0f} %"


def blind() -> tuple[float, int, str]:
    """Mean error of runs predicted unseen, their number, and the share that is held.

    That share is of the runs for which there is a range, in per cent.
    """
    score = trial_record()["scores"]["book"][ALL]
    return float(score["mean"]), int(score["n"]), f"{100 * held_share()[1]:.0f} %"
