"""From Python's own complaint to the one argument that has what it complains of.

A division by zero and an argument 0; an object without an attribute and the argument
that it is; an index below the first and an argument below zero; whatever it is, if only
one argument was given. Where two arguments have it, or none, the complaint stands as it
is, and so it does where it comes from the reader's own code: a policy, a function.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sized
from linecache import getline
from numbers import Real
from pathlib import Path
from reprlib import Repr
from sysconfig import get_paths
from typing import Any

import numpy as np

from llmserve_lab.checks import UnknownKeyError

Values = Mapping[str, Any]
Judge = Callable[[Any], bool]
Suspect = tuple[Judge, type[Exception], str]  # what has it, and the rule that it broke
SHORT = Repr()
SHORT.maxstring = SHORT.maxother = 60
# Where code stands that is not the reader's: the package, libraries, what they make.
PACKAGE = str(Path(__file__).parents[1])
PLACES = (
    *{PACKAGE, sys.prefix, *get_paths().values()},
    *("<string>", "<frozen", "<lambdify", "<__array"),
)
# Those of another environment, and what was compiled from Cython.
LIBRARIES = re.compile(r"[/\\](site|dist)-packages[/\\]|\.p[yx][xd]$")
NOTHING_IN_IT = re.compile(
    r"empty|^zip|(size|got) 0\b|zero-size|at least one|out of (range|bounds)"
)
BELOW_ZERO = re.compile(r"negative|<=? 0|out of (range|bounds)|missing precision")
# Of a type that Python names in its complaint.
OF_TYPE = re.compile(
    r"' object (is not|does not)|unsupported operand|bad operand|not supported between|"
    r"argument of type|can only concatenate|unexpected|must be (str|real)"
)
QUOTED = re.compile(r"'([\w.]+)'")
# Of which most arguments are: of functions, and of what SymPy works out.
ORDINARY = {"int", "float", "Symbol", "Mul", "Add", "Pow"}
TOLD_BY = {
    "can't multiply sequence": {"str", "list", "tuple"},
    "could not convert string": {"str", "list", "tuple"},
    "truth value of an array": {"ndarray"},
    "Cannot cast array": {"ndarray"},
    "ympif": {"ndarray", "NoneType", "object", "dict", "list", "str"},
    "not comparable": {"ndarray", "NoneType", "object", "dict", "list", "bool"},
}
TOGETHER = r"broadcast|mismatch|did not match|number of dimensions|same length"
SHAPES = re.compile(
    rf"{TOGETHER}|too many indices|to unpack|scalar variable|tuple index out of range|"
    r"cannot reshape"
)
MISSING = re.compile(r"^\w+ needs ([\w, ]+?)(, which|$)")  # in a formula's words
INDEX = re.compile(r"index (\d+) is out of bounds for axis \d+ with size (\d+)")


def blamed(given: Values, error: Exception, file: str) -> Exception | None:
    """An error that names the argument which alone has what ``error`` complains of.

    ``file`` is that of the function which was called.
    """
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # of a rank
    is_plain = MISSING.search(str(error)) or not _is_raised(*_last(error))
    if is_of_reader(error, file) or not is_plain:
        return None
    why = f"{type(error).__name__}: {error}"
    for has, kind, rule in _suspects(error):
        names = [name for name, value in given.items() if has(value)]
        if len(names) == 1:
            got = SHORT.repr(given[names[0]])
            return kind(f"{names[0]} must {rule}, got {got} ({why})")
    rows = [name for name, value in given.items() if _is_row(value)]
    if re.search(TOGETHER, str(error)) and rows:
        shapes = ", ".join(_shape(given[name]) for name in rows)
        return ValueError(
            f"{' and '.join(rows)} must fit in shape, got {shapes} ({why})"
        )
    if len(given) == 1:
        (name, value), *_ = given.items()
        return ValueError(f"{name} must be valid, got {SHORT.repr(value)} ({why})")
    return None


def is_of_reader(error: Exception, file: str) -> bool:
    """Whether the reader's own code was running when it came about, on a rank too."""
    ranks = [*_places(error.__cause__)] if error.__cause__ else []
    known, places = (*PLACES, file), (place for place, _ in [*_places(error), *ranks])
    return not all(it.startswith(known) or LIBRARIES.search(it) for it in places)


def is_foreign(error: Exception) -> bool:
    """Whether it is in the words of Python or a library, which may hold a "must"."""
    last, line = _last(error)
    is_library = last.startswith(PLACES) or bool(LIBRARIES.search(last))
    said = getline(last, line).strip()
    if last.startswith(PACKAGE) or not is_library:
        return bool(said) and not said.startswith("raise ")
    return True


