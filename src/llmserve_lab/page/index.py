"""The notation and the formulas as tables, printed from the objects that compute."""

from __future__ import annotations

from llmserve_lab.formula.quantity import Coefficient
from llmserve_lab.formula.registry import formulas
from llmserve_lab.formula.text import unit_text
from llmserve_lab.notation import table as notation
from llmserve_lab.page.table import Table


def notation_table() -> Table:
    """Every letter of the book: symbol, name in code, meaning, unit, range."""
    rows = [
        (q.name, rf"\({q.symbol}\)", q.meaning, unit_text(q.unit) or "–", q.rule)
        for q in notation().values()
        if not isinstance(q, Coefficient)
    ]
    columns = ("in code", "letter", "meaning", "unit", "must be")
    return Table("One letter, one meaning", columns, rows)


def coefficient_table() -> Table:
    """The plain numbers in the formulas, each with the unit that it carries."""
    rows = [
        (q.name, rf"\({q.symbol}\)", q.meaning, unit_text(q.unit))
        for q in notation().values()
        if isinstance(q, Coefficient)
    ]
    return Table("Numbers with a unit", ("in code", "number", "meaning", "unit"), rows)


def formula_index() -> Table:
    """Every formula: name, number, equation, when it holds, where it is from."""
    rows = []
    for f in sorted(formulas(), key=lambda each: each.label):
        made = "SymPy" if f.derived else "hand"
        equation = rf"\({f.latex}\)"
        rows.append((f.label, f.link, f.title, equation, f.holds, f.source, made))
    columns = [
        "in code",
        "number",
        "says",
        "equation",
        "holds for",
        "source",
        "made by",
    ]
    return Table("Formulas by name", columns, rows)
