"""Mixtures of experts scored blind a third time: models, and places, not opened before.

    python -m llmserve_lab.validation.third_trial FILE.csv

prints the errors of a file with :data:`COLUMNS`. The form of :mod:`.kernel_form`, its
two constants, fitted to the 980 runs of the first two trials, and the choice of the
runs (``tools/third_rows.py``, by settings) were fixed before a time was read. The goal
is judged on :data:`NEW`, the runs of models of which none had been looked at; the
others are of known models on another GPU, on another engine or from another source.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from llmserve_lab.validation import second_trial
from llmserve_lab.validation.constants import achieved, record
from llmserve_lab.validation.experts import GOAL, read_rows
from llmserve_lab.validation.kernel_form import KernelConstants, KernelPredictor
from llmserve_lab.validation.prediction import Times
from llmserve_lab.validation.second_trial import (
    EACH,
    Scores,
    print_scores,
    trial_record,
)
from llmserve_lab.validation.third_rows import (
    LAST_TRIED,
    NEW_SHAPES,
    CookbookRow,
    third_rows,
    third_runs,
)

COLUMNS = (
    "model", "system", "engine", "precision", "tp", "ep", "isl", "osl", "clients",
    "source", "ttft_ms", "tpot_ms", "statistic", "date",
)  # fmt: skip
NEW, KNOWN = "new models", "known models"


def extra() -> KernelConstants:
    """The two constants, as they were fitted to all runs of the first two trials."""
    return KernelConstants(**record()["kernels"]["constants"][EACH])


def mended(predictor: KernelPredictor) -> Times:
    """What the form that is tried says of the runs."""
    return predictor.timed(achieved(), extra())


def novelty(predictor: KernelPredictor) -> np.ndarray:
    """Whether a run's model was new to the form, or known, [rows]."""
    return np.array([NEW if r.model in NEW_SHAPES else KNOWN for r in predictor.rows])


def scores(predictor: KernelPredictor, times: Times) -> Scores:
    """Scores as in the second trial, and by novelty and source."""
    source = np.array(
        [
            "cookbook" if isinstance(row, CookbookRow) else "InferenceX"
            for row in predictor.rows
        ]
    )
    return second_trial.scores(predictor, times, novelty(predictor), source)


def recorded() -> dict[str, Any]:
    """All that the record has of the third trial."""
    predictor = KernelPredictor(third_runs())
    times = mended(predictor)
    return trial_record(LAST_TRIED, "third_rows.csv", predictor, times, scores)


def main(path: Path) -> None:
    """Print the score of a file's runs, and what was left out and why."""
    predictor = KernelPredictor(read_rows(path, COLUMNS, third_rows))
    print(f"goal: TPOT {100 * GOAL:.0f} %, of {NEW}")
    print_scores(predictor, mended(predictor), scores)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
