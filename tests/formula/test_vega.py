"""For the browser: only what JavaScript and NumPy compute alike is let through."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab import notation as q
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.vega import printed
from llmserve_lab.roofline import formulas as f
from tests.depth import examples
from tests.formula.example import make
from tests.formula.javascript import evaluate


def of_batch(build: Any) -> Formula:
    """An ad-hoc formula: SymPy's ``build`` applied to the batch."""
    return make(q.batch_fits, lambda batch: build(batch))


def cases() -> dict[str, Any]:
    """Everything that the browser is offered, by name."""
    import sympy as sp

    return {
        "sum": lambda b: b + sp.Rational(1, 3),
        "difference": lambda b: 1000 - b,
        "fraction": lambda b: 3 * b / (7 * (b + 1) * (b + 2)),
        "one over": lambda b: 1 / b,
        "power": lambda b: b**3 + b ** sp.Rational(-3, 2),
        "root": sp.sqrt,
        "float": lambda b: b * sp.Float(0.1),
        "extremes": lambda b: sp.Max(b, 3, 7) + sp.Min(b, 5),
        "steps": lambda b: sp.floor(b / 3) + sp.ceiling(b / 7) + 1,
        "logarithm": lambda b: sp.log(b + 2),
        "exponential": lambda b: sp.exp(-b / 100),
        "distance": lambda b: sp.Abs(b - 4) + 1,
        "branches": lambda b: sp.Piecewise((b, b < 3), (2 * b, b <= 9), (99, True)),
        "others": lambda b: sp.Piecewise((5, b > 9), (b + 6, b >= 3), (7, True)),
    }


@pytest.mark.parametrize("name", cases())
@settings(max_examples=examples(25))
@given(batch=st.one_of(st.integers(1, 12), st.floats(0.01, 900)))
def test_the_browser_computes_what_numpy_does(name: str, batch: float) -> None:
    formula = of_batch(cases()[name])
    found = evaluate(formula.browser(), batch=batch)
    assert found == pytest.approx(float(formula(batch=batch)), rel=1e-12)


def refused() -> dict[str, Any]:
    """What SymPy can write and the browser cannot read."""
    import sympy as sp

    k = sp.Symbol("k", integer=True)
    return {
        "Sum": lambda b: sp.Sum(b**k, (k, 0, 3)),
        "Product": lambda b: sp.Product(b + k, (k, 0, 3)),
        "Integral": lambda b: sp.Integral(b * k, (k, 0, 3)),
        "gamma": sp.gamma,
        "sin": sp.sin,
        "Mod": lambda b: b % 3,
        "Pi": lambda b: b * sp.pi,
        "Xor": lambda b: sp.Piecewise((b, sp.Xor(b > 1, b < 3)), (2, True)),
    }


@pytest.mark.parametrize("name", refused())
def test_what_the_browser_does_not_offer_is_refused_by_name(name: str) -> None:
    message = f"batch_fits uses {name}, which the browser's expressions do not offer"
    with pytest.raises(TypeError, match=message):
        of_batch(refused()[name]).browser()


def test_conditions_may_be_joined() -> None:
    import sympy

    x = sympy.Symbol("x")
    text = printed((x > 1) & ((x < 3) | (x > 5)), {"x": "batch"}, "goal")
    for value in (0, 2, 4, 6):
        assert evaluate(text, batch=value) == (value in (2, 6))


def test_a_piecewise_needs_a_last_branch() -> None:
    import sympy

    with pytest.raises(TypeError, match="Piecewise without a final otherwise-branch"):
        of_batch(lambda b: sympy.Piecewise((b, b > 1))).browser()


def test_a_name_becomes_what_it_is_renamed_to() -> None:
    text = f.N_ROWS.browser({"batch": "datum.batch", "chunk": "(2)"})
    assert "datum.batch" in text and "chunk" not in text
    datum = {"batch": 21}
    assert evaluate(text, datum=datum) == 42


def test_renaming_an_intermediate_result_stops_above_it() -> None:
    text = f.INTENSITY.browser({"iteration_flops": "f", "iteration_bytes": "b"})
    assert evaluate(text, f=12, b=4) == 3


def test_a_name_that_the_formula_does_not_have_is_refused() -> None:
    message = "names must rename quantities of n_rows, got context, ridge"
    with pytest.raises(ValueError, match=message):
        f.N_ROWS.browser({"context": "x", "batch": "b", "ridge": "r"})
