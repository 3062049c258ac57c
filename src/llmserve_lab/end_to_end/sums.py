"""Add up what every pass of a loop does; SymPy turns the sum into a polynomial."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmserve_lab import notation as q
from llmserve_lab.checks import MOST_PLAYED, whole_number
from llmserve_lab.formula.derive import at, limit, symbolic
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.roofline.formulas import ATTN_FLOPS, LINEAR_FLOPS

if TYPE_CHECKING:
    import sympy


def over_passes(per_pass: Any, *, first: int = 0) -> sympy.Expr:
    """Sum of ``per_pass`` for passes ``first`` to u − 1, pass j after j new tokens."""
    whole_number("first", first, of="pass", first=0, most=MOST_PLAYED)
    import sympy

    one, number = q.own_row.sympy, sympy.Dummy("number", integer=True, nonnegative=True)
    # Stand-ins without units: SymPy sums over whole numbers, and a step is tokens.
    last = sympy.Dummy("last", integer=True, positive=True)
    summand = symbolic(per_pass).xreplace({q.step.sympy: number * one})
    total = sympy.summation(summand, (number, first, last - 1))
    return sympy.factor(total.xreplace({last: q.new_tokens.sympy / one}))


def growth(formula: Formula, variable: Quantity) -> sympy.Expr:
    """What ``formula`` comes to for large ``variable``, if it grows in proportion."""
    import sympy

    slope = limit(symbolic(formula) / variable.sympy, variable, "oo")
    return sympy.factor(slope * variable.sympy)


def answer_flops(rows: Quantity, pairs: Quantity) -> sympy.Expr:
    """FLOPs of so many rows and pairs; the LM head scores one row a pass.

    By ``linear_flops`` and ``attn_flops``: all rows go through the blocks, and one row
    for each new token goes through the LM head.
    """
    scored = q.new_tokens.sympy * q.one_request.sympy
    blocks = q.params_active.sympy - q.params_head.sympy
    linear = sum(
        at(LINEAR_FLOPS, keep=(q.n_rows,), n_rows=n, params_active=params)
        for n, params in ((rows, blocks), (scored, q.params_head))
    )
    return linear + at(ATTN_FLOPS, keep=(q.attn_pairs,), attn_pairs=pairs)
