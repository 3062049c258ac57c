"""The reader's own model of the time per output token, scored on a sample of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from llmserve_lab.checks import of_type
from llmserve_lab.engine import IterationCost
from llmserve_lab.formula.text import signed
from llmserve_lab.how_wrong.folds import NAMES
from llmserve_lab.how_wrong.wording import per_cent
from llmserve_lab.validation import MeasuredRow, achieved, dense_rows
from llmserve_lab.validation.protocol import protocol_of
from llmserve_lab.validation.rows import every
from llmserve_lab.validation.unit_work import bill_of, cost_of

Model = Callable[[MeasuredRow, IterationCost], float]
SAMPLE = 16  # every sixteenth row
GOOD, BIASED = 0.15, 0.10  # mean error, and bias, that the check accepts


@cache
def sample() -> tuple[tuple[MeasuredRow, IterationCost], ...]:
    """Rows, and what an iteration costs on each one's server."""
    rows = every(dense_rows(), SAMPLE)
    return tuple((row, _cost(row)) for row in rows)


def _cost(row: MeasuredRow) -> IterationCost:
    return cost_of(bill_of(row, kv_bytes=protocol_of(row).kv_bytes), achieved())


def errors_of(model: Model) -> np.ndarray:
    """Relative errors of a model on the sample, [rows].

    Raises:
        ValueError: the model returns what is not a time.
    """
    found = []
    for row, cost in sample():
        seconds = float(model(row, cost))
        if not (np.isfinite(seconds) and seconds > 0):
            raise ValueError(f"model must return seconds above 0, got {seconds}")
        found.append(seconds / row.tpot_s - 1)
    return np.array(found)


def check(model: Model) -> str:
    """What is still wrong with a model, beginning with "not yet"; or that all is well.

    Raises:
        TypeError: the model is no function.
        ValueError: it returns what is not a time.
    """
    of_type(Callable, model=model)  # type: ignore[arg-type]
    error = errors_of(model)
    mean, bias = float(np.abs(error).mean()), float(error.mean())
    sizes = f"mean error {per_cent(mean)}, bias {signed(bias, 1)}"
    said = f"{sizes} on {len(error)} rows"
    if mean > GOOD:
        where = "too short" if bias < 0 else "too long"
        enough = f"{per_cent(GOOD, 0)} would do."
        return f"not yet: {said};\n most of your times are {where}. {enough}"
    if abs(bias) > BIASED:
        return f"not yet: {said}; the errors have one sign."
    return f"well done: {said}."


def bias_by_engine(model: Model) -> str:
    """The mean signed error of each engine's rows, which one mean error may hide."""
    error, engines = errors_of(model), np.array([row.engine for row, _ in sample()])
    return ", ".join(
        f"{NAMES[each]} {signed(float(error[engines == each].mean()), 0)}"
        for each in sorted(set(engines))
    )


def decode_and_prefill(run: MeasuredRow, cost: IterationCost) -> float:
    """An iteration of all clients, and a share of the others' prompts."""
    context = run.prompt_len + run.output_len / 2
    prompt_tokens = (run.clients - 1) * run.prompt_len / run.output_len
    tokens = run.clients + prompt_tokens
    return (
        cost.weights_s
        + cost.overhead_s
        + run.clients * (context * cost.kv_token_s + cost.request_s)
        + tokens * (cost.row_s + cost.collective_row_s)
    )
