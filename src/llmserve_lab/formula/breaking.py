"""Long mathematics on several lines: MathJax 3 breaks no line by itself.

A printed expression is cut at its outermost operators; where a single factor is still
too wide, inside its fraction or its brackets. Widths are estimated from the LaTeX, in
digits of the font; what an estimate misses scrolls on the page, with a cue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

DIGITS = 58  # that fit beside the margin of a page 1280 pixels wide, "X = " taken off
OPERATORS = (r" \cdot ", " + ", " - ", ", ")
SMALL = 0.72  # an index or a power, beside a letter
WORD = re.compile(r"\\[A-Za-z]+|\\.")
SIGNS = {r"\cdot": 1.0, r"\times": 2.0, r"\left": 0.4, r"\right": 0.4, r"\,": 0.35}
SPACED = "+-=<>"
FRACTION = re.compile(r"\\frac(?=\{)")
BRACKETS = re.compile(r"(.*?\\left[(\[])(.*)(\\right[)\]].*)", re.DOTALL)


def width(latex: str) -> float:
    """Estimated width of printed LaTeX, in digits."""
    total, at = 0.0, 0
    while at < len(latex):
        if FRACTION.match(latex, at):
            top, at = group(latex, at + 5)
            bottom, at = group(latex, at)
            total += max(width(top), width(bottom)) + 0.5
        elif latex[at] in "_^":
            inner, at = group(latex, at + 1)
            total += SMALL * width(inner)
        elif word := WORD.match(latex, at):
            at = word.end()
            total += SIGNS.get(word[0], 0.0 if latex[at : at + 1] == "{" else 1.2)
        else:
            letter, at = latex[at], at + 1
            total += 2.2 if letter in SPACED else letter not in " {}&"
    return total


def group(latex: str, at: int) -> tuple[str, int]:
    """What the braces at ``at`` hold, or the one sign there, and where it ends."""
    if latex[at : at + 1] != "{":
        word = WORD.match(latex, at)
        end = word.end() if word else at + 1
        return latex[at:end], end
    depth = 0
    for end in range(at, len(latex)):
        depth += {"{": 1, "}": -1}.get(latex[end], 0)
        if depth == 0:
            return latex[at + 1 : end], end + 1
    raise ValueError(f"braces must be closed in LaTeX, got {latex[at:]!r}")


def pieces(latex: str) -> list[str]:
    """Factors or terms outside all brackets, each with the operator before it."""
    found, start = [], 0
    for at in _outermost(latex):
        if at > start and latex.startswith(OPERATORS, at):
            found.append(latex[start:at])
            start = at
    return [*found, latex[start:]]


def _outermost(latex: str) -> Iterator[int]:
    """Places in the text that are in no brackets."""
    depth = 0
    for at, letter in enumerate(latex):
        if latex.startswith(r"\left", at) and not latex[at + 5 : at + 6].isalpha():
            depth += 1
        elif latex.startswith(r"\right", at) and not latex[at + 6 : at + 7].isalpha():
            depth -= 1
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth == 0:
            yield at


def lines(latex: str, limit: float = DIGITS) -> list[str]:
    """The expression on as many lines as it needs, an operator before each."""
    if width(latex) <= limit:
        return [latex]
    parts = pieces(latex)
    if len(parts) == 1:
        return [_inside(latex, limit)]
    found = [""]
    for part in parts:
        if found[-1] and width(found[-1] + part) > limit:
            found.append("")
        found[-1] += part if width(part) <= limit else _inside(part, limit)
    return [line.strip() for line in found]


def _inside(part: str, limit: float) -> str:
    """One factor that is too wide, cut within its fraction or its brackets."""
    if at := FRACTION.search(part):
        top, middle = group(part, at.end())
        bottom, end = group(part, middle)
        room = limit - width(part[: at.start()] + part[end:])
        halves = f"{{{_stacked(top, room)}}}{{{_stacked(bottom, room)}}}"
        return part[: at.start()] + r"\frac" + halves + part[end:]
    if brackets := BRACKETS.fullmatch(part):
        before, inner, after = brackets.groups()
        return before + _stacked(inner, limit - width(before + after)) + after
    return part


def _stacked(latex: str, limit: float) -> str:
    """An expression inside another one, its lines below each other."""
    found = lines(latex, max(limit, DIGITS / 3))
    if len(found) == 1:
        return found[0]
    return r"\begin{gathered}" + r" \\ ".join(found) + r"\end{gathered}"


def aligned(left: str, right: list[str]) -> str:
    r"""``left = …``, each expression on a line of its own, long ones on several."""
    rows = []
    for expression in right:
        first, *rest = lines(expression)
        rows += [f"&= {first}", *(rf"&\quad {{}} {line}" for line in rest)]
    body = " \\\\\n".join(rows)
    return f"\\begin{{aligned}}\n{left} {body}\n\\end{{aligned}}"


def broken(equation: str) -> str:
    """An equation ``left = right`` as it is displayed: on one line where it fits."""
    left, equals, right = equation.partition(" = ")
    if not equals or width(equation) <= DIGITS:
        return equation
    return aligned(left, [right])
