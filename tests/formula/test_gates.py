"""The gates that every formula of the book passes, because it is found, not listed."""

from __future__ import annotations

import functools
import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import pytest
import quickjs
import sympy

from llmserve_lab.formula.dimensions import balances
from llmserve_lab.formula.equation import Equation
from llmserve_lab.formula.evaluate import evaluate
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.latex import Worked, _upright
from llmserve_lab.formula.quantity import Coefficient, Quantity
from llmserve_lab.formula.registry import formulas
from llmserve_lab.formula.text import PLURALS, si
from tests.counted import (
    COUNTED,
    KINDS,
    WHY,
    cases,
    counts,
    load,
    share_of_kinds,
)

every_formula = pytest.mark.parametrize("formula", formulas(), ids=lambda f: f.label)
load(Path(__file__).parent.parent)


def draw(quantity: Quantity, rng: random.Random) -> float:
    """A value within the quantity's range, spread over several orders of magnitude."""
    top = min(quantity.maximum, 1e6)
    value = top * 10 ** rng.uniform(-1 if top == 1 else -6, 0)
    return float(math.ceil(value)) if quantity.whole else value


@functools.cache
def samples(formula: Formula, count: int = 20) -> list[tuple[dict[str, Any], float]]:
    """Random arguments at which the formula holds, and what NumPy makes of them."""
    rng, found = random.Random(formula.label), []
    for _ in range(200 * count):
        values = {leaf.name: draw(leaf, rng) for leaf in formula.arguments}
        try:
            found.append((values, float(formula(**values))))
        except ValueError:
            continue  # outside the formula's limits, and refused: see the range tests
        if len(found) == count:
            return found
    pytest.fail(f"{formula.label} holds almost nowhere: {found} of {200 * count}")


@functools.cache
def worked_out(formula: Formula) -> Worked:
    """The first of the samples with its numbers put in."""
    values, _ = samples(formula)[0]
    return formula.worked(**values)


@functools.cache
def step(formula: Equation) -> Callable[..., Any]:
    """The teaching form alone, for mpmath to compute with."""
    terms = [term.sympy for term in formula.terms.values()]
    function: Callable[..., Any] = sympy.lambdify(terms, formula.teaching, "mpmath")
    return function


def exact(formula: Equation, values: dict[str, float]) -> Any:
    """Evaluate step by step as the text does, in 30 digits, without expanding."""
    inner = {used.name: used for used in formula.uses}
    numbers = []
    for name, term in formula.terms.items():
        if name in inner:
            numbers.append(exact(inner[name], values))
        elif isinstance(term, Coefficient):
            numbers.append(mpmath.mpf(term.value))
        else:
            numbers.append(mpmath.mpf(values[name]))
    return step(formula)(*numbers)


@functools.cache
def browser() -> quickjs.Context:
    """A JavaScript engine in which Vega's function names mean what they do in Vega."""
    context = quickjs.Context()
    for name in ("min", "max", "abs", "pow", "exp", "log", "floor", "ceil", "sqrt"):
        context.eval(f"var {name} = Math.{name};")
    return context


@every_formula
def test_both_sides_have_the_same_unit(formula: Formula) -> None:
    assert balances(formula)


@every_formula
def test_numpy_agrees_with_thirty_digits(formula: Formula) -> None:
    with mpmath.workdps(30):
        for values, result in samples(formula):
            assert result == pytest.approx(float(exact(formula, values)), rel=1e-12)


@every_formula
def test_the_browser_agrees_with_numpy(formula: Formula) -> None:
    expression = formula.browser()
    for values, result in samples(formula):
        for name, value in values.items():
            browser().set(name, value)
        assert browser().eval(expression) == pytest.approx(result, rel=1e-12)


@every_formula
def test_the_closed_form_agrees_with_a_count(formula: Formula) -> None:
    assert formula in COUNTED, f"{formula.label} is checked against no count"
    for case in cases(formula):
        assert case.agrees(formula), case


@every_formula
def test_every_term_is_in_the_equation_but_a_coefficient_of_one(
    formula: Formula,
) -> None:
    left, right = formula.latex.split(" = ", 1)
    assert left == formula.result.symbol
    for term in formula.terms.values():
        if getattr(term, "value", None) != 1:
            assert term.symbol in right
    assert "1 \\cdot" not in right and not re.match(r"1 [^-+]", right)
    assert "x0" not in right and "_per_" not in right  # stand-ins and code names


@every_formula
def test_worked_shows_number_and_unit_of_every_term(formula: Formula) -> None:
    values, result = samples(formula)[0]
    worked = worked_out(formula)
    inner = {used.name: used for used in formula.uses}
    for name, term in formula.terms.items():
        value = values.get(name)
        if name in inner:
            asked = {leaf.name: values[leaf.name] for leaf in inner[name].arguments}
            value = float(evaluate(inner[name], asked))
        elif isinstance(term, Coefficient):
            assert term.value == 1 or term.symbol in worked.latex
            continue
        assert value is not None
        above, _, below = term.unit.partition("/")
        if value == 1 and above in PLURALS:
            continue  # one of what is counted may be left out as a factor
        units = {term.unit, above if below in ("layer", "request") else term.unit}
        assert any(_upright(si(value, unit)) in worked.latex for unit in units)
    assert worked.value == result
    assert repr(worked) == f"{formula.name} = {si(result, formula.result.unit)}"


@every_formula
@pytest.mark.parametrize("each", ["layer", "request"])
def test_worked_says_per_layer_only_where_layers_are_counted(
    formula: Formula, each: str
) -> None:
    """Otherwise nothing would cancel it, and a sum would have two units."""
    middle = worked_out(formula).latex.split("&=")[2]
    if re.search(rf"/{each}\b", middle):
        above = "|".join((rf"[\d}}]\\,\\mathrm{{{each}s?[}}/\\]", rf"cdot{{}}{each}"))
        below = formula.result.unit.partition("/")[2]
        assert each in below or re.search(above, middle), middle


def test_a_count_for_every_formula_and_no_other(
    record_property: Callable[[str, object], None],
) -> None:
    assert set(COUNTED) == set(formulas())
    record_property("report", f"{len(COUNTED)} formulas counted: {share_of_kinds()}")


def test_a_count_says_why_nothing_executes_its_formula_if_it_is_unrolled() -> None:
    unrolled = {formula for formula, kind in KINDS.items() if kind == "unrolled"}
    assert unrolled == set(WHY)
    other = next(iter(set(KINDS) - unrolled))
    refused: list[Any] = [{"by": "unrolled"}, {"by": "executed", "why": "a slip"}]
    for options in refused:
        with pytest.raises(ValueError, match="why must say"):
            counts(other, **options)
    assert KINDS[other] != "unrolled" and other not in WHY


def test_labels_are_unique_and_can_stand_in_an_address() -> None:
    labels = [formula.label for formula in formulas()]
    assert len(set(labels)) == len(labels) > 0
    assert all(re.fullmatch(r"[a-z]\w*(-\w+)?", label) for label in labels)


def test_within_a_formula_a_name_has_one_value() -> None:
    """What a step below computes is what every other step means by that name."""
    for formula in formulas():
        results = {step.name: step for step in formula.steps()}
        assert len(results) == len(formula.steps())
        for step in formula.steps():
            used = {results[name] for name in step.terms if name in results}
            assert used <= set(step.uses), f"{formula.label}, {step.label}"
