"""An answer as a reader writes it: 14,000 or 1.4e10 or 1.4×10^10 or 3/4, and a unit.

The page reads answers alike, in ``question.js``; the tests compare the two.
"""

from __future__ import annotations

import re
from typing import Any

from llmserve_lab.formula.units import units

WHOLE = r"(?:\d{1,3}(?:[,_\s]\d{3})+|\d+)(?!\d)"
POSITIVE = rf"(?:{WHOLE}(?:\.\d*)?|\.\d+)"
ANSWER = re.compile(
    rf"(?P<number>[-+−]?\s*{POSITIVE}(?:[eE][-+]?\d+)?)"
    r"(?:\s*[×x*]\s*10\s*\^?\s*(?P<power>[-+−]?\d{1,3}))?"
    rf"(?:\s*/\s*(?P<below>{POSITIVE}))?"
    r"\s*(?P<unit>(?:1\s*/|/|[^\W\d_]|[%×$(]).*)?"
)
FACTOR = re.compile(r"(?P<name>[^\W\d_]+|[%×$1])(?:\^(?P<power>-?\d))?")
SPOKEN = {"%": 0.01, "percent": 0.01, "×": 1.0, "x": 1.0, "times": 1.0, "1": 1.0}
SHORT = {"tok": "token", "req": "request", "param": "parameter", "GPU": "device"}
SHORT |= {"step": "iteration", "flop": "FLOP", "sec": "second", "$": "dollar"}


def quantity(text: str, default: str) -> Any:
    """The number in ``text`` as a pint quantity, in ``default`` where no unit is.

    Raises:
        ValueError: the text is not a number with a unit.
        pint.UndefinedUnitError: the book does not know the unit.
    """
    found = ANSWER.fullmatch(text.strip())
    if not found:
        raise ValueError(f"text must be a number, maybe with a unit, got {text!r}")
    value = _number(found["number"]) * 10.0 ** int(_digits(found["power"] or "0"))
    if found["below"]:
        below = _number(found["below"])
        value = value / below if below else float("nan")
    unit = found["unit"] or default or "dimensionless"
    return value * _unit(unit)


def _digits(text: str) -> str:
    return re.sub(r"[,_\s]", "", text).replace("−", "-")


def _number(text: str) -> float:
    return float(_digits(text))


def _unit(text: str) -> Any:
    """One of a unit such as ``GB/s`` or ``token/(request*s)``, factor by factor."""
    spelt = re.sub(r"\bper\b", "/", text).replace("**", "^").replace("²", "^2")
    product, sign = units().Quantity(1.0, "dimensionless"), 1
    for part in re.split(r"([/*·\s]+)", re.sub(r"[()]", "", spelt).strip()):
        if re.fullmatch(r"[/*·\s]*", part):
            sign = -1 if "/" in part else sign
        else:
            product = product * _factor(part) ** sign
    return product


def _factor(text: str) -> Any:
    found = FACTOR.fullmatch(text)
    if not found:
        raise ValueError(f"unit must be words, / and *, got {text!r}")
    name = found["name"]
    known = name.removesuffix("s") if name.removesuffix("s") in SHORT else name
    one = units().Quantity(
        SPOKEN.get(name, 1.0),
        "dimensionless" if name in SPOKEN else SHORT.get(known, known),
    )
    return one ** int(found["power"] or 1)
