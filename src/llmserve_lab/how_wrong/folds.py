"""Leave-one-group-out folds: what was fitted to what, and how it scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from llmserve_lab.checks import UnknownKeyError, key_of
from llmserve_lab.how_wrong.record import ends_of, record, row_errors
from llmserve_lab.validation import ServingConstants
from llmserve_lab.validation.intervals import Interval
from llmserve_lab.validation.rows import dense_rows
from llmserve_lab.validation.unit_work import Floats

NAMES = {
    "llama-3-70b": "Llama-3.1-70B",
    "qwen3-32b": "Qwen3-32B",
    "llama-3-8b": "Llama-3.1-8B",
    "h100-sxm": "H100",
    "h200-sxm": "H200",
    "b200-sxm": "B200",
    "trtllm": "TensorRT-LLM",
    "vllm": "vLLM",
    "sglang": "SGLang",
    "bf16": "BF16",
    "fp8": "FP8",
    "fp4": "FP4",
}


@dataclass(frozen=True)
class Fold:
    """One name left out: rows fitted to and predicted, what was fitted, the scores.

    ``n_servers`` of them were predicted. ``layer_s`` is the fitted time of a layer in
    s; ``mean`` and ``bias`` are those of the TPOT errors of the rows left out.
    """

    left_out: str
    n_fitted: int
    n_predicted: int
    n_servers: int
    layer_s: float
    mean: float
    bias: float
    ends: Interval | None = None


def folds(by: str) -> tuple[Fold, ...]:
    """A fold for each name of a label, the one with the most rows first.

    Raises:
        LookupError: nothing was left out by that label.
    """
    known = record()["folds"]
    key_of("by", by, known)
    label = np.array([getattr(row, by) for row in dense_rows()])
    error = row_errors("tpot", by)
    found = [
        Fold(
            name,
            int((label != name).sum()),
            int((label == name).sum()),
            len({row.server for row in dense_rows() if getattr(row, by) == name}),
            values["layer_s"],
            float(np.abs(error[label == name]).mean()),
            float(error[label == name].mean()),
            _ends(np.abs(error), label == name),
        )
        for name, values in known[by].items()
    ]
    return tuple(sorted(found, key=lambda fold: -fold.n_predicted))


def _ends(size: Floats, own: np.ndarray[Any, Any]) -> Interval | None:
    rows = [row for row, mine in zip(dense_rows(), own, strict=True) if mine]
    return ends_of(size[own], rows)


def constants_without(by: str, name: str) -> ServingConstants:
    """The constants fitted to all rows but those of ``name``.

    Raises:
        LookupError: that was not left out.
    """
    known = record()["folds"].get(by, {})
    if name not in known:
        raise UnknownKeyError(f"name must be one that {by!r} tells apart, got {name!r}")
    return ServingConstants(**known[name])


def span(constant: str) -> tuple[float, float]:
    """The least and the most of a constant, whatever is left out of the fit."""
    found = [
        values[constant]
        for names in record()["folds"].values()
        for values in names.values()
    ]
    return min(found), max(found)
