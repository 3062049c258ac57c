"""How the bands of mixtures of experts hold on a source that made none of them.

The bands (:mod:`.bands`) are made of errors on the runs of three trials. The runs of
the fourth (:mod:`.fourth_rows`) are another provider's: no constant, no power and no
error of a band is from them. A run counts where its setting has a band, which leaves
out those on a GPU of a generation that was not measured.
"""

from __future__ import annotations

from functools import cache
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from llmserve_lab.formula.band import Band
from llmserve_lab.validation.bands import band
from llmserve_lab.validation.fourth_rows import fourth_runs
from llmserve_lab.validation.kernel_fit import made
from llmserve_lab.validation.kernel_form import KernelPredictor
from llmserve_lab.validation.prediction import Kind, errors
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.served import served_constants
from llmserve_lab.validation.setting import Setting
from llmserve_lab.validation.unit_work import Floats


class HeldElsewhere(NamedTuple):
    """Runs that have a band, their errors, and which of these lie inside it."""

    rows: tuple[MeasuredRow, ...]
    errors: Floats
    inside: np.ndarray[Any, np.dtype[np.bool_]]

    @property
    def share(self) -> float:
        """Share of the runs inside; a band is to hold :data:`.bands.INSIDE`."""
        return float(self.inside.mean())

    @property
    def mean_error(self) -> float:
        """Mean size of the errors."""
        return float(np.abs(self.errors).mean())

    @property
    def lone_s(self) -> float:
        """Seconds that a token of one client alone took longer than predicted, median.

        Of times per output token.
        """
        rows = zip(self.rows, self.errors.tolist(), strict=True)
        return float(median(-row.tpot_s * x for row, x in rows if row.clients == 1))


@cache
def held(kind: Kind) -> HeldElsewhere:
    """The fourth trial's runs, predicted as the book predicts served mixtures."""
    banded = [(row, band(kind, Setting.of(row))) for row in fourth_runs()]
    kept = [(row, each) for row, each in banded if isinstance(each, Band)]
    rows = tuple(row for row, _ in kept)
    predictor = KernelPredictor(rows)
    times = made(predictor, served_constants())
    error = errors(times, predictor.measured, kind)
    ends = np.array([(each.low, each.high) for _, each in kept])
    return HeldElsewhere(rows, error, (ends[:, 0] <= error) & (error <= ends[:, 1]))
