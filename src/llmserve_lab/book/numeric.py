"""From an expression to NumPy: check every argument, compute once, check the result.

What lies between is computed on the way, and checked too where signs do not prove that
it is in its range: a share below zero must not hide in a result that looks sound.
"""

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
    kept = _names(formula) & frozenset(values)
    wanted, function = _compiled(formula, kept)
    _require_same_names(formula, wanted, values)
    checked = [wanted[name].checked(values[name]) for name in wanted]
    shape = _common_shape(formula, dict(zip(wanted, checked, strict=True)))
    judged = _doubtful(formula, kept)

    def judge(*arguments: Any) -> Any:
        result, *between = function(*arguments)
        for inner, value in zip(judged, between, strict=True):
            _within_limits(inner, np.asarray(value))
        return result

    with np.errstate(all="ignore"):
        result = _elementwise(judge, checked, shape)
    return _within_limits(formula, result)


@cache
def _names(formula: Formula) -> frozenset[str]:
    """Every name met on the way down, intermediate results included."""
    return frozenset(formula._known(frozenset()))


@cache
def _compiled(
    formula: Formula, keep: frozenset[str]
) -> tuple[dict[str, Any], Callable[..., Any]]:
    """The leaves by name, and the NumPy function of them, in that order.

    It gives the result, and then what :func:`_doubtful` lists.
    """
    import sympy

    leaves = {leaf.name: leaf for leaf in formula.leaves(keep=keep)}
    symbols = [leaf.sympy for leaf in leaves.values()]
    chain = (formula, *_doubtful(formula, keep))
    wanted = [each._numeric(keep) for each in chain]
    return leaves, sympy.lambdify(symbols, wanted, modules="numpy", cse=True)


@cache
def _doubtful(formula: Formula, keep: frozenset[str]) -> tuple[Formula, ...]:
    """What is met on the way down and might leave its range, deepest first."""
    below = [used for used in formula.uses if used.name not in keep]
    deeper = [each for used in below for each in _doubtful(used, keep)]
    return tuple(dict.fromkeys((*deeper, *(f for f in below if not f.in_range))))


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
