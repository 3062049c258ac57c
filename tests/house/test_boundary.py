"""A call from outside that fails names the argument to blame; no other is judged."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import ModuleType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest

from llmserve_lab import boundary, catalog
from llmserve_lab.afd.theory.coefficients import layer
from llmserve_lab.boundary.kinds import fits
from llmserve_lab.capacity.autoscaling import Autoscaler
from llmserve_lab.catalog.arguments import machine
from llmserve_lab.checks import Extended, UnknownKeyError
from llmserve_lab.engine import Chunked, IterationCost, Pool, Request, simulate
from llmserve_lab.moe.hot_rank import popularity
from llmserve_lab.running_example import device

Way = Literal["up", "down"]
HEIGHTS = {"hill": 100.0, "dune": 10.0}


def climb(
    name: str,
    steps: int = 1,
    step_m: float = 1.0,
    way: Way = "up",
    limit_m: Extended = math.inf,
    loads: Sequence[float] = (1.0,),
    path: Any = None,
) -> float:
    """Height after so many steps, as if nothing were checked."""
    if way == "down" and steps == 1:
        raise ValueError("steps must be at least 2 on the way down, got 1")
    added = {"up": 1, "down": -1}[way] * steps * step_m / len(loads)
    if path is not None:
        added += path.slope
    return min(HEIGHTS[name] + added + max(loads) + 1 / steps, limit_m)


def heights(steps: int) -> Iterator[float]:
    """Height after each of so many steps."""
    for step in range(steps):
        yield 1.0 * step


# Of a notebook: a class whose own code goes wrong.
NOTEBOOK = """
class Faulty:
    @property
    def slope(self):
        return 1 / 0
