"""Decode runs of disaggregated servers, predicted run by run and scored by status.

    python -m llmserve_lab.deepseek.evaluation.decode_scores FILE.csv

scores runs of a file with the columns of :data:`COLUMNS` as blind ones. A file
that has been opened holds no blind runs any more; see :mod:`.blind_runs`.
"""

from __future__ import annotations

import csv
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from llmserve_lab.catalog.evidence.decode_runs import DECODE_RUNS, DecodeRun
from llmserve_lab.catalog.evidence.status import Kind, Status
from llmserve_lab.deepseek.calibration.host_time import (
    BY_PRECISION,
    decoding_requests,
    mean_context,
    predicted_s,
)
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.predictions import Score, by_status
from llmserve_lab.deepseek.model.assumptions import Assumptions

SYSTEMS: Mapping[str, str] = MappingProxyType(
    {
        "h100_sxm": "h100-sxm",
        "h200_sxm": "h200-sxm",
        "b200_sxm": "b200-sxm",
        "gb200": "gb200-nvl72",
    }
)
COLUMNS = (
    "system",
    "engine",
    "precision",
    "isl",
    "osl",
    "ep",
    "attention_dp",
    "batch_per_gpu_nominal",
    "ttft_ms",
    "tpot_ms",
)
COUNTS = ("ep", "isl", "osl")


@dataclass(frozen=True)
class Predicted:
    """One decode run: requests on a GPU, their context, and the step both ways.

    Times are seconds; ``requests`` decode at a time, by Little's law.
    """

    run: DecodeRun
    requests: float
    context: float
    predicted_s: float

    @property
    def measured_s(self) -> float:
        """Mean time between tokens."""
        return self.run.tpot_s

    @property
    def error(self) -> float:
        """How far the predicted step is above the measured one, as a share of it."""
        return self.predicted_s / self.measured_s - 1

    @property
    def rate_error(self) -> float:
        """How far the predicted rate is above the measured one, as a share of it."""
        return self.measured_s / self.predicted_s - 1

    @property
    def status(self) -> Kind:
        """Seen, calibrated or blind."""
        return self.run.status.kind


def predictions(
    assumed: Assumptions, runs: Iterable[DecodeRun] = DECODE_RUNS
) -> tuple[Predicted, ...]:
    """Each run, predicted by the public protocol of its engine."""
    return tuple(
        Predicted(
            run, decoding_requests(run), mean_context(run), predicted_s(run, assumed)
        )
        for run in runs
    )


def scores(found: Iterable[Predicted]) -> tuple[Score, ...]:
    """Errors of the step apart by status."""
    return by_status((each.status, each.error) for each in found)


def read_runs(path: Path, status: Status) -> tuple[tuple[DecodeRun, ...], Counter[str]]:
    """Runs of a file of measurements, and how many were left out for which reason.

    Raises:
        ValueError: a column is missing.
    """
    with path.open(newline="", encoding="utf-8") as lines:
        rows = csv.DictReader(lines)
        if missing := [name for name in COLUMNS if name not in (rows.fieldnames or ())]:
            raise ValueError(f"{path.name} must have the columns {', '.join(missing)}")
        read = [(row, _refused(row)) for row in rows]
    left_out = Counter(why for _, why in read if why)
    return tuple(_run(row, status) for row, why in read if not why), left_out


def _refused(row: Mapping[str, str]) -> str:
    """Why a row cannot be predicted; empty if it can."""
    if row["system"] not in SYSTEMS:
        return f"system {row['system']} is not in the catalogue"
    if row["precision"] not in BY_PRECISION:
        return f"precision {row['precision']} has no protocol"
    if row["ep"] != row["attention_dp"]:
        return "attention is not data-parallel over the whole group"
    try:
        numbers = [float(row[name]) for name in COLUMNS[3:]]
    except ValueError:
        return "a number is missing"
    if not all(math.isfinite(number) and number > 0 for number in numbers):
        return "a number is not finite and positive"
    counts = (float(row[name]) for name in COUNTS)
    return "" if all(map(float.is_integer, counts)) else "a count is not whole"


def _run(row: Mapping[str, str], status: Status) -> DecodeRun:
    return DecodeRun(
        accelerator=SYSTEMS[row["system"]],
        engine=row["engine"],
        precision=row["precision"],
        ep=int(float(row["ep"])),
        prompt_tokens=int(float(row["isl"])),
        output_tokens=int(float(row["osl"])),
        requests_per_gpu=float(row["batch_per_gpu_nominal"]),
        ttft_s=float(row["ttft_ms"]) / 1e3,
        tpot_s=float(row["tpot_ms"]) / 1e3,
        status=status,
    )


def main(path: Path) -> None:
    """Print each run of a file, predicted and measured, and the scores.

    Raises:
        ValueError: a column is missing, or no run can be predicted.
    """
    today = datetime.now(UTC).date().isoformat()
    runs, left_out = read_runs(path, Status("blind", today))
    for why, count in left_out.items():
        print(f"left out: {count}, {why}")
    if not runs:
        raise ValueError(f"{path.name} must hold a run that can be predicted, got none")
    found = predictions(book_assumptions(), runs)
    for each in found:
        times = f"{1e3 * each.predicted_s:6.1f} {1e3 * each.measured_s:6.1f} ms"
        print(f"{100 * each.error:+6.1f} %  {times}  {each.run.name}")
    for total in scores(found):
        mean, bias = 100 * total.mean_error, 100 * total.bias
        print(f"{total.status}: {total.n_runs} runs, {mean:.1f} %, bias {bias:+.1f} %")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
