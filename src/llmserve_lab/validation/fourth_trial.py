"""Mixtures of experts scored blind a fourth time: models, and a source, not opened.

    python -m llmserve_lab.validation.fourth_trial FILE.csv

prints the errors of a file with :data:`COLUMNS`; with ``write``, the form's fit and
the trial are written to ``data/fourth_record.json``. The form of :mod:`.launch_form`,
its three constants, fitted to the runs of the three trials before, and the choice of
the runs (``tools/fourth_rows.py``, by settings) were fixed before a time was read. The
goal is judged on :data:`UNSEEN`, all runs of models of which none had been looked at.

It was missed by more than before. What the rows show, now that they are seen: at one
client an iteration takes about as much too long whatever the layers, presumably since
these versions of vLLM schedule an iteration only when the one before is over, which
adds to it for each request as well; and long contexts cost more than their bytes where
twelve heads of queries share one of keys. Neither is priced here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from llmserve_lab.validation import launch_fit, second_trial
from llmserve_lab.validation.experts import GOAL, read_rows
from llmserve_lab.validation.fourth_rows import (
    FOURTH_TRIED,
    UNSEEN_SHAPES,
    fourth_rows,
    fourth_runs,
)
from llmserve_lab.validation.launch_form import LaunchConstants, LaunchPredictor
from llmserve_lab.validation.prediction import Times
from llmserve_lab.validation.rows import DATA, SHA256
from llmserve_lab.validation.second_trial import (
    EACH,
    Scores,
    print_scores,
    trial_record,
)

COLUMNS = (
    "model", "system", "engine", "precision", "tp", "ep", "isl", "osl", "clients",
    "requests", "slots", "cache", "ttft_ms", "tpot_ms", "statistic", "date",
)  # fmt: skip
UNSEEN, KNOWN = "new models", "known models"
FITTED_GPU, OTHER_GPU = "GPUs of the fit", "GPUs beside the fit"
BESIDE = ("l40s", "rtx-pro-6000")
ROWS = "fourth_rows.csv"
RECORD = Path(str(DATA)) / "fourth_record.json"


@cache
def fourth_record() -> Mapping[str, Any]:
    """What was written of the form's fit (``"launches"``) and of the trial."""
    found: Mapping[str, Any] = json.loads(RECORD.read_text("utf8"))
    return found


def extra() -> LaunchConstants:
    """The three constants, as they were fitted to all runs of the trials before."""
    return LaunchConstants(**fourth_record()["launches"]["constants"][EACH])


def mended(predictor: LaunchPredictor) -> Times:
    """What the form that is tried says of the runs."""
    return launch_fit.made(predictor, extra())


def novelty(predictor: LaunchPredictor) -> np.ndarray:
    """Whether a run's model was new to the form, or known, [rows]."""
    models = [row.model for row in predictor.rows]
    return np.array([UNSEEN if each in UNSEEN_SHAPES else KNOWN for each in models])


def scores(predictor: LaunchPredictor, times: Times) -> Scores:
    """Scores as in the second trial, and by novelty; of new models also by GPU."""
    new = novelty(predictor)
    beside = np.isin(predictor.label("system"), BESIDE)
    place = np.where(beside, OTHER_GPU, FITTED_GPU)
    both = np.array([f"{a}, {b}" for a, b in zip(new, place, strict=True)])
    return second_trial.scores(predictor, times, new, both)


def recorded() -> dict[str, Any]:
    """All that the record has of the fourth trial."""
    predictor = LaunchPredictor(fourth_runs())
    times = mended(predictor)
    return trial_record(FOURTH_TRIED, ROWS, predictor, times, scores)


def write() -> None:
    """Fit the constants, and then score the trial with them as they are written."""
    parts = {"launches": launch_fit.recorded()}
    _write(parts)
    fourth_record.cache_clear()
    if ROWS in SHA256:
        _write({**parts, "fourth trial": recorded()})


def _write(parts: Mapping[str, Any]) -> None:
    from llmserve_lab.validation.__main__ import as_text

    RECORD.write_text(as_text(parts) + "\n", "utf8")


def main(path: Path) -> None:
    """Print the score of a file's runs, and what was left out and why."""
    predictor = LaunchPredictor(read_rows(path, COLUMNS, fourth_rows))
    print(f"goal: TPOT {100 * GOAL:.0f} %, of {UNSEEN}")
    print_scores(predictor, mended(predictor), scores)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write()
    else:
        main(Path(sys.argv[1]))