"""
exec(compile(NOTEBOOK, "a notebook", "exec"))
Faulty: Any = locals()["Faulty"]
judged = boundary.judged(climb)  # type: ignore[arg-type]
Call = Callable[[], object]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: judged(3), TypeError, "name must be of type str, got 3"),
        (
            lambda: judged("alp"),
            UnknownKeyError,
            "^name must be a key of what is known, got 'alp'$",
        ),
        (
            lambda: judged("hill", way="down", steps=2, path={}),
            TypeError,
            r"path must have 'slope', got {} \(AttributeError: ",
        ),
        # Two are nothing: no fact, so Python's own error is the better answer.
        (lambda: judged("hill", 0, loads=[]), ZeroDivisionError, "division by zero"),
        (lambda: judged("hill", 2**64), None, ""),
        (lambda: judged("hill", "x"), TypeError, "steps must be of type int, got 'x'"),
        (lambda: judged("hill", True, 1), None, ""),
        (lambda: judged("hill", 0), ValueError, "steps must be more than nothing, got"),
        (
            lambda: judged("hill", 1, math.nan),
            ValueError,
            "step_m must be finite, got ",
        ),
        (lambda: judged("hill", 10**400), ValueError, r"steps must .*got 1000.* \(int"),
        (
            lambda: judged("hill", way="x"),
            ValueError,
            "way must be one of up, down, go",
        ),
        (lambda: judged("hill", loads=[]), ValueError, "loads must be more than noth"),
        (lambda: judged("hill", loads=["a"]), TypeError, r"loads must be of type Sequ"),
        (lambda: judged("hill", path=3), TypeError, "path must have 'slope', got 3 "),
        # The reader's own code went wrong: it is not the argument's fault.
        (lambda: judged("hill", path=Faulty()), ZeroDivisionError, "division by zero"),
        (lambda: judged("hill", limit_m=-math.inf), None, ""),
        (
            lambda: judged("hill", way="down"),
            ValueError,
            "^steps must be at least 2 on",
        ),
        (lambda: judged(), TypeError, "missing 1 required positional argument: 'name'"),
    ],
)
def test_the_argument_to_blame_is_named(
    call: Call, error: type[Exception] | None, message: str
) -> None:
    if error is None:
        call()
        return
    with pytest.raises(error, match=message):
        call()


def table(rows: Sequence[float], by: str, at: int, more: Mapping[str, float]) -> float:
    """A number of a table, as if nothing were checked."""
    added = {"one": 1.0}[by[:3]] + more["more"]
    if at > 9:
        added += float(np.arange(10.0)[at])
    if at < 0:
        added += float(np.ones(at)[0])
    if at == 5:
        added += float((np.asarray(rows) * np.ones(3)).sum())
    return added + max(rows) + next(row for row in rows if row > at or by == "one")


looked = boundary.judged(table)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: looked([], "one", 1, {"more": 1}), ValueError, "^rows must not be em"),
        (lambda: looked([1], "one", 1, {}), UnknownKeyError, "^more must have the key"),
        (lambda: looked([1], "one", -1, {"more": 1}), ValueError, "^at must not be ne"),
        (lambda: looked([1], "one", 10, {"more": 1}), ValueError, "^at must be within"),
        (lambda: looked([1], "one more", 1, {"more": 1}), ValueError, "^by must be a "),
        (lambda: looked([1], "one", 1, {"more": 1}), None, ""),
        (lambda: looked([1, 2], "one", 5, {"more": 1}), ValueError, "^rows must fit "),
    ],
)
def test_python_s_complaint_names_the_argument_that_has_it(
    call: Call, error: type[Exception] | None, message: str
) -> None:
    if error is None:
        call()
        return
    with pytest.raises(error, match=message) as caught:
        call()
    assert caught.value.__cause__ is not None


def test_the_only_argument_is_to_blame() -> None:
    def shown(value: Any) -> str:
        return f"{value:.2f}"

    only = boundary.judged(shown)  # type: ignore[arg-type]
    assert only(1) == "1.00"
    with pytest.raises(ValueError, match=r"^value must be valid, got 'x' \(ValueErr"):
        only("x")


def test_what_went_wrong_below_is_kept() -> None:
    with pytest.raises(TypeError, match="steps must be of type int") as caught:
        judged("hill", "x")
    assert isinstance(caught.value.__cause__, TypeError)


def test_what_the_book_itself_refuses_is_told_already() -> None:
    with pytest.raises(LookupError, match="undisclosed"):
        machine(catalog.ACCELERATORS["ascend-910c"])


def test_a_generator_is_judged_where_it_yields() -> None:
    walk = boundary.judged(heights)  # type: ignore[arg-type]
    assert list(walk(3)) == [0.0, 1.0, 2.0]
    with pytest.raises(TypeError, match="steps must be of type int, got 2"):
        next(walk(2.5))


def test_a_call_from_inside_is_not_judged() -> None:
    inside = {"__name__": "llmserve_lab.somewhere", "judged": judged}
    with pytest.raises(KeyError, match=r"^'alp'$"):
        exec("judged('alp')", inside)


def test_public_functions_and_records_of_a_module_are_wrapped() -> None:
    module = ModuleType("llmserve_lab.somewhere")
    for thing in (climb, heights):
        vars(module)[thing.__name__] = thing
    climb.__module__ = module.__name__
    try:
        boundary.wrap(module)
    finally:
        climb.__module__ = __name__
    assert inspect.unwrap(module.climb) is climb and module.climb is not climb
    assert module.heights is heights  # it is defined elsewhere


def test_chapters_are_judged_and_keep_their_signature_and_source() -> None:
    assert "hot_share: 'float'" in str(inspect.signature(popularity))
    assert inspect.getsource(popularity).startswith("def popularity(")
    with pytest.raises(TypeError, match="hot_share must be of type float, got 'x'"):
        popularity("x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="model must be of type ModelShape, got 'x'"):
        layer("x", device())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="accelerator must be of type Accelerator, got"):
        layer(catalog.model("deepseek-v3"), 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="target must be a number, got 'x'"):
        Autoscaler("queue", target="x")  # type: ignore[arg-type]


def test_of_the_engine_what_is_made_once_a_run_is_wrapped() -> None:
    assert not hasattr(Request.__init__, "__wrapped__")
    assert not hasattr(IterationCost.__init__, "__wrapped__")
    with pytest.raises(TypeError, match=r"requests must be of type Iterable.*, got 5"):
        pool = Pool(IterationCost(row_s=1.0), Chunked(1), kv_blocks=9)
        simulate(5, pool)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "kind", "verdict"),
    [
        (1, float, True), (np.float32(1), float, True), (True, float, False),
        (Fraction(1, 2), float, True), ("1", float, False), (1.0, int, False),
        (np.int64(1), int, True), (None, int | None, True), ("up", Way, True),
        ("left", Way, False), ([1, 2], Sequence[int], True),
        ("12", Sequence[str], False), ("x", npt.ArrayLike | None, False),
        ([1, 2.5], Sequence[int], False), (np.ones(2), Sequence[float], True),
        ({"a": 1}, Mapping[str, float], True), ({"a": "b"}, Mapping[str, float], False),
        (np.ones(2), Mapping[str, float], False), ((1, "a"), tuple[int, str], True),
        ((1, 2), tuple[int, str], False), ((1, 2, 3), tuple[int, ...], True),
        (len, Callable[[str], int], True), (3, Callable[[str], int], False),
        ([[1, 2]], npt.ArrayLike, True), ("x", npt.ArrayLike, False),
        (np.ones(1), npt.NDArray[np.float64], True),
        ([1.0], npt.NDArray[np.float64], False),
        (object(), Any, True), (3, UnknownKeyError, False),
    ],
)  # fmt: skip
def test_a_value_fits_its_kind(value: object, kind: Any, verdict: bool) -> None:
    assert fits(value, kind) is verdict
