"""The running example as this chapter prices it: what is read, and on which machine.

Of the embedding table an iteration reads only the rows of its tokens, so that the
parameters read are those stored less that table.
"""

from __future__ import annotations

from llmserve_lab.catalog import Cited, ModelShape, workload
from llmserve_lab.engine import IterationLoad
from llmserve_lab.roofline import formulas as f
from llmserve_lab.running_example import ANSWER, PROMPT, cost, ideal, model, setting

MEAN_CONTEXT = PROMPT + ANSWER // 2  # tokens in cache half way through the answer
BATCH = 32  # requests that decode together, where the page shows several


def params_read(shape: ModelShape) -> Cited:
    """Parameters that an iteration reads: all but an embedding table of its own."""
    table = 0 if shape.tied else shape.vocab * shape.d_model
    left = "" if shape.tied else ", the embedding table left out"
    known = workload(shape)["params_total"]
    note = f"{shape.name}{left}"
    count = shape.params_total - table
    return Cited(count, "parameter", known.kind, known.source, note)


def ideal_reading() -> dict[str, Cited]:
    """Model and datasheet as arguments of the formulas, where P_tot is what is read."""
    return ideal() | {"params_total": params_read(model())}


def reading() -> dict[str, Cited]:
    """The same at the shares of the datasheet that measured servers reach."""
    return setting() | {"params_total": params_read(model())}


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
    return float(f.ITERATION_S.at(ideal_reading(), decode(batch, context)))


def decode(batch: int, context: int = MEAN_CONTEXT) -> dict[str, float]:
    """Sizes of a decode iteration, as the formulas take them."""
    return {"batch": float(batch), "context": float(context), "chunk": 1.0}


def most_that_fit(context: int = MEAN_CONTEXT) -> int:
    """Requests whose cache fits beside the weights, with nothing else in memory."""
    return int(f.BATCH_FITS.at(ideal(), context=float(context)))
