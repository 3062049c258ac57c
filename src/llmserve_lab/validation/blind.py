"""Runs of mixtures of experts of the first three trials: predicted, then looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from llmserve_lab.validation.constants import record
from llmserve_lab.validation.experts import stored_runs
from llmserve_lab.validation.latent_rows import latent_runs
from llmserve_lab.validation.prediction import Kind
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.third_rows import third_runs

# The trials by their names in the record, in their order, and what each was of.
TRIALS: Mapping[str, Callable[[], tuple[MeasuredRow, ...]]] = MappingProxyType(
    {"experts": stored_runs, "second trial": latent_runs, "third trial": third_runs}
)


def blind_rows() -> tuple[MeasuredRow, ...]:
    """The runs of all trials."""
    return tuple(row for runs in TRIALS.values() for row in runs())


def blind_errors(kind: Kind) -> list[float]:
    """Their errors by the machine that was fitted to dense models, as recorded.

    What the book predicts them with now is :mod:`.served`.
    """
    return [error for name in TRIALS for error in record()[name]["errors"][kind]]
