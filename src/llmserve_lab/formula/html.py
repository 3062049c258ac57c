"""A formula on the page: the equation, its name, and what each of its letters means.

The name stands where a number will be: the built page prints that in its place and
links it, JupyterLab shows the name as a link.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from html import escape

from llmserve_lab.formula.breaking import broken
from llmserve_lab.formula.equation import Equation
from llmserve_lab.formula.names import rank
from llmserve_lab.formula.quantity import Coefficient, Quantity
from llmserve_lab.formula.text import unit_text

MATH = "math notranslate nohighlight"  # the classes that MathJax looks for


def display(latex: str) -> str:
    """Displayed mathematics in a frame that scrolls where it is wider than the page."""
    return f'<div class="formula-math {MATH}">\\[{escape(latex, quote=False)}\\]</div>'


def inline(latex: str) -> str:
    """Mathematics in a line of text."""
    return f'<span class="{MATH}">\\({escape(latex, quote=False)}\\)</span>'


def formula_html(formula: Equation, latex: str, told: Collection[Quantity] = ()) -> str:
    """The equation, as ``latex`` prints it, with its name and its legend.

    The legend leaves out the letters that are ``told``, but never the result.
    """
    target = f"eq-{formula.label}"
    name = f'<a class="eq-number" href="#{target}">{formula.label}</a>'
    body = f'<div class="formula-row">{display(broken(latex))}{name}</div>'
    first, *others = legend_of(formula)
    entries = [first, *(each for each in others if each not in told)]
    legend = f'<p class="legend">{"; ".join(map(meaning, entries))}</p>'
    return f'<div class="formula" id="{target}">\n{body}\n{legend}\n</div>'


@dataclass(frozen=True, repr=False)
class After:
    """The display of a formula on a page that has already told some of its letters."""

    formula: Equation
    latex: str
    told: tuple[Quantity, ...]

    def _repr_html_(self) -> str:
        return formula_html(self.formula, self.latex, self.told)

    def __repr__(self) -> str:
        return repr(self.formula)


def legend_of(formula: Equation) -> Iterator[Quantity]:
    """What the legend explains: the result, then the letters, then the plain numbers.

    A coefficient of one is not printed and so needs no word.
    """
    yield formula.result
    terms = sorted(formula.terms.values(), key=lambda term: rank(term.name))
    yield from (term for term in terms if not isinstance(term, Coefficient))
    yield from (
        term for term in terms if isinstance(term, Coefficient) and term.value != 1
    )


def meaning(term: Quantity) -> str:
    """One entry of a legend: the letter, what it means, and its unit in brackets."""
    unit = unit_text(term.unit)
    # "parameter/(element²·head)" says less than the meaning does: left out.
    quiet = isinstance(term, Coefficient) or unit.startswith("parameter/(")
    shown = f" ({escape(unit)})" if unit and not quiet else ""
    return f"{inline(term.symbol)} {escape(term.meaning)}{shown}"
