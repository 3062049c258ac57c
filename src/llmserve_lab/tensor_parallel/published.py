"""Measured beside predicted: the gain of each doubling of GPUs, and all-reduces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from llmserve_lab.catalog.evidence.collectives import ENGINE_RUNS
from llmserve_lab.checks import whole_number
from llmserve_lab.page.table import Table
from llmserve_lab.tensor_parallel.arguments import all_reduce_times
from llmserve_lab.validation import dense_rows
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.rows import MeasuredRow

MEASURED = "llama-3-70b"  # the shape of Llama-3.1-70B, as the rows call it


@dataclass(frozen=True)
class Doubling:
    """The same server and load on twice the GPUs: how many times faster a token came.

    Raises:
        ValueError: the larger group is not twice the smaller.
    """

    row: MeasuredRow
    n_gpus: int
    measured: float
    predicted: float

    def __post_init__(self) -> None:
        if self.n_gpus != 2 * self.row.tp:
            raise ValueError(
                f"n_gpus must be twice {self.row.tp}, those of the row, "
                f"got {self.n_gpus}"
            )

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.predicted / self.measured - 1


@cache
def doublings() -> tuple[Doubling, ...]:
    """All doublings among the measured rows of Llama-70B.

    The predictions are those of a fit that had not seen this model.
    """
    loads = defaultdict[tuple[object, ...], list[tuple[MeasuredRow, float]]](list)
    errors = record()["errors"]["tpot"]
    for row, error in zip(dense_rows(), errors, strict=True):
        if row.model == MEASURED:
            load = (row.group, row.prompt_len, row.output_len, row.clients)
            loads[load].append((row, row.tpot_s * (1 + error)))
    found = []
    for rows in loads.values():
        for (one, one_s), (two, two_s) in pairwise(sorted(rows, key=_degree)):
            gain = one.tpot_s / two.tpot_s
            found.append(Doubling(one, two.tp, gain, one_s / two_s))
    return tuple(found)


def _degree(pair: tuple[MeasuredRow, float]) -> int:
    return pair[0].tp


def on_h100s(n_gpus: int, *, clients: int, length: int) -> Doubling:
    """The doubling of vLLM on H100s at so many requests, prompt and answer as long.

    Raises:
        ValueError: it was not measured.
    """
    load = ("h100-sxm", "vllm", length, length, clients)
    for each in by_degree(n_gpus):
        row = each.row
        lengths = (row.prompt_len, row.output_len)
        if (row.system, row.engine, *lengths, row.clients) == load:
            return each
    raise ValueError(f"clients must be a measured load, got {clients!r}")


def num_rows() -> int:
    """Measured rows of Llama-70B."""
    return sum(row.model == MEASURED for row in dense_rows())


def by_degree(n_gpus: int) -> tuple[Doubling, ...]:
    """The doublings that end on so many GPUs."""
    return tuple(each for each in doublings() if each.n_gpus == n_gpus)


def mean_error(found: Sequence[Doubling]) -> float:
    """Mean absolute error of the predicted gains.

    Raises:
        ValueError: there is none.
    """
    whole_number("number of found", len(found))
    return float(np.mean([abs(each.error) for each in found]))


def worse() -> int:
    """Pairs of which the larger group was measured to be slower."""
    return sum(each.measured < 1 for each in doublings())


def errors_of(found: Sequence[Doubling]) -> tuple[float, float]:
    """The tenth and the ninetieth percentile of the errors of predicted gains."""
    low, high = np.percentile([each.error for each in found], [10, 90])
    return float(low), float(high)


def spread(found: Sequence[Doubling]) -> str:
    """The middle four fifths of measured gains."""
    low, high = np.percentile([each.measured for each in found], [10, 90])
    return f"{low:.2f}–{high:.2f}"


def gains_table() -> Table:
    """Mean gains of each doubling, measured and predicted."""
    rows = []
    for degree in (2, 4, 8):
        found = by_degree(degree)
        measured, predicted = (
            np.mean([getattr(each, name) for each in found])
            for name in ("measured", "predicted")
        )
        rows.append(
            (
                f"{degree // 2} → {degree}",
                str(len(found)),
                f"{measured:.2f} ({spread(found)})",
                f"{predicted:.2f}",
                f"{mean_error(found):.0%}",
            )
        )
    columns = ("GPUs", "pairs", "measured", "predicted", "off by")
    return Table(
        "Llama-70B: how many times faster on twice the GPUs, mean", columns, rows
    )


@cache
def reduce_errors() -> tuple[float, ...]:
    """Errors of the fastest of three ways, on an engine's measured all-reduces."""
    return tuple(
        all_reduce_times(run.n_gpus, run.nbytes)["fastest_s"] / float(run.seconds) - 1
        for run in ENGINE_RUNS
    )


def reduce_error() -> float:
    """Their mean, without sign."""
    return float(np.abs(reduce_errors()).mean())
