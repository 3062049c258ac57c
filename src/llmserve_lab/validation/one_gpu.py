"""The default machine beside one H100 that it was not fitted to, pass by pass.

The passes of :mod:`llmserve_lab.catalog.evidence.one_h100` are what a GPU does in an
iteration. The machine was fitted to servers, so that its constants hold a server's work
on the host, too: 15.5 µs a request, and a part of the time of a layer. Where requests
are many, it must therefore lie above a bare pass; where attention decides, it may not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from llmserve_lab.catalog.evidence.one_h100 import (
    PassSize,
    TimedPass,
    mean_seconds,
    passes,
)
from llmserve_lab.catalog.evidence.status import Status
from llmserve_lab.engine import IterationCost, IterationLoad

# Nobody had timed them when the machine was made (its form is of October 2026): these
# errors are of a blind test. From this date on, the runs are seen.
OPENED = Status("seen", "2026-11-28")
Sort = Literal["decode", "prompt", "chunk"]


@dataclass(frozen=True)
class PassScore:
    """A measured pass, and what an iteration of the same load is predicted to take."""

    run: TimedPass
    predicted_s: float

    @property
    def sort(self) -> Sort:
        """Decodes alone, a whole prompt alone, or a chunk beside decodes."""
        if not self.run.chunk:
            return "decode"
        return "chunk" if self.run.decodes else "prompt"

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.predicted_s / float(self.run.seconds) - 1


def load_of(size: PassSize) -> IterationLoad:
    """The rows, pairs and cached tokens of a pass."""
    cached = size.decodes * size.context
    decodes = IterationLoad(size.decodes, cached, cached, size.decodes)
    return decodes.plus(IterationLoad.of(chunk=size.chunk, context=size.prefix))


def compared(cost: IterationCost, precision: str = "bf16") -> tuple[PassScore, ...]:
    """All passes with weights of this precision beside their predictions.

    Raises:
        ValueError: none was measured in this precision.
    """
    sizes = mean_seconds(precision)  # which refuses another precision
    predicted = {size: cost.seconds(load_of(size)) for size in sizes}
    return tuple(
        PassScore(run, predicted[run.size])
        for run in passes()
        if run.precision == precision
    )


def mean_error(compared: Iterable[PassScore]) -> float:
    """Mean of the errors without their signs.

    Raises:
        ValueError: there is none.
    """
    errors = [abs(each.error) for each in compared]
    if not errors:
        raise ValueError("compared must hold at least one pass, got none")
    return fmean(errors)
