"""An answer as a reader writes it: 14,000 or 1.4e10 or 1.4×10^10 or 3/4, and a unit.

The page reads answers alike, in ``question.js``; the tests compare the two.
"""

from __future__ import annotations

import re
from typing import Any

from llmserve_lab.formula.units import units

WHOLE = r"(?:\d{1,3}(?:[,_\s]\d{3})+|\d+)(?!\d)"
POSITIVE = rf"(?:{WHOLE}(?:\.\d*)?|\.\d+)"
PART = re.compile(
    rf"(?P<number>[-+−]?\s*{POSITIVE}(?:[eE][-+]?\d+)?)"
    r"(?:\s*\^\s*(?P<power>[-+−]?\d{1,3}))?"
    r"\s*(?P<unit>(?:1\s*/|/|[^\W\d_]|[%×$(]).*)?"
)
# A sign between two numbers; before a word it belongs to the unit.
BETWEEN = re.compile(r"\s*([/*×·x])\s*(?=[-+−]?\s*[\d.])")
COMMA = re.compile(r"(?<![\d.,])(\d+),(\d+)(?![\d.,])")
FACTOR = re.compile(r"(?P<name>[^\W\d_]+|[%×$1])(?:\^(?P<power>-?\d))?")
SPOKEN = {"%": 0.01, "percent": 0.01, "×": 1.0, "x": 1.0, "times": 1.0, "1": 1.0}
SHORT = {"tok": "token", "req": "request", "param": "parameter", "GPU": "device"}
SHORT |= {"step": "iteration", "flop": "FLOP", "sec": "second", "$": "dollar"}


def quantity(text: str, default: str) -> Any:
    """The number in ``text`` as a pint quantity, in ``default`` where no unit is.

    Numbers with their units may be multiplied and divided: ``989 TFLOP/s / 3.35 TB/s``.

    Raises:
        ValueError: the text is not a number with a unit.
        pint.UndefinedUnitError: the book does not know the unit.
    """
    written = with_points(text.strip().replace("**", "^"))
    first, *rest = BETWEEN.split(written)
    parts = [_part(part) for part in (first, *rest[1::2])]
    value, unit, bare = 1.0, _unit("dimensionless"), _unit(default or "dimensionless")
    with_unit = [i for i, (_, name) in enumerate(parts) if name]
    for i, (number, name) in enumerate(parts):
        below = i > 0 and rest[2 * i - 2] == "/"
        if below and not number:
            raise ValueError(f"text must not divide by zero, got {text!r}")
        value = value / number if below else value * number
        # In "28e9/2 B" the unit belongs to the whole.
        alone = with_unit == [len(parts) - 1]
        unit = unit * _unit(name or "dimensionless") ** (
            -1 if below and not alone else 1
        )
    return value * (unit if with_unit else bare)


def with_points(text: str) -> str:
    """Decimal commas as points: 0,125 and 1,4 but not 14,000, which is a thousand's."""
    return COMMA.sub(lambda m: f"{m[1]}.{m[2]}" if _decimal(m[1], m[2]) else m[0], text)


def _decimal(whole: str, rest: str) -> bool:
    """Whether a comma can only be a decimal one."""
    return len(rest) != 3 or len(whole) > 3 or whole.startswith("0")


def _part(text: str) -> tuple[float, str]:
    """One number and its unit, empty where there is none."""
    found = PART.fullmatch(text)
    if not found:
        raise ValueError(f"text must be a number, maybe with a unit, got {text!r}")
    power = int(_digits(found["power"] or "1"))
    return _number(found["number"]) ** power, found["unit"] or ""


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
