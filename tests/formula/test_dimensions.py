"""Units that do not balance are refused before a number is put in."""

from typing import Any

import pytest

from llmserve_lab import notation as q
from llmserve_lab.formula.dimensions import balances, unit_of
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.units import units
from tests.formula.example import make


def formula(result: Any, expr: Any) -> Formula:
    return make(result, expr)


def sp() -> Any:
    import sympy

    return sympy


RIGHT = {
    "a product": (q.n_rows, lambda batch, chunk: batch * chunk),
    "a sum of likes": (q.n_rows, lambda n_rows, batch, chunk: n_rows + batch * chunk),
    "a coefficient with its unit": (
        q.linear_flops,
        lambda flops_per_param, params_active, n_rows: (
            flops_per_param * params_active * n_rows
        ),
    ),
    "a plain factor": (q.n_rows, lambda n_rows: n_rows / 2),
    "a root of a square": (q.n_rows, lambda n_rows: sp().sqrt(n_rows**2)),
    "a logarithm of a ratio": (
        q.eff_mem,
        lambda kv_s, weights_s: sp().log(kv_s / weights_s),
    ),
    "an exponential": (q.eff_mem, lambda eff_mem, eff_compute: eff_mem**eff_compute),
    "the larger": (q.iteration_s, lambda kv_s, weights_s: sp().Max(kv_s, weights_s)),
    "what is left, if any": (
        q.kv_s,
        lambda kv_s, weights_s: sp().Max(0, kv_s - weights_s),
    ),
    "rounded down": (q.n_rows, lambda n_rows: sp().floor(n_rows)),
    "branches": (
        q.kv_s,
        lambda kv_s, weights_s, batch, one_request: sp().Piecewise(
            (kv_s, batch < one_request), (weights_s, True)
        ),
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_balances_is_let_through(name: str) -> None:
    assert balances(formula(*RIGHT[name]))


UNBALANCED = {
    "a coefficient without its unit": (
        q.linear_flops,
        lambda params_active, n_rows: 2 * params_active * n_rows,
    ),
    "bytes for FLOPs": (q.linear_flops, lambda weight_bytes: weight_bytes),
    "per request forgotten": (q.n_rows, lambda chunk: chunk),
    "upside down": (q.ridge, lambda hbm_bw, peak_flops: hbm_bw / peak_flops),
    "squared": (q.n_rows, lambda n_rows: n_rows**2),
}


@pytest.mark.parametrize("name", UNBALANCED)
def test_what_does_not_balance_is_told(name: str) -> None:
    assert not balances(formula(*UNBALANCED[name]))


MIXED = {
    "mixes request with token": lambda batch, n_rows: batch + n_rows,
    "mixes token with dimensionless": lambda n_rows: n_rows + 1,
    "mixes byte / second with second": lambda hbm_bw, kv_s: sp().Max(hbm_bw, kv_s),
    "takes log of byte": lambda weight_bytes: sp().log(weight_bytes),
    "takes exp of byte": lambda weight_bytes: sp().exp(weight_bytes),
    "raises token to the power of dimensionless": lambda n_rows, eff_mem: (
        n_rows**eff_mem
    ),
    "raises dimensionless to the power of token": lambda n_rows, eff_mem: (
        eff_mem**n_rows
    ),
    "uses sin, whose unit is not known": lambda n_rows: sp().sin(n_rows),
    "mixes second with byte": lambda kv_s, weight_bytes, batch, one_request: (
        sp().Piecewise((kv_s, batch < one_request), (weight_bytes, True))
    ),
    "mixes request with second": lambda kv_s, batch: sp().Piecewise(
        (kv_s, batch < kv_s), (2 * kv_s, True)
    ),
}


@pytest.mark.parametrize("message", MIXED)
def test_what_cannot_have_a_unit_is_refused(message: str) -> None:
    first, _, second = message.partition(" with ")
    swapped = f"{first.split()[0]} {second} with {' '.join(first.split()[1:])}"
    with pytest.raises(ValueError, match=f"batch_fits ({message}|{swapped})"):
        balances(formula(q.batch_fits, MIXED[message]))


def test_the_unit_of_the_right_hand_side_can_be_asked_for() -> None:
    speed = formula(q.hbm_bw, lambda weight_bytes, kv_s: weight_bytes / kv_s)
    assert unit_of(speed) == units().Unit("byte/s")


def test_a_thousand_is_not_hidden_in_a_unit() -> None:
    """A result in kilobytes would need a factor that the formula does not show."""
    from dataclasses import replace

    in_kb = replace(q.weight_bytes, unit="kB")
    assert not balances(formula(in_kb, lambda kv_read_bytes: kv_read_bytes))
