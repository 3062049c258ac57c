"""One call of each formula that works: by its arguments, and by what lies between."""

from __future__ import annotations

from collections.abc import Iterator

from llmserve_lab.formula.evaluate import evaluate
from llmserve_lab.formula.registry import formulas
from tests.fuzz.recorded_calls import Public


def public_formulas() -> Iterator[Public]:
    """Every formula of the book; one with intermediate results a second time."""
    from tests.formula.test_gates import samples

    for formula in formulas():
        usual = samples(formula)[0][0]
        name = f"llmserve_lab.formulas.{formula.label}"
        yield Public(name, formula.__call__, None, usual, True)
        if formula.uses:
            given = dict(usual)
            for used in formula.uses:
                below = {leaf.name: usual[leaf.name] for leaf in used.arguments}
                given[used.name] = float(evaluate(used, below))
            asked = formula.leaves(keep=frozenset(each.name for each in formula.uses))
            given = {leaf.name: given[leaf.name] for leaf in asked}
            yield Public(f"{name}, in between", formula.__call__, None, given, True)
