"""Mixtures of experts scored blind a fifth time, by the form that the book now has.

    python -m llmserve_lab.validation.fifth_trial FILE.csv

prints the errors of a file with :data:`COLUMNS`; with ``write``, the constants and the
trial are written to ``data/fifth_record.json``. The form of :mod:`.served_form`, its
constants, fitted to the runs of the four trials before, and the choice of the runs
(``tools/fifth_rows.py``, by settings) were fixed before a time was read. The goal is
judged on :data:`UNSEEN`, all runs of models of which none had been looked at.

The sources are public (``data/NOTICE``). They are few, so that the score says little:
what is published of other mixtures lacks a setting, or has layers that the records of
shapes cannot hold. The goal was missed by one run, of a vLLM of May 2024 (0.4.2) with
one client, whose token took 3.4 times as long as predicted. Nothing is fitted to them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.data.fifth_models import (
    LAGUNA_XS2,
    QWEN2_57B,
    QWEN3_30B,
    QWEN_36_35B,
)
from llmserve_lab.catalog.evidence.status import Status
from llmserve_lab.validation import second_trial
from llmserve_lab.validation.experts import GOAL, read_rows
from llmserve_lab.validation.fourth_rows import (
    FOURTH_SHAPES,
    FOURTH_SYSTEMS,
    LoopRow,
    loop_rows,
)
from llmserve_lab.validation.prediction import Times
from llmserve_lab.validation.rows import (
    DATA,
    PRECISIONS,
    MeasuredRow,
    Sorted,
    in_full,
)
from llmserve_lab.validation.second_trial import Scores, print_scores, trial_record
from llmserve_lab.validation.served import made, served_constants
from llmserve_lab.validation.served_form import ServedConstants, ServedPredictor

COLUMNS = (
    "model", "system", "engine", "precision", "tp", "ep", "isl", "osl", "clients",
    "requests", "slots", "cache", "lengths", "ttft_ms", "tpot_ms", "statistic", "date",
)  # fmt: skip
# The records of the catalog; of these models no run had been looked at. Qwen3.6 has the
# shape of another model, of which one run had been seen by accident.
NEW_SHAPES: Mapping[str, ModelShape] = MappingProxyType(
    {
        "Qwen/Qwen3.6-35B-A3B": QWEN_36_35B,
        "poolside/Laguna-XS.2": LAGUNA_XS2,
        "Qwen/Qwen2-57B-A14B": QWEN2_57B,
    }
)
FIFTH_SHAPES: Mapping[str, ModelShape] = MappingProxyType(
    {**FOURTH_SHAPES, "Qwen/Qwen3-30B-A3B": QWEN3_30B, **NEW_SHAPES}
)
FIFTH_SYSTEMS: Mapping[str, str] = MappingProxyType(
    {**FOURTH_SYSTEMS, "a100_80_sxm": "a100-80-sxm", "h20_sxm": "h20-sxm"}
)
UNSEEN, KNOWN = "new models", "known models"
FIFTH_TRIED = Status("seen", "2026-11-29")
ROWS = "fifth_rows.csv"
RECORD = Path(str(DATA)) / "fifth_record.json"


@dataclass(frozen=True, kw_only=True)
class FifthRow(LoopRow):
    """A run of one server in a closed loop, all lengths alike."""

    @property
    def shape(self) -> ModelShape:
        """The model's record."""
        return FIFTH_SHAPES[self.model]


def fifth_rows(lines: Iterable[Mapping[str, str]]) -> Sorted:
    """Rows that can be predicted, and how many cannot, by reason."""
    every = list(lines)
    alike = [line for line in every if line["lengths"] == "equal"]
    found = loop_rows(
        alike,
        of=FifthRow,
        models=FIFTH_SHAPES,
        systems=FIFTH_SYSTEMS,
        precisions=PRECISIONS,
    )
    drawn = {"lengths drawn": len(every) - len(alike)} if alike != every else {}
    return Sorted(found.rows, MappingProxyType({**drawn, **found.left_out}))


@cache
def fifth_runs() -> tuple[MeasuredRow, ...]:
    """The runs that were scored blind, of those that the rule takes all it can hold."""
    return in_full(ROWS, fifth_rows)


@cache
def fifth_record() -> Mapping[str, Any]:
    """What was written of the constants that were tried, and of the trial."""
    found: Mapping[str, Any] = json.loads(RECORD.read_text("utf8"))
    return found


def tried(predictor: ServedPredictor) -> Times:
    """What the form says of the runs with the constants of that day."""
    return made(predictor, ServedConstants(**fifth_record()["constants"]))


def scores(predictor: ServedPredictor, times: Times) -> Scores:
    """Scores as in the second trial, and by novelty of the model."""
    new = [UNSEEN if row.model in NEW_SHAPES else KNOWN for row in predictor.rows]
    return second_trial.scores(predictor, times, np.array(new))


def write(constants: ServedConstants) -> None:
    """Score the trial with these constants, and write both."""
    from llmserve_lab.validation.__main__ import as_text

    predictor = ServedPredictor(fifth_runs())
    times = made(predictor, constants)
    parts = {
        "constants": asdict(constants),
        "fifth trial": trial_record(FIFTH_TRIED, ROWS, predictor, times, scores),
    }
    RECORD.write_text(as_text(parts) + "\n", "utf8")


def main(path: Path) -> None:
    """Print the score of a file's runs, and what was left out and why."""
    predictor = ServedPredictor(read_rows(path, COLUMNS, fifth_rows))
    print(f"goal: TPOT {100 * GOAL:.0f} %, of {UNSEEN}, each run alike")
    print_scores(predictor, made(predictor, served_constants()), scores)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(served_constants())
    else:
        main(Path(sys.argv[1]))
