"""From a list of lengths to the arguments of the formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from llmserve_lab.catalog import MODELS, Given, ModelShape, workload
from llmserve_lab.checks import whole_numbers
from llmserve_lab.page.table import Table
from llmserve_lab.varlen import formulas as f


def batch_of(lengths: Sequence[int]) -> dict[str, float]:
    """The moments of ``lengths`` by code name, whatever the list.

    Raises:
        TypeError: a length is no whole number.
        ValueError: there is no request, or one of them is empty.
    """
    whole_numbers("lengths", lengths)
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


def square_share(batch: Mapping[str, float], work: Mapping[str, Given]) -> float:
    """Attention's share of the FLOPs if whole blocks are computed, not triangles.

    ``batch`` as from :func:`batch_of`, ``work`` as from the catalog's ``workload``.
    """
    squares = f.VARLEN_PAIRS.at(batch) * float(work["attn_flops_per_pair"])
    return float(squares / (squares + f.LINEAR_FLOPS.at(batch, work)))


def prompt_work(model: ModelShape) -> dict[str, Given]:
    """A model's ``workload`` for rows of a prompt: all parameters but the LM head's.

    An engine scores only a prompt's last row.
    """
    work: dict[str, Given] = dict(workload(model, absorbed=False))
    head = model.vocab * model.d_model
    return work | {"params_active": float(model.params_active - head)}


def overtaken() -> Table:
    """Table of the catalog's models: prompt from which attention does most FLOPs."""
    rows = []
    for model in MODELS.values():
        work = prompt_work(model)
        causal = round(f.OVERTAKE_PROMPT.at(work))
        square = round(f.OVERTAKE_SQUARE.at(work))
        rows.append((model.name, model.d_model, causal, square))
    columns = ("model", "width of a row", "causal pairs", "whole squares")
    caption = "Where attention overtakes the linear layers, in tokens"
    notes = (
        "Full attention in every layer is assumed. gpt-oss-120b and Llama 4 attend to "
        "a window or a chunk in some of their layers, and DeepSeek-V3.2 to chosen "
        "tokens: there attention overtakes later, if at all.",
    )
    return Table(caption, columns, rows, notes)
