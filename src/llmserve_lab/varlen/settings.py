"""From a list of lengths, a model or a machine to the arguments of the formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from llmserve_lab.book.formula import Formula
    from llmserve_lab.book.table import Table
    from llmserve_lab.catalog import Accelerator, ModelShape


def batch_of(lengths: Sequence[int]) -> dict[str, float]:
    """The moments of ``lengths`` by code name, whatever the list.

    Raises:
        ValueError: there is no request, or one of them is empty.
    """
    if len(lengths) == 0 or min(lengths) < 1:
        raise ValueError(
            f"lengths must be 1 or more requests of at least 1 token, got {lengths}"
        )
    return {
        "batch": float(len(lengths)),
        "mean_prompt": float(np.mean(lengths)),
        "mean_square_prompt": float(np.mean(np.square(lengths, dtype=np.float64))),
        "longest_prompt": float(max(lengths)),
    }


def work_of(model: ModelShape) -> dict[str, float]:
    """What the formulas ask about a model; MLA as prefill runs it, not absorbed."""
    return {
        "params_total": float(model.params_total),
        "params_active": float(model.params_active),
        "attn_flops_per_pair": float(model.attn_flops_per_pair(absorbed=False)),
        "bytes_weight": 2.0,
    }


def peaks_of(device: Accelerator) -> dict[str, float]:
    """Datasheet peaks in 16 bits, all of them reached."""
    return {
        "peak_flops": float(device.peak("bf16")),
        "hbm_bw": float(device.hbm_bw),
        "eff_compute": 1.0,
        "eff_mem": 1.0,
    }


def value(formula: Formula, *known: dict[str, float], **more: float) -> float:
    """``formula`` at those of the given numbers that it asks for.

    Raises:
        KeyError: none of them gives an argument of the formula.
    """
    merged = {name: number for part in known for name, number in part.items()} | more
    return float(
        formula(**{leaf.name: merged[leaf.name] for leaf in formula.arguments})
    )


def overtaken() -> Table:
    """Table of the catalog's models: prompt from which attention does most FLOPs."""
    from llmserve_lab.book.table import Table
    from llmserve_lab.catalog import MODELS
    from llmserve_lab.varlen import formulas as f

    rows = []
    for model in MODELS.values():
        work = work_of(model)
        causal = round(value(f.OVERTAKE_PROMPT, work))
        square = round(value(f.OVERTAKE_SQUARE, work))
        rows.append((model.name, model.d_model, causal, square))
    columns = ("model", "d", "causal pairs, tokens", "whole squares, tokens")
    return Table("Where attention overtakes the linear layers", columns, rows)
