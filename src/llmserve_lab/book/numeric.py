"""From an expression to NumPy: check every argument, compute once, check the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from llmserve_lab.book.formula import Array, Formula

BLOCK = 65_536  # elements; half a megabyte, which a core's cache holds


def evaluate(formula: Formula, values: Mapping[str, Any]) -> Any:
    """Evaluate ``formula`` at ``values``; see :meth:`Formula.__call__`."""
    wanted, function = _compiled(formula, _names(formula) & frozenset(values))
    _require_same_names(formula, wanted, values)
    checked = [wanted[name].checked(values[name]) for name in wanted]
    shape = _common_shape(formula, dict(zip(wanted, checked, strict=True)))
    with np.errstate(all="ignore"):
        result = _elementwise(function, checked, shape)
    return _within_limits(formula, result)


@cache
def _names(formula: Formula) -> frozenset[str]:
    """Every name met on the way down, intermediate results included."""
    return frozenset(formula._known(frozenset()))


@cache
def _compiled(
    formula: Formula, keep: frozenset[str]
) -> tuple[dict[str, Any], Callable[..., Any]]:
    """The leaves by name, and the NumPy function of them, in that order."""
    import sympy

    leaves = {leaf.name: leaf for leaf in formula.leaves(keep=keep)}
    symbols = [leaf.sympy for leaf in leaves.values()]
    function = sympy.lambdify(
        symbols, formula._numeric(keep), modules="numpy", cse=True
    )
    return leaves, function


def _require_same_names(
    formula: Formula, wanted: Mapping[str, Any], values: Mapping[str, Any]
) -> None:
    missing = [name for name in wanted if name not in values]
    unknown = [name for name in values if name not in wanted]
    if missing:
        raise TypeError(
            f"{formula.name} needs {', '.join(missing)}, which "
            f"{'was' if len(missing) == 1 else 'were'} not given"
        )
    if unknown:
        raise TypeError(
            f"{formula.name} does not take {', '.join(unknown)}; "
            f"it takes {', '.join(wanted)}"
        )


def _common_shape(formula: Formula, arrays: Mapping[str, Any]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {a.shape}" for name, a in arrays.items() if a.ndim)
        raise ValueError(
            f"arguments of {formula.name} must broadcast to one shape, got {shapes}"
        ) from None


def _elementwise(
    function: Callable[..., Any], arguments: list[Array], shape: tuple[int, ...]
) -> Array:
    """Compute block by block: what lies between two steps stays in the cache."""
    result = np.empty(shape)
    alike = all(a.ndim == 0 or a.shape == shape for a in arguments)
    if result.size <= BLOCK or not alike:
        result[...] = function(*(a[()] for a in arguments))
        return result
    flat, row = [a.reshape(-1) for a in arguments], result.reshape(-1)
    for start in range(0, row.size, BLOCK):
        part = slice(start, start + BLOCK)
        row[part] = function(*(a[part] if a.size > 1 else a[0] for a in flat))
    return result


def _within_limits(formula: Formula, result: Array) -> Any:
    """Refuse what the formula does not mean: infinite, NaN, or out of its range."""
    try:
        formula.result.checked(result)
    except ValueError as error:
        raise ValueError(
            f"{error}; ({formula.number}) holds for: {formula.holds}"
        ) from None
    return result[()] if result.ndim == 0 else result
