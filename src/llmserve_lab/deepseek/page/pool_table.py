"""Table of decode GPUs for each prefill GPU, predicted and at measured rates."""

from __future__ import annotations

from llmserve_lab.deepseek.evaluation.pool_ratio import PoolRatio, ratios
from llmserve_lab.page.table import Table


def pool_table() -> Table:
    """Ratios of the two pools by load: of the twin, and at published rates."""
    ours, kimi, day = ratios()
    rows = [
        (
            f"{each.decode.record.name}, {_load(each, day)}",
            f"{each.predicted:.2f}",
            f"{each.measured:.2f}",
        )
        for each in (ours, kimi, day)
    ]
    columns = ("deployment, mean tokens in / out", "by the twin", "at measured rates")
    return Table("Decode GPUs for each prefill GPU", columns, rows, band=kimi.band)


def _load(each: PoolRatio, day: PoolRatio) -> str:
    if each is day:
        return "a day of tokens"
    return f"{each.prompt:,.0f} / {each.answer:,.0f}"
