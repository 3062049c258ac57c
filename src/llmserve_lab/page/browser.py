"""What the page's scripts have to know of the package: units, prefixes, words.

``tools/browser_tables.py`` writes it into ``assets/tables.js``, so that no unit and no
prefix is typed in JavaScript.
"""

from __future__ import annotations

from typing import Any

from llmserve_lab.formula import text
from llmserve_lab.formula.units import DEFINITIONS, units
from llmserve_lab.page.html import compact
from llmserve_lab.page.question import judge
from llmserve_lab.page.question.answer import SHORT, SPOKEN

HEAD = "/* Written by tools/browser_tables.py from the package's own tables. */\n"


def tables(version: str) -> dict[str, Any]:
    """Version of the book, units a reader may write, how numbers and verdicts read."""
    return {
        "version": version,
        "prefixes": {"": 1.0, **prefixes()},
        "units": atoms(),
        "say": {
            "right": judge.RIGHT,
            "high": judge.HIGH,
            "low": judge.LOW,
            "other": judge.OTHER,
            "of_two": judge.OF_TWO,
            "empty": judge.EMPTY,
            "unchosen": judge.UNCHOSEN,
            "unreadable": judge.UNREADABLE,
            "prefix": judge.PREFIX,
            "quotient": judge.QUOTIENT,
            "thousands": judge.THOUSANDS,
        },
        "text": {
            "large": text.PREFIXES,
            "small": text.SMALL,
            "takes_prefix": text.TAKES_PREFIX,
            "no_prefix": sorted(text.NO_PREFIX),
            "counted": text.COUNTED.split(" "),
        },
    }


def prefixes() -> dict[str, float]:
    """Every prefix of the registry and its spellings, with its factor."""
    found: dict[str, float] = {}
    for line in DEFINITIONS.splitlines():
        name, *rest = [part.strip().rstrip("-") for part in line.split("=")]
        if line.split("=")[0].strip().endswith("-"):
            factor, *aliases = rest
            found |= dict.fromkeys([name, *aliases], float(factor))
    # Two signs look alike, mu and micro; and a capital K is written for a thousand.
    return found | {"μ": found["µ"], "K": found["k"]}


def atoms() -> dict[str, list[Any]]:
    """Every unit that may be written, by each of its names: its dimension and size."""
    names: dict[str, str] = {}
    for line in DEFINITIONS.splitlines():
        name, *rest = [part.strip() for part in line.split("=")]
        if name and not name.endswith("-"):
            names |= dict.fromkeys([name, *rest[1:]], name)
    known = {spelt: _atom(name) for spelt, name in (names | SHORT).items()}
    bare = {"dimensionless": 1.0, **{k: v for k, v in SPOKEN.items() if k != "1"}}
    return known | {spelt: ["", size] for spelt, size in bare.items()}


def _atom(name: str) -> list[Any]:
    base = units().Quantity(1.0, name).to_base_units()
    ((unit, _),) = base.unit_items()
    return ["s" if unit == "second" else str(unit), float(base.magnitude)]


def script(version: str) -> str:
    """The file ``assets/tables.js`` for a version of the book."""
    return f"{HEAD}window.llmserveTables = {compact(tables(version))};\n"
