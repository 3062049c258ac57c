"""Table of the decode runs that were predicted blind, apart by their settings."""

from __future__ import annotations

from llmserve_lab.catalog.evidence.blind_decode_runs import OPENED
from llmserve_lab.deepseek.evaluation import blind_runs
from llmserve_lab.deepseek.evaluation.predictions import Score
from llmserve_lab.deepseek.page.tables import tenths
from llmserve_lab.formula.text import signed
from llmserve_lab.page.table import Table


def blind() -> Table:
    """Errors of the rate, of all runs, and apart by GPU, engine, weights and load."""
    rows = [("all", "", *_cells(blind_runs.blind_score(rates=True)))]
    for by, found in blind_runs.parts(rates=True).items():
        rows += [(by, name, *_cells(each)) for name, each in found.items()]
    return Table(
        "Decode workers predicted blind: errors of the rate",
        ("by", "which", "runs", "mean error", "bias", "farthest"),
        rows,
        notes=(
            f"Blind until {OPENED.date}: twin, goal and choice of runs were fixed "
            "before. In brackets, 95 of 100 samples of as many runs, drawn with "
            "replacement. Trtllm: TensorRT-LLM; fp4: half a byte a weight, fp8: one.",
        ),
    )


def _cells(found: Score) -> tuple[str, ...]:
    low, high = found.mean_interval
    mean = tenths(found.mean_error)
    if found.n_runs == blind_runs.blind_score().n_runs:
        mean = f"{mean} ({tenths(low)} to {tenths(high)})"
    bias, worst = tenths(found.bias, "+"), signed(found.worst)
    return f"{found.n_runs}", mean, bias, worst
