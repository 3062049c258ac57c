"""The running example as this chapter prices it: its batch, its bound, its terms."""

from __future__ import annotations

from llmserve_lab.engine import IterationLoad
from llmserve_lab.roofline import formulas as f
from llmserve_lab.running_example import ANSWER, PROMPT, cost, ideal

MEAN_CONTEXT = PROMPT + ANSWER // 2  # tokens in cache half way through the answer
BATCH = 32  # requests that decode together, where the page shows several


def decodes(batch: int, context: int = MEAN_CONTEXT) -> IterationLoad:
    """An iteration in which ``batch`` requests write a token each."""
    one = IterationLoad.of(chunk=1, context=context)
    return IterationLoad(*(batch * part for part in one))


def terms(batch: int, context: int = MEAN_CONTEXT) -> dict[str, float]:
    """Seconds of a decode iteration as measured servers run it, term by term."""
    machine, load = cost(), decodes(batch, context)
    shorter, longer = sorted((load.rows * machine.row_s, machine.weights_s))
    products_s = longer + (1 - machine.overlap) * shorter
    return {
        "read weights": machine.weights_s,
        "read cache": load.kv_tokens * machine.kv_token_s,
        "compute, not hidden": products_s
        - machine.weights_s
        + load.pairs * machine.pair_s,
        "launches": machine.overhead_s + load.requests * machine.request_s,
    }


def bound_s(batch: int, context: int = MEAN_CONTEXT) -> float:
    """The datasheet's bound on a decode iteration of the running example."""
    return float(f.ITERATION_S.at(ideal(), decode(batch, context)))


def decode(batch: int, context: int = MEAN_CONTEXT) -> dict[str, float]:
    """Sizes of a decode iteration, as the formulas take them."""
    return {"batch": float(batch), "context": float(context), "chunk": 1.0}


def most_that_fit(context: int = MEAN_CONTEXT) -> int:
    """Requests whose cache fits beside the weights, with nothing else in memory."""
    return int(f.BATCH_FITS.at(ideal(), context=float(context)))
