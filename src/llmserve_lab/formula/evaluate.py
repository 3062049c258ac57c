"""From an expression to NumPy: check every argument, compute once, check the result.

Step by step, as the text does it, whichever branch is taken later. What lies between
is checked too: a share below zero must not hide in a sound result, nor must infinity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np

from llmserve_lab.formula.arrays import Array
from llmserve_lab.formula.equation import Equation
from llmserve_lab.formula.quantity import Coefficient, Quantity, shown
from llmserve_lab.formula.text import without_links

BLOCK = 65_536  # elements; half a megabyte, which a core's cache holds


def evaluate(formula: Equation, values: Mapping[str, Any]) -> Any:
    """Evaluate ``formula`` at ``values``; see :meth:`Formula.__call__`."""
    keep = frozenset(filter(formula.known().__contains__, values))
    wanted = _wanted(formula, keep)
    if wanted.keys() != values.keys():
        _require_same_names(formula, wanted, values)
    checked = [leaf.checked(values[name]) for name, leaf in wanted.items()]
    shape = _common_shape(formula, wanted, checked)
    steps, alarms = formula.steps(keep=keep), list[str]()

    def last(*arguments: Any) -> Any:
        given = dict(zip(wanted, arguments, strict=True))
        known = _coefficients(formula) | given
        for step in steps:
            _require_order(step, known, given)
            known[step.name] = _step(step, known)
            if alarms or not step.in_range:
                _require_limits(step, known[step.name], given)
        return known[formula.name]

    # Signs prove most ranges; NumPy raises an alarm where a float64 breaks them.
    with np.errstate(all="call", call=lambda kind, _: alarms.append(kind)):
        result = _elementwise(last, checked, shape)
    return result[()] if result.ndim == 0 else result


@cache
def _wanted(formula: Equation, keep: frozenset[str]) -> dict[str, Quantity]:
    """The leaves that are asked for by name, if all in ``keep`` is given."""
    return {leaf.name: leaf for leaf in formula.leaves(keep=keep)}


@cache
def _coefficients(formula: Equation) -> dict[str, float]:
    """Their numbers by name, of this formula and of all below it."""
    terms = formula.known().values()
    return {term.name: term.value for term in terms if isinstance(term, Coefficient)}


def _step(formula: Equation, known: Mapping[str, Any]) -> Any:
    return _compiled(formula)(*(known[name] for name in formula.terms))


@cache
def _compiled(formula: Equation) -> Callable[..., Any]:
    """The NumPy function of a formula's terms, in their order."""
    import sympy

    terms = [term.sympy for term in formula.terms.values()]
    function: Callable[..., Any]
    function = sympy.lambdify(terms, formula.teaching, modules="numpy", cse=True)
    return function


def _require_same_names(
    formula: Equation, wanted: Mapping[str, Any], values: Mapping[str, Any]
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


def _common_shape(
    formula: Equation, names: Iterable[str], arrays: list[Array]
) -> tuple[int, ...]:
    # Each shape once: NumPy makes an array for every shape that it is given.
    found: set[tuple[int, ...]] = {array.shape for array in arrays}
    if len(found) == 1:
        return found.pop()
    try:
        return np.broadcast_shapes(*found)
    except ValueError:
        named = zip(names, arrays, strict=True)
        shapes = ", ".join(f"{name} {a.shape}" for name, a in named if a.ndim)
        raise ValueError(
            f"arguments of {formula.name} must broadcast to one shape, got {shapes}"
        ) from None


def _elementwise(
    function: Callable[..., Any], arguments: list[Array], shape: tuple[int, ...]
) -> Array:
    """Compute block by block: what lies between two steps stays in the cache."""
    alike = all(a.ndim == 0 or a.shape == shape for a in arguments)
    # Many steps over one block stay in the cache of a core; over a whole array each
    # step would read and write memory again.
    if math.prod(shape) <= BLOCK or not alike:
        whole = np.asarray(function(*(a[()] for a in arguments)), dtype=np.float64)
        return whole if whole.shape == shape else np.broadcast_to(whole, shape).copy()
    result = np.empty(shape)
    flat, row = [a.reshape(-1) for a in arguments], result.reshape(-1)
    for start in range(0, row.size, BLOCK):
        part = slice(start, start + BLOCK)
        row[part] = function(*(a[part] if a.size > 1 else a[0] for a in flat))
    return result


def _require_order(
    formula: Equation, known: Mapping[str, Any], given: Mapping[str, Any]
) -> None:
    for less, more in formula.ordered:
        pair = np.broadcast_arrays(known[less], known[more])
        if np.any(wrong := pair[0] > pair[1]):
            found, most = (float(each[wrong][0]) for each in pair)
            own = {less, more} - given.keys()
            made = [used for used in formula.uses if used.name in own]
            raise ValueError(
                f"{less} must be at most {more}, got {found:g} with {more} = {most:g}"
                f"{_from(made, given, wrong)}"
            )


def _require_limits(formula: Equation, result: Any, given: Mapping[str, Any]) -> None:
    """Refuse what the formula does not mean: infinite, NaN, or out of its range."""
    try:
        formula.result.checked(result)
    except ValueError:
        wrong = formula.result.refuses(np.asarray(result))
        error = _error(formula.result, np.asarray(result)[wrong][0])
        raise ValueError(
            f"{error}{_from([formula], given, wrong)}; "
            f"{formula.label} holds for: {without_links(formula.holds)}"
        ) from None


def _error(quantity: Quantity, value: Any) -> ValueError:
    """What the quantity says of this value."""
    try:
        quantity.checked(value)
    except ValueError as error:
        return error
    raise AssertionError(f"{quantity.name} refuses {value} in an array only")


def _from(made: list[Equation], given: Mapping[str, Any], wrong: Any) -> str:
    """The caller's arguments of what was ``made``, where it is ``wrong`` first.

    A caller never gave the intermediate result that an error is about.
    """
    keep = frozenset(given)
    leaves = [leaf.name for each in made for leaf in each.leaves(keep=keep)]
    names = [name for name in dict.fromkeys(leaves) if name in given]
    first = (
        float(np.broadcast_to(given[name], wrong.shape)[wrong][0]) for name in names
    )
    pairs = zip(names, first, strict=True)
    listed = [f"{name}={shown(value)}" for name, value in pairs]
    return f", from {', '.join(listed)}" if listed else ""