def _is_raised(file: str, line: int) -> bool:
    """Whether the package itself raises an error there, in its own words."""
    is_ours = file.startswith(PACKAGE)
    return is_ours and getline(file, line).lstrip().startswith("raise ")


def _last(error: Exception) -> tuple[str, int]:
    """Where it was raised; an error that another process sent does not say."""
    return [("", 0), *_places(error)][-1]


def _places(error: BaseException) -> Iterator[tuple[str, int]]:
    """File and line of the code that was running, from the call inwards."""
    at = error.__traceback__
    while at is not None:
        yield at.tb_frame.f_code.co_filename, at.tb_lineno
        at = at.tb_next


def _suspects(error: Exception) -> Iterator[Suspect]:
    text = str(error)
    if isinstance(error, AttributeError):
        yield from _of_attributes(error)
    if isinstance(error, KeyError) and error.args:
        yield from _of_keys(error.args[0])
    if kinds := _kinds(error):
        rule = "be of a kind to compute with"
        yield lambda value: type(value).__name__ in kinds, TypeError, rule
    if told := INDEX.search(text):
        index, size = map(int, told.groups())
        near = (index, index + 1)
        yield (
            lambda value: any(_is(value, at) for at in near),
            ValueError,
            (f"be within {size}"),
        )
    yield (
        lambda value: isinstance(value, str) and repr(value) in text,
        ValueError,
        ("be known here"),
    )
    if told := MISSING.search(text):
        yield from _of_keys(told[1].split(", ")[0])
    if SHAPES.search(text):
        rule, sizes = "fit the rest in shape", {*map(int, re.findall(r"\d+", text))}
        yield lambda value: _is_row(value) and _shape(value) in text, ValueError, rule
        yield (
            lambda value: _is_row(value) and {*np.shape(value)} <= sizes,
            ValueError,
            rule,
        )
        yield lambda value: _is_row(value) and np.ndim(value) == 1, ValueError, rule
    yield from _of_values(error)


def _of_attributes(error: AttributeError) -> Iterator[Suspect]:
    """The argument is what lacks an attribute, or the name that was sought in it."""
    if error.name is None:  # a library's own, such as an unknown unit
        return
    yield lambda value: value is error.obj, TypeError, f"have {error.name!r}"
    kind = type(error.obj).__name__
    yield lambda value: _is(value, error.name), ValueError, f"name a part of {kind}"


def _of_keys(key: Any) -> Iterator[Suspect]:
    """The one table among the arguments lacks a key, or has none at all."""
    rule = f"have the key {key!r}"
    yield (
        lambda value: isinstance(value, Mapping) and key not in value,
        UnknownKeyError,
        rule,
    )
    yield lambda value: isinstance(value, Mapping) and not value, UnknownKeyError, rule


def _kinds(error: Exception) -> set[str]:
    """Names of types that cannot be computed with."""
    text = str(error)
    told = set().union(*(kinds for words, kinds in TOLD_BY.items() if words in text))
    is_of_type = isinstance(error, TypeError) and OF_TYPE.search(text)
    return told | (set(QUOTED.findall(text)) - ORDINARY if is_of_type else set())


def _of_values(error: Exception) -> Iterator[Suspect]:
    """Something empty or below zero, a zero that is divided by, an unknown name."""
    text, divides = str(error), isinstance(error, ZeroDivisionError)
    more = "be more than nothing"
    if divides:
        yield lambda value: _is(value, 0) or _is_empty(value), ValueError, more
    if NOTHING_IN_IT.search(text):
        yield _is_empty, ValueError, "not be empty"
    if BELOW_ZERO.search(text):
        yield _is_below_zero, ValueError, "not be negative"
    if NOTHING_IN_IT.search(text):
        yield lambda value: _is(value, 0), ValueError, more
    if isinstance(error, StopIteration) or "not in tuple" in text:
        yield (
            lambda value: isinstance(value, str),
            ValueError,
            "be a name that is known",
        )


def _is(value: Any, sought: object) -> bool:
    """Whether it is this number or text."""
    is_plain = isinstance(value, Real | str) and not isinstance(value, bool)
    return is_plain and bool(value == sought)


def _is_row(value: Any) -> bool:
    """Whether it is an array or a list of numbers."""
    is_array = isinstance(value, np.ndarray) and value.ndim > 0
    return is_array or (
        isinstance(value, list) and all(isinstance(v, Real) for v in value)
    )


def _shape(value: Any) -> str:
    """As NumPy's complaints write it."""
    return str(np.shape(value)).replace(" ", "")


def _is_empty(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.size == 0
    return isinstance(value, Sized) and not isinstance(value, str) and not len(value)


def _is_below_zero(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_below_zero, value))
    return isinstance(value, Real) and bool(value < 0)
