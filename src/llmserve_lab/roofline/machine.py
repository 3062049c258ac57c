"""The running example as this chapter prices it: its batch, its bound, its terms."""

from __future__ import annotations

from llmserve_lab.catalog import ModelShape
from llmserve_lab.engine import IterationLoad
from llmserve_lab.roofline import formulas as f
from llmserve_lab.running_example import ANSWER, PROMPT, cost, ideal, model

MEAN_CONTEXT = PROMPT + ANSWER // 2  # tokens in cache half way through the answer
BATCH = 32  # requests that decode together, where the page shows several


def decodes(batch: int, context: int = MEAN_CONTEXT) -> IterationLoad:
    """An iteration in which ``batch`` requests write a token each."""
    return IterationLoad.of(chunk=1, context=context).times(batch)


def terms(batch: int, context: int = MEAN_CONTEXT) -> dict[str, float]:
    """Seconds of a decode iteration, fitted to servers, term by term."""
    machine, load = cost(), decodes(batch, context)
    longer = max(load.rows * machine.row_s, machine.weights_s)
    products_s = longer + machine.exposed_s(load.rows)
    return {
        "read weights": machine.weights_s,
        "read cache": load.kv_tokens * machine.kv_token_s,
        "compute, not hidden": products_s
        - machine.weights_s
        + load.pairs * machine.pair_s,
        "launches and gaps": machine.overhead_s,
        "scheduling": load.requests * machine.request_s,
    }


def prompt_terms(prompt: int = PROMPT) -> dict[str, float]:
    """Seconds of an iteration that reads one prompt, fitted to servers, by term.

    The machine multiplies every row alike, the LM head included.
    """
    machine, load = cost(), IterationLoad.of(chunk=prompt)
    longer = max(load.rows * machine.row_s, machine.weights_s)
    return {
        "compute": longer + load.pairs * machine.pair_s,
        "read, not hidden": machine.exposed_s(load.rows),
        "launches and gaps": machine.overhead_s + machine.prompt_s,
        "scheduling": machine.request_s,
    }


def apart_s(batch: int, context: int = MEAN_CONTEXT) -> tuple[float, float, float]:
    """Seconds to compute the products, to read the weights, to read the caches."""
    known, size = ideal(), decode(batch, context)
    times = (f.LINEAR_S, f.WEIGHTS_S, f.KV_S)
    linear_s, read_s, kv_s = (float(each.at(known, size)) for each in times)
    return linear_s, read_s, kv_s


def prompt_params(shape: ModelShape) -> int:
    """Parameters that a row of a prompt is multiplied with: all but the LM head's.

    An engine scores only a prompt's last row, which is left out here: one row.
    """
    return shape.params_active - shape.vocab * shape.d_model


def prompt(rows: int = PROMPT) -> dict[str, float]:
    """Sizes of an iteration that reads one prompt, as the formulas take them."""
    size = {"batch": 1.0, "context": 0.0, "chunk": float(rows)}
    return size | {"params_active": float(prompt_params(model()))}


def bound_s(batch: int, context: int = MEAN_CONTEXT) -> float:
    """The datasheet's bound on a decode iteration of the running example."""
    return float(f.ITERATION_S_APART.at(ideal(), decode(batch, context)))


def decode(batch: int, context: int = MEAN_CONTEXT) -> dict[str, float]:
    """Sizes of a decode iteration, as the formulas take them."""
    return {"batch": float(batch), "context": float(context), "chunk": 1.0}


def answers_per_s() -> float:
    """The datasheet's bound on answers a second, in a batch without end, with prompts.

    In such a batch the weights are read behind the computing. Each answer then costs
    its prompt, and for each of its tokens the reading of a cache and the computing of
    a row.
    """
    linear_s, _, kv_s = apart_s(1)
    prompt_s = float(f.ITERATION_S_APART.at(ideal(), prompt()))
    return 1 / (prompt_s + ANSWER * (linear_s + kv_s))


def longest_that_reaches() -> tuple[int, int]:
    """Contexts up to which decode can reach the ridge of the datasheet.

    Returns:
        Tokens with a batch that fills memory, and with a batch without end.
    """
    known = ideal()
    ridge = float(f.RIDGE.at(known))

    def fills(context: int) -> float:
        size = decode(most_that_fit(context), context)
        return float(f.INTENSITY.at(known, size))

    def endless(context: int) -> float:
        size = {"context": float(context), "chunk": 1.0}
        return float(f.ENDLESS_INTENSITY.at(known, size))

    both = (fills, endless)
    first, second = (
        max(c for c in range(1, MEAN_CONTEXT) if reach(c) >= ridge) for reach in both
    )
    return first, second


def most_that_fit(context: int = MEAN_CONTEXT) -> int:
    """Requests whose cache fits beside the weights, with nothing else in memory."""
    return int(f.BATCH_FITS.at(ideal(), context=float(context)))
