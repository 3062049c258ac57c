"""Predictions beside published measurements, with the error printed.

No share and no rate was fitted to the number that it stands beside: see
``calibration.kernel_efficiency`` for what was taken from where, and
``evaluation.caveats`` for two numbers that do come from deployments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from llmserve_lab.catalog.evidence.deployments import (
    DEEPSEEK_DECODE,
    DEEPSEEK_PREFILL,
    DEPLOYMENTS,
    KIMI_DECODE,
    KIMI_PREFILL,
    NVL72_LATER,
    NVL72_LOW,
    NVL72_PREFILL,
    PREFILL_RATES,
    SGLANG_DRAFTED,
    Deployment,
)
from llmserve_lab.deepseek.evaluation.published_runs import (
    batch_of,
    decodes,
    rate_as_run,
    run_as,
)
from llmserve_lab.deepseek.model.assumptions import Choices
from llmserve_lab.formula.arrays import Array
from llmserve_lab.formula.text import plain

if TYPE_CHECKING:
    from llmserve_lab.page.table import Table

Point = tuple[str, float, float]  # what, predicted, measured
_PARTLY = "part of the combine was hidden behind products, here nothing is"
_LINKS = "between nodes InfiniBand as in the other runs"
NOTES: Mapping[str, str] = MappingProxyType(
    {
        DEEPSEEK_DECODE.name: "the batch is one measured rate over the other",
        SGLANG_DRAFTED.name: "attention was slowed down to that of DeepSeek's profile",
        NVL72_LATER.name: _PARTLY,
        NVL72_LOW.name: f"{_PARTLY}; all products taken in FP4, some of attention's "
        "were in FP8",
        KIMI_DECODE.name: _LINKS,
        DEEPSEEK_PREFILL.name: "a day's mean; prompts taken as long as the contexts "
        "in decode, rows in flight as many as in the runs below",
        PREFILL_RATES[-1].name: "the balancedness makes these two differ as measured, "
        "so that their error is one",
        NVL72_PREFILL.name: f"{_PARTLY}; weights beyond the memory wait on the host, "
        "at no cost",
        KIMI_PREFILL.name: _LINKS,
    }
)


def point(record: Deployment, choices: Choices) -> Point:
    """Tokens per second of a GPU in a published deployment, run as it was run."""
    batch = f", batch {batch_of(record):.4g}" if decodes(record) else ""
    made = rate_as_run(record, choices)
    return f"{record.name}{batch}", made, float(record.gpu_tokens_per_s)


def points(choices: Choices) -> tuple[Point, ...]:
    """All published rates, predicted with one set of choices."""
    return tuple(point(record, choices) for record in DEPLOYMENTS)


def error(point: Point) -> float:
    """How far the prediction is above the measurement, as a share of it."""
    return point[1] / point[2] - 1


def beside(predicted: float, measured: float) -> str:
    """How far a prediction is above its measurement, as a percentage."""
    return signed(predicted / measured - 1)


def points_table(choices: Choices, *, by: str = "shares of published kernels") -> Table:
    """Table of tokens per second and GPU, predicted ``by`` what, measured, error."""
    from llmserve_lab.page.table import Table

    rows = [
        (noted(name), plain(made), plain(measured), beside(made, measured))
        for name, made, measured in points(choices)
    ]
    columns = ("deployment", "predicted", "measured", "error")
    title = f"Tokens per second of a GPU, by {by}"
    return Table(title, columns, rows, numbered())


def numbered() -> list[str]:
    """The notes below the table, each once."""
    return list(dict.fromkeys(NOTES.values()))


def noted(name: str) -> str:
    """The name of a row, with the number of its note if it has one."""
    whole = (of for of in NOTES if name.partition(", batch")[0] == of)
    own = (NOTES[of] for of in whole)
    return "".join([name, *(f" [{numbered().index(note) + 1}]" for note in own)])


def signed(share: float) -> str:
    """A share as a percentage with its sign."""
    return f"{round(100 * share):+d} %"


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


def curve(record: Deployment, choices: Choices) -> Curve:
    """The curve of a published decode, run as it was run."""
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
