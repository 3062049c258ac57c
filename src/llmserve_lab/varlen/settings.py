"""From a list of lengths to the arguments of the formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from llmserve_lab.book.table import Table


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


def overtaken() -> Table:
    """Table of the catalog's models: prompt from which attention does most FLOPs."""
    from llmserve_lab.book.table import Table
    from llmserve_lab.catalog import MODELS, workload
    from llmserve_lab.varlen import formulas as f

    rows = []
    for model in MODELS.values():
        work = workload(model, absorbed=False)
        causal = round(f.OVERTAKE_PROMPT.at(work))
        square = round(f.OVERTAKE_SQUARE.at(work))
        rows.append((model.name, model.d_model, causal, square))
    columns = ("model", "d", "causal pairs, tokens", "whole squares, tokens")
    return Table("Where attention overtakes the linear layers", columns, rows)
