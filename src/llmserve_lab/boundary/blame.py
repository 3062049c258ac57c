"""From a failed call to the argument to blame: its name, the rule, the value."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from numbers import Real
from reprlib import Repr
from typing import Any, Literal, get_args, get_origin

import numpy as np

from llmserve_lab.boundary.complaint import blamed, is_foreign, is_of_reader
from llmserve_lab.boundary.kinds import annotated, fits
from llmserve_lab.checks import UnknownKeyError, is_whole

Function = Callable[..., Any]
Values = Mapping[str, Any]
LARGEST = 1e100  # beyond it, and below its inverse, float64 does not go far
LONGEST = 2**63 - 1
DEEP = 4
CHECKED = (ValueError, TypeError)  # what a check raises
PLAIN = (Real, str, list, tuple, Mapping, np.ndarray)
SHORT = Repr()
SHORT.maxstring = SHORT.maxother = 60
# What a wrong argument ends in; a missing file or library is another matter.
JUDGED = (ArithmeticError, AttributeError, LookupError, RuntimeError, StopIteration,
          TypeError, ValueError)  # fmt: skip


def raised(
    function: Function, args: tuple[Any, ...], kwargs: Values, error: Exception
) -> None:
    """Raise an error that names the argument, if ``error`` does not and one is wrong.

    Raises:
        TypeError: an argument is not of its annotated kind.
        ValueError: it is none of the options, or a number that cannot be computed with.
        UnknownKeyError: a table has nothing under it.
        Exception: one of these, for an argument that alone has what ``error`` says.
    """
    given = _given(function, args, kwargs)
    if given is None or not isinstance(error, JUDGED):
        return
    file = inspect.unwrap(function).__code__.co_filename
    if _is_told(error):
        if isinstance(error, CHECKED) and not is_of_reader(error, file):
            _retell(function, given, error)
        return
    found = (
        _of_another_kind(function, given)
        or _beyond(given, f" ({error})")
        or _unknown_key(given, error)
        or _too_long(given, f" ({error})")
        or blamed(given, error, file)
    )
    if found is not None:
        raise found from error


def returned(
    function: Function, args: tuple[Any, ...], kwargs: Values, found: Any
) -> None:
    """Refuse an argument that is not finite, or too large, if the result is not finite.

    Raises:
        ValueError: it is; an argument whose default is infinite may be.
    """
    values = (*args, *kwargs.values())
    is_extreme = any(map(_is_extreme, values))
    if not is_extreme and not any(value is None for value in values):
        return
    if function.__name__ == "__init__":
        found = args[0]
    if not _is_finite(found, DEEP if is_extreme else 1):
        given = _given(function, args, kwargs) or {}
        refused = _of_another_kind(function, given)
        refused = refused or _beyond(_limited(function, given))
        if refused is not None:
            raise refused


def yielded(
    function: Function, args: tuple[Any, ...], kwargs: Values, found: Iterator[Any]
) -> Iterator[Any]:
    """What a generator yields, judged like a call."""
    try:
        for each in found:
            returned(function, args, kwargs, each)
            yield each
    except Exception as error:
        raised(function, args, kwargs, error)
        raise


def _given(
    function: Function, args: tuple[Any, ...], kwargs: Values
) -> dict[str, Any] | None:
    """The arguments by name; None where they do not fit the signature."""
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:
        return None
    return {name: value for name, value in given.items() if name != "self"}


def _limited(function: Function, given: Values) -> Values:
    """Without what may be infinite: by its annotation, or because its default is."""
    usual = inspect.signature(function).parameters
    return {
        name: value
        for name, value in given.items()
        if not _is_extreme(usual[name].default)
        and "Extended" not in str(usual[name].annotation)
    }


def _retell(function: Function, given: Values, error: Exception) -> None:
    """Tell what a check further down refused in the names of the caller.

    The error keeps its type. Where no argument is wrong by itself, it lists them, as a
    formula does: ``n_ranks must be positive, got 0, from n_gpus=0``.
    """
    text = str(error)
    is_own = text.startswith(f"{function.__name__} must be one of ")  # model("x")
    names = any(re.search(rf"\b{name}\b", text) for name in given)
    if not given or names or is_own or " must " not in text:
        return
    why = f" ({text})"
    wrong = _of_another_kind(function, given, why)
    wrong = wrong or _beyond(_limited(function, given), why)
    error.args = (str(wrong or f"{text}, from {_listed(given, text)}"),)


def _listed(given: Values, text: str) -> str:
    """The argument that was refused, if it is unmistakable; else all plain ones."""
    refused = {
        name: value
        for name, value in given.items()
        if not is_whole(value) and f"got {value!r}" in text
    }
    plain = {
        name: value
        for name, value in given.items()
        if value is None or isinstance(value, PLAIN)
    }
    chosen = refused or plain or given
    return ", ".join(f"{name}={SHORT.repr(value)}" for name, value in chosen.items())


def _is_told(error: Exception) -> bool:
    """Whether the message speaks of an argument and its rule."""
    text, cause = str(error), error.__cause__
    is_own = type(error).__module__.startswith("llmserve_lab.")
    if is_own and isinstance(cause, JUDGED):  # what went wrong on a rank
        return _is_told(cause)
    return is_own or (" must " in text and not is_foreign(error))


def _of_another_kind(
    function: Function, given: Values, why: str = ""
) -> Exception | None:
    for name, text, kind in annotated(function):
        if name not in given or fits(given[name], kind):
            continue
        value = SHORT.repr(given[name])
        if get_origin(kind) is Literal:
            options = ", ".join(map(str, get_args(kind)))
            return ValueError(f"{name} must be one of {options}, got {value}{why}")
        return TypeError(f"{name} must be of type {text}, got {value}{why}")
    return None


def _beyond(given: Values, why: str = "") -> Exception | None:
    """A number that is not finite, or beyond what is computed with."""
    for name, value in given.items():
        if not _is_extreme(value):
            continue
        shown = SHORT.repr(value)
        if any(not math.isfinite(_size(each)) for each in _numbers(value)):
            return ValueError(f"{name} must be finite, got {shown}{why}")
        return ValueError(f"{name} must be of a size to compute with, got {shown}{why}")
    return None


def _unknown_key(given: Values, error: Exception) -> Exception | None:
    """The one argument under which a table has nothing."""
    if not isinstance(error, KeyError) or not error.args:
        return None
    key = error.args[0]
    keys = key if isinstance(key, tuple) else (key,)
    if isinstance(key, str):  # "llama-3.1-8b, h100-sxm" is a key of two
        keys += tuple(key.split(", "))
    plain = {k: v for k, v in given.items() if isinstance(v, str | int | float)}
    sought = [name for name, value in plain.items() if value in keys]
    if len(sought) != 1:
        return None
    value = SHORT.repr(given[sought[0]])
    return UnknownKeyError(f"{sought[0]} must be a key of what is known, got {value}")


def _too_long(given: Values, why: str) -> Exception | None:
    """A whole number that no machine integer holds."""
    for name, value in given.items():
        numbers = [each for each in _numbers(value) if isinstance(each, int)]
        if any(abs(each) > LONGEST for each in numbers):
            shown = SHORT.repr(value)
            return ValueError(f"{name} must fit in 64 bits, got {shown}{why}")
    return None


def _numbers(value: Any) -> Iterable[Any]:
    """A number, or those of a sequence of numbers."""
    if isinstance(value, Real):
        return (value,)
    if isinstance(value, np.ndarray):
        return value.ravel() if value.dtype.kind in "f" else ()
    if isinstance(value, Mapping):
        value = [*value.values()]
    if isinstance(value, list | tuple) and all(isinstance(v, Real) for v in value):
        return value
    return ()


def _is_extreme(value: Any) -> bool:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return not bool(np.isfinite(value).all())
    sizes = [_size(number) for number in _numbers(value) if number]
    return not all(1 / LARGEST <= size <= LARGEST for size in sizes)


def _size(number: Any) -> float:
    try:
        return abs(float(number))
    except OverflowError:  # a whole number of more than 308 digits
        return LARGEST * LARGEST


def _is_finite(found: Any, depth: int = DEEP) -> bool:
    """Whether every number in a result is one."""
    if isinstance(found, float | np.floating):
        return math.isfinite(found)
    if isinstance(found, np.ndarray):
        return found.dtype.kind not in "fc" or bool(np.isfinite(found).all())
    inside: Iterable[Any] = ()
    if isinstance(found, Mapping):
        inside = found.values()
    elif isinstance(found, list | tuple):
        inside = found
    elif is_dataclass(found) and not isinstance(found, type):
        inside = [getattr(found, field.name, None) for field in fields(found)]
    return depth == 0 or all(_is_finite(each, depth - 1) for each in inside)
