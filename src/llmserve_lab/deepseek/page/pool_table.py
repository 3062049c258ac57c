"""Table of decode GPUs for each prefill GPU, predicted and as published."""

from __future__ import annotations

from llmserve_lab.catalog.evidence.deployments import DAY_NODES
from llmserve_lab.deepseek.evaluation.pool_ratio import PoolRatio, day_nodes, ratios
from llmserve_lab.formula.text import plain
from llmserve_lab.page.table import Table


def pool_table() -> Table:
    """Ratios of the two pools by load: of the twin, and at published rates."""
    ours, kimi, day = ratios()
    told = {id(kimi): _gpus(kimi), id(day): _day()}
    rows = [
        (
            f"{each.decode.record.name}, {_load(each, day)}",
            f"{each.predicted:.2f}",
            f"{each.measured:.2f}",
            told.get(id(each), "–"),
        )
        for each in (ours, kimi, day)
    ]
    columns = (
        *("deployment, mean tokens in / out", "by the twin"),
        *("at measured rates", "published"),
    )
    return Table("Decode GPUs for each prefill GPU", columns, rows, band=kimi.band)


def _load(each: PoolRatio, day: PoolRatio) -> str:
    if each is day:
        return "a day of tokens"
    return f"{each.prompt:,.0f} / {each.answer:,.0f}"


def _gpus(each: PoolRatio) -> str:
    read, wrote = each.prefill.record.n_gpus, each.decode.record.n_gpus
    return f"{wrote} : {read} GPUs"


def _day() -> str:
    read, wrote = day_nodes()
    return f"{wrote:.0f} : {read:.0f} of {plain(float(DAY_NODES), 5)} nodes"
