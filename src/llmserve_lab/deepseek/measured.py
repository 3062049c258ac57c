"""Predictions beside published measurements, with the error printed.

No share and no rate was fitted to the number that it stands beside: see
:mod:`llmserve_lab.deepseek.shares` for what was taken from where, and
:mod:`llmserve_lab.deepseek.doubts` for two numbers that do come from deployments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from llmserve_lab.book.display import plain
from llmserve_lab.book.formula import Array
from llmserve_lab.catalog.measurements import (
    BALANCED_PREFILL,
    DEEPSEEK_DECODE,
    DEEPSEEK_PREFILL,
    NVL72_DECODE,
    NVL72_LATER,
    PREFILL_RATES,
    PREFILL_ROWS,
    PROFILED_DECODE,
    SGLANG_DECODE,
    Deployment,
)
from llmserve_lab.deepseek.choices import Choices
from llmserve_lab.deepseek.prefill import prefill_s
from llmserve_lab.deepseek.setup import setup_of
from llmserve_lab.deepseek.shares import alike, hopper
from llmserve_lab.deepseek.twin import Twin

if TYPE_CHECKING:
    from llmserve_lab.book.table import Table

Point = tuple[str, float, float]  # what, predicted, measured
BEFORE_JUNE: dict[str, Any] = {"near_copies": "far"}  # the library's kernels then
RUN_AS: Mapping[Deployment, dict[str, Any]] = MappingProxyType(
    {
        DEEPSEEK_DECODE: BEFORE_JUNE,
        SGLANG_DECODE: BEFORE_JUNE,
        PROFILED_DECODE: BEFORE_JUNE | {"balancedness": 1.0},  # routing made even
        NVL72_DECODE: {"overlap": "none"},  # switched off, as its authors say
        NVL72_LATER: {"overlap": "none"},
    }
)
PREFILLS = (DEEPSEEK_PREFILL, *PREFILL_RATES)
NOTES: Mapping[str, str] = MappingProxyType(  # by how the name of a row begins
    {
        DEEPSEEK_DECODE.name: "the batch is one measured rate over the other",
        DEEPSEEK_PREFILL.name: "a day's mean; prompts taken as long as the contexts "
        "in decode, rows in flight as many as in the runs below",
        PREFILL_RATES[-1].name: "the balancedness makes these two differ as measured, "
        "so that their error is one",
    }
)


def run_as(record: Deployment, choices: Choices) -> Twin:
    """The twin of a published decode, with what is known of how it was run."""
    known = dict(RUN_AS[record])
    if record is NVL72_LATER:  # new kernels, taken to be as good as Hopper's
        known["shares"] = alike(hopper())
    return Twin(setup=setup_of(record), choices=replace(choices, **known))


def batch_of(record: Deployment) -> float:
    """Requests per GPU: published, or implied by two rates.

    Raises:
        ValueError: neither is known.
    """
    if record.batch is not None:
        return float(record.batch)
    if record.user_tokens_per_s is None:
        raise ValueError(f"record must tell a batch or a user's rate, got {record}")
    return float(record.gpu_tokens_per_s) / float(record.user_tokens_per_s)


def decode_point(record: Deployment, choices: Choices) -> Point:
    """Tokens per second of a GPU in a published decode, run as it was run."""
    twin = run_as(record, choices)
    batch, context = batch_of(record), float(record.context)
    found = float(twin.gpu_tokens_per_s(batch=batch, context=context))
    return f"{record.name}, batch {plain(batch)}", found, float(record.gpu_tokens_per_s)


def prefill_point(record: Deployment, choices: Choices) -> Point:
    """Tokens per second of a GPU in a published prefill."""
    twin, rows = Twin(setup=setup_of(record), choices=choices), float(PREFILL_ROWS)
    seconds = float(prefill_s(twin, prompt=float(record.context), rows=rows))
    return record.name, rows / seconds, float(record.gpu_tokens_per_s)


def points(choices: Choices) -> tuple[Point, ...]:
    """All published rates, predicted with one set of choices.

    Each is run as it was run: without overlap where it was off, with even routing
    where that was simulated.
    """
    even = replace(choices, balancedness=1.0)
    name, found, _ = prefill_point(PREFILL_RATES[-1], even)
    return (
        *(decode_point(each, choices) for each in RUN_AS),
        *(prefill_point(record, choices) for record in PREFILLS),
        (f"{name}, even routing", found, float(BALANCED_PREFILL)),
    )


def error(point: Point) -> float:
    """How far the prediction is above the measurement, as a share of it."""
    return point[1] / point[2] - 1


def points_table(choices: Choices, *, by: str = "shares of published kernels") -> Table:
    """Table of tokens per second and GPU, predicted ``by`` what, measured, error."""
    from llmserve_lab.book.table import Table

    rows = [
        (noted(point[0]), *map(plain, point[1:]), signed(error(point)))
        for point in points(choices)
    ]
    columns = ("deployment", "predicted", "measured", "error")
    title = f"Tokens per second of a GPU, by {by}"
    return Table(title, columns, rows, [*NOTES.values()])


def noted(name: str) -> str:
    """The name of a row, with the number of its note if it has one."""
    found = [f" [{i}]" for i, of in enumerate(NOTES, 1) if name.startswith(of)]
    return "".join([name, *found])


def signed(share: float) -> str:
    """A share as a percentage with its sign."""
    return f"{100 * share:+.0f} %"


@dataclass(frozen=True)
class Curve:
    """A prediction over the batch, and the point that was measured on it."""

    name: str
    n_gpus: int
    batches: Array
    predicted: Array
    batch: float
    measured: float


def up_to(batches: Array, most: float) -> Array:
    """Those of ``batches`` [n] that are below ``most``, and that one."""
    return np.append(batches[batches < most], most)


def decode_curves(choices: Choices) -> tuple[Curve, ...]:
    """One curve for each published decode, run as it was run."""
    return tuple(_curve(record, choices) for record in RUN_AS)


def _curve(record: Deployment, choices: Choices) -> Curve:
    twin = run_as(record, choices)
    fits = float(twin.batch_fits(float(record.context)))
    batches = up_to(np.exp2(np.arange(3, 11, dtype=np.float64)), fits)
    return Curve(
        record.name,
        record.n_gpus,
        batches,
        np.asarray(twin.gpu_tokens_per_s(batch=batches, context=float(record.context))),
        batch_of(record),
        float(record.gpu_tokens_per_s),
    )
