"""Whether a value is of the kind that its annotation names.

As the house means them: a truth value is no number, NumPy's numbers are, a text is no
sequence, an array is a sequence. What an annotation leaves open fits.
"""

from __future__ import annotations

import builtins
import collections.abc as abc
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from numbers import Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from llmserve_lab.checks import is_whole


def annotated(function: Callable[..., Any]) -> Iterator[tuple[str, str, Any]]:
    """Name, annotation as it is written, and the kind, of each argument."""
    for name, each in inspect.signature(function).parameters.items():
        text = each.annotation
        if isinstance(text, str) and each.kind not in (each.VAR_KEYWORD, 2):
            yield name, text, evaluated(text, function)


def evaluated(text: str, function: Callable[..., Any]) -> Any:
    """What an annotation means; Any, where that is not known at run time."""
    names = _Names(vars(builtins) | inspect.unwrap(function).__globals__)
    try:
        return eval(text, {}, names)
    except (TypeError, AttributeError, SyntaxError):
        return Any


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind; where that cannot be told, it is."""
    kind = getattr(kind, "__value__", kind)  # NumPy's own names, from Python 3.12 on
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if kind in (None, NoneType):
        return value is None
    if kind is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    if kind is int:
        return is_whole(value)
    if origin in (Union, UnionType):
        if any("_NestedSequence" in str(each) for each in inside):  # an ArrayLike
            return _is_numeric(value) or (value is None and NoneType in inside)
        return any(fits(value, each) for each in inside)
    if origin is Literal:
        return any(type(value) is type(each) and value == each for each in inside)
    if kind is Callable or origin is abc.Callable:
        return callable(value)
    if isinstance(origin, type):
        return _holds(value, origin, inside)
    return not isinstance(kind, type) or _is_of(value, kind)


def _is_of(value: Any, kind: type) -> bool:
    try:
        return isinstance(value, kind)
    except TypeError:  # a protocol: what it asks for is there
        asked = {*vars(kind), *getattr(kind, "__annotations__", ())}
        return all(hasattr(value, name) for name in asked if name[0] != "_")


def _holds(value: Any, kind: type[Any], inside: tuple[Any, ...]) -> bool:
    """Whether it is such a collection, and what is in it is of its kinds."""
    if kind.__module__ == "numpy":
        return isinstance(value, kind) and value.dtype.kind in "biuf"
    is_row = bool(getattr(value, "shape", ())) and not issubclass(kind, abc.Mapping)
    if isinstance(value, str) or not (isinstance(value, kind) or is_row):
        return False
    if isinstance(value, Mapping) and len(inside) == 2:
        of_key, of_value = inside
        return all(fits(k, of_key) and fits(v, of_value) for k, v in value.items())
    if kind is tuple and inside[-1:] != (...,):
        return len(value) == len(inside) and all(map(fits, value, inside))
    if not (is_row or isinstance(value, abc.Sequence | abc.Set)) or not inside:
        return True
    return all(fits(each, inside[0]) for each in value)


def _is_numeric(value: Any) -> bool:
    """Whether it can be an array of numbers."""
    import numpy as np

    try:
        return np.asarray(value).dtype.kind in "biuf" and not isinstance(value, bool)
    except ValueError:
        return False


class _Names(dict[str, Any]):
    """Names of a module; what only type checkers import there, another one defines."""

    def __missing__(self, name: str) -> Any:
        for module in list(sys.modules.values()):
            if module.__name__.startswith("llmserve_lab.") and name in vars(module):
                return vars(module)[name]
        return sys.modules.get(name, Any)
