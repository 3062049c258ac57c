r"""Letters that explain themselves: each symbol of a formula knows its quantity.

Stored mathematics is plain LaTeX. When the book is built, every symbol of the notation
in it is marked with ``\class{q-NAME}{…}``, and the page gets one small table of what
the marked letters mean, which ``assets/letters.js`` shows on hover and on focus.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from functools import cache

from llmserve_lab.formula.quantity import Coefficient
from llmserve_lab.formula.text import unit_text
from llmserve_lab.notation import table

# What holds words or names instead of letters: its argument is copied as it is.
WORDS = ("mathrm", "mathbf", "mathbb", "mathcal", "text", "operatorname")
NAMES = ("class", "cssId", "begin", "end")
ACCENTS = ("overline", "hat", "tilde", "bar")  # with one, it is another letter
# A line may end with the room below it: \\[4pt].
COMMAND = re.compile(r"\\(?:[A-Za-z]+\*?|\\(?:\[[^\]]*\])?|.)", re.DOTALL)
BARE = re.compile(r"\s*(?:\\[A-Za-z]+|[^\s{\\])")  # what an accent without braces is on
INLINE = re.compile(r"\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
PIECES = re.compile(r"(<script\b.*?</script>|<svg\b.*?</svg>|<[^>]*>)", re.DOTALL)


@cache
def symbols() -> Mapping[str, str]:
    """Code name by LaTeX symbol, longest symbol first."""
    pairs = [
        (each.symbol, each.name)
        for each in table().values()
        if not isinstance(each, Coefficient)
    ]
    return dict(sorted(pairs, key=lambda pair: -len(pair[0])))


def marked(latex: str, found: set[str]) -> str:
    r"""The same LaTeX with ``\class{q-NAME}{…}`` around each symbol of the notation.

    ``found`` takes the names of the quantities that were met.
    """
    parts, at = [], 0
    while at < len(latex):
        symbol = _symbol(latex, at)
        if symbol:
            name = symbols()[symbol]
            found.add(name)
            parts.append(rf"\class{{q-{name}}}{{{symbol}}}")
            at += len(symbol)
        else:
            end = _end(latex, at)
            parts.append(latex[at:end])
            at = end
    return "".join(parts)


def _symbol(latex: str, at: int) -> str:
    """The longest symbol of the notation that begins at ``at``, or nothing."""
    for symbol in _beginning(latex[at]):
        if latex.startswith(symbol, at) and _complete(latex, at + len(symbol), symbol):
            return symbol
    return ""


@cache
def _beginning(letter: str) -> tuple[str, ...]:
    return tuple(symbol for symbol in symbols() if symbol.startswith(letter))


def _complete(latex: str, end: int, symbol: str) -> bool:
    """Whether a symbol ends here: with one more index it is another letter."""
    after = latex[end : end + 1]
    command = re.search(r"\\[A-Za-z]+$", symbol)
    return after not in ("_", "'") and not (command and after.isalpha())


def _end(latex: str, at: int) -> int:
    """Where the piece at ``at`` ends that holds no symbol: a word or a sign."""
    if latex[at] == "_":  # the index of a letter that the notation does not have
        closed = _closed(latex, at + 1)
        return closed if closed > at + 1 else at + 2
    if latex[at] != "\\":
        return at + 1
    command = COMMAND.match(latex, at)
    end = command.end() if command else at + 1
    word = latex[at + 1 : end].rstrip("*")
    if word in ACCENTS and (bare := BARE.match(latex, end)):
        return bare.end()
    return _closed(latex, end) if word in (*WORDS, *NAMES, *ACCENTS) else end


def _closed(latex: str, at: int) -> int:
    """The end of the group in braces that begins at ``at``, or ``at``."""
    if latex[at : at + 1] != "{":
        return at
    depth = 0
    for index in range(at, len(latex)):
        depth += {"{": 1, "}": -1}.get(latex[index], 0)
        if depth == 0:
            return index + 1
    return len(latex)


def marked_html(text: str, found: set[str]) -> str:
    r"""Stored HTML in which the letters between ``\(`` and ``\)`` are marked."""

    def formula(match: re.Match[str]) -> str:
        inner = match[1] or match[2]
        shown = html.escape(marked(html.unescape(inner), found), quote=False)
        return match[0].replace(inner, shown)

    pieces = PIECES.split(text)
    pieces[::2] = [INLINE.sub(formula, piece) for piece in pieces[::2]]
    return "".join(pieces)


def meanings(names: Iterable[str]) -> dict[str, list[str]]:
    """Meaning and unit of each quantity, by name."""
    known = table()
    return {
        name: [known[name].meaning, unit_text(known[name].unit)]
        for name in sorted(names)
    }
