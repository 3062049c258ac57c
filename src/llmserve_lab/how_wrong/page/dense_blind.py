"""Table of the blind test of dense models, and its scores as the text gives them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from llmserve_lab.how_wrong.wording import per_cent, with_ends
from llmserve_lab.page.table import Table
from llmserve_lab.validation.dense_trial import (
    ALL,
    GOAL,
    WITH_BAND,
    DenseTrialRow,
    held_share,
    trial_record,
    trial_runs,
)
from llmserve_lab.validation.rows import MeasuredRow

__all__ = ["GOAL", "WITH_BAND", "dense", "held_share", "score", "servers"]
ARGONNE = "llm-inference-bench"
MACHINES = ("book", "datasheet", "one factor")
# Lines of the table beside those of LLM-Inference-Bench by its number of GPUs.
SOURCES: Mapping[str, tuple[str, ...]] = {
    "vLLM of 2024, A100": ("qwen2", "qwen2.5"),
    "SGLang of 2025, H20": ("qwen3",),
}


def score(machine: str = "book", group: str = ALL) -> Mapping[str, Any]:
    """A score of the trial, of all runs or of a group of them.

    Raises:
        KeyError: the record has no such score.
    """
    found: Mapping[str, Any] = trial_record()["scores"][machine][group]
    return found


def servers() -> int:
    """How many servers the runs are of."""
    return len({row.server for row in trial_runs()})


def dense() -> Table:
    """Errors of the time of an answer, by engine and number of GPUs."""
    groups = {
        f"vLLM of 2024, H100, {said}": _at(count)
        for count, said in ((1, "one GPU"), (2, "two GPUs"), (4, "four GPUs"))
    } | {name: _from(sources) for name, sources in SOURCES.items()}
    lines = [
        (name, f"{own.sum()}", *(_said(_errors(each)[own]) for each in MACHINES))
        for name, own in groups.items()
    ]
    rows = [*lines, _line("all", ALL), _line("those with a band", WITH_BAND)]
    return Table(
        "Mean error of the time of an answer, dense models, predicted blind",
        ("runs", "number", "book", "datasheet", "scaled"),
        rows,
        notes=(
            "H100: LLM-Inference-Bench, batches of 1 to 64 requests. A100 and H20: "
            "Qwen’s pages on speed, one request at a time. All times of book and "
            "datasheet are too short. Scaled: the datasheet times one factor. In "
            "brackets: servers drawn, 95 %.",
        ),
    )


def _line(name: str, group: str) -> tuple[str, ...]:
    book, *others = (score(each, group) for each in MACHINES)
    first = with_ends(book["mean"], (book["low"], book["high"]))
    return name, f"{book['n']}", first, *(per_cent(each["mean"]) for each in others)


def _said(error: np.ndarray) -> str:
    return per_cent(float(np.abs(error).mean()))


@cache
def _errors(machine: str) -> np.ndarray:
    return np.array(trial_record()["errors"][machine])


def _at(count: int) -> np.ndarray:
    """Which batches of LLM-Inference-Bench ran on so many GPUs, [runs]."""
    return np.array(
        [_source(row) == ARGONNE and row.tp == count for row in trial_runs()]
    )


def _from(sources: tuple[str, ...]) -> np.ndarray:
    """Which runs are from the sources, [runs]."""
    return np.array([_source(row) in sources for row in trial_runs()])


def _source(row: MeasuredRow) -> str:
    return row.source if isinstance(row, DenseTrialRow) else ""
