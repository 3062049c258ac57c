"""Every step between what is assumed and what is found, worked out by SymPy.

A step is a sentence and an equation. The left side says what is asked; the right side
is what SymPy answers when this module runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.afd import formulas as f
from llmserve_lab.formula.derive import at, solve
from llmserve_lab.formula.html import display


@dataclass(frozen=True)
class DerivationStep:
    """What was done, what was asked (LaTeX), and SymPy's answer."""

    does: str
    asked: str
    answer: Any

    @property
    def latex(self) -> str:
        """The answer in the book's letters."""
        from llmserve_lab.formula.latex import print_latex

        names = [symbol.name for symbol in self.answer.free_symbols]
        right = print_latex(self.answer, {n: q.quantity(n).symbol for n in names})
        return rf"&\text{{{self.does}}} \\ &\qquad {self.asked} = {right}"


@dataclass(frozen=True)
class Derivation:
    """Steps, one below the other."""

    steps: tuple[DerivationStep, ...]

    def _repr_html_(self) -> str:
        lines = " \\\\[4pt]\n".join(step.latex for step in self.steps)
        return display(f"\\begin{{aligned}}\n{lines}\n\\end{{aligned}}")

    def __repr__(self) -> str:
        lines = enumerate(self.steps, start=1)
        return "\n".join(f"{n}. {step.does}: {step.answer}" for n, step in lines)


def load() -> Derivation:
    """From the recursion ``next_decode_load`` to the mean ``horizon_load``."""
    import sympy

    i, steps, stop = (each.sympy for each in (q.step_index, q.n_steps, q.p_stop))
    held, after = q.decode_load.sympy, f.NEXT_DECODE_LOAD.teaching
    settled = solve(after, q.decode_load, q.decode_load)
    slots = sympy.simplify(settled / f.MEAN_DECODE.teaching)
    shrinks = sympy.simplify((after - settled) / (held - settled))
    ratio = sympy.Symbol("ratio", positive=True)
    each = sympy.Sum(ratio**i, (i, 0, steps - 1)).doit().args[-1][0]
    left, now = q.decode_load.symbol, r"\overline{D}"
    return Derivation(
        (
            DerivationStep(
                "Fixed point of the recursion", now, slots * q.mean_decode.sympy
            ),
            DerivationStep(
                "Each step shrinks the distance to it by the factor",
                rf"({q.next_decode_load.symbol} - {now}) / ({left} - {now})",
                shrinks,
            ),
            DerivationStep("So from empty slots", left, f.DECODE_LOAD.teaching),
            DerivationStep(
                "Sum of the distances over a run, over the first",
                rf"\textstyle\sum_{{i<{q.n_steps.symbol}}} (1 - {q.p_stop.symbol})^i",
                sympy.simplify(each.subs(ratio, 1 - stop)),
            ),
        )
    )


def ratio() -> Derivation:
    """What one more Attention instance brings, either side of ``ratio_peak``."""
    import sympy

    rate, r = f.INSTANCE_TOKENS_PER_S, q.af_ratio.sympy
    slopes = [
        sympy.factor(sympy.diff(at(rate.teaching, cycle_s=longest), r))
        for longest in (q.attn_s, f.FFN_S)
    ]
    asked = rf"\partial {rate.result.symbol} / \partial {q.af_ratio.symbol}"
    return Derivation(
        (
            DerivationStep(
                "Attention longest (for the wire put its time): more pays",
                asked,
                slopes[0],
            ),
            DerivationStep("FFN longest: it pays up to a point", asked, slopes[1]),
            DerivationStep(
                "That point",
                f.RATIO_PEAK.result.symbol,
                f.RATIO_PEAK.teaching,
            ),
        )
    )
