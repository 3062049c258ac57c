"""What a rank may hand to a collective, checked before the other ranks are told."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from llmserve_lab.checks import is_whole, whole_number
from llmserve_lab.collectives.backend import Array


def numeric(call: str, x: ArrayLike | None) -> Array:
    """``x`` as an array of numbers or truth values; TypeError if it is none."""
    try:
        tensor = np.asarray(x)
    except ValueError:
        raise ValueError(f"{call}: x must be rectangular, got {x!r}") from None
    if tensor.dtype.kind not in "biufc":
        raise TypeError(f"{call}: x must be an array of numbers, got {_shown(x)}")
    return tensor


def summable(call: str, x: ArrayLike) -> Array:
    """``x`` as an array that can be added up; TypeError for truth values."""
    tensor = numeric(call, x)
    if tensor.dtype.kind == "b":
        raise TypeError(f"{call}: x must be an array of numbers, got dtype bool")
    return tensor


def form(tensor: Array) -> tuple[tuple[str, Any], ...]:
    """What must be the same on every rank: shape and dtype."""
    return (("shape", tensor.shape), ("dtype", tensor.dtype.name))


def along(call: str, axis: int, tensor: Array) -> int:
    """``axis`` counted from the front; ValueError if the tensor has no such axis."""
    axis = whole_number(f"{call}: axis", axis, first=None)
    if not -tensor.ndim <= axis < tensor.ndim:
        raise ValueError(
            f"{call}: axis must be one of a tensor of shape {tensor.shape}, got {axis}"
        )
    return axis % tensor.ndim


def cut_points(
    call: str, counts: Sequence[int], tensor: Array, num_ranks: int
) -> list[int]:
    """Rows at which each rank's part but the first begins.

    Raises:
        ValueError: there is not one count per rank, one is no whole number of rows, or
            they do not add up to the rows of the tensor.
    """
    rows = tensor.shape[0] if tensor.ndim else None
    rules = {
        f"be one per rank, {num_ranks}": len(counts) == num_ranks,
        "be whole and at least 0": all(is_whole(n) and n >= 0 for n in counts),
        f"add up to the rows of x, {rows}": rows is not None and sum(counts) == rows,
    }
    for rule, kept in rules.items():
        if not kept:
            raise ValueError(f"{call}: counts must {rule}, got {list(counts)}")
    return list(accumulate(counts))[:-1]


def _shown(x: object) -> str:
    return f"dtype {x.dtype}" if isinstance(x, np.ndarray) else repr(x)
