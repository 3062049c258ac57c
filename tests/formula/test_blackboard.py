"""What is written in another order is worth the same."""

import pytest
import sympy

from llmserve_lab.formula.blackboard import arranged, without
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.registry import formulas

A, B, C = sympy.symbols("a b c", positive=True)


@pytest.mark.parametrize("formula", formulas(), ids=lambda formula: formula.label)
def test_no_formula_changes_its_value(formula: Formula) -> None:
    expr = formula.teaching
    symbols = sorted(expr.free_symbols, key=str)
    at = {each: sympy.Rational(k + 3, k + 2) for k, each in enumerate(symbols)}
    before, after = (e.subs(at) for e in (expr, arranged(expr)))
    assert complex(after) == pytest.approx(complex(before), rel=1e-12)


@pytest.mark.parametrize(
    ("expr", "printed"),
    [
        (-(A - B) / C, "(-a + b)/c"),
        (1 / (2 - 2 * A), "1/(2*(1 - a))"),
        (A * B - A, "a*(b - 1)"),
        (A - B * (1 - C), "a - b*(1 - c)"),
    ],
)
def test_how_it_is_written(expr: sympy.Expr, printed: str) -> None:
    assert str(arranged(expr)) == printed


def test_one_of_something_is_left_out_only_beside_another_factor() -> None:
    assert without(A * B**2 / C, {A}) == B**2 / C
    assert without(A * B + C, {A, C}) == B + C
    assert without(2 * A, {A}) == 2 * A
    assert str(without(A * (B + C) * 2, {A})) == "2*(b + c)"
