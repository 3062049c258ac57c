"""Arithmetic that a page writes out, computed again in the digits that it prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

LINK = re.compile(r"\[([^\[\]]*)\]\(#num-(\w+)\)")
PREFIXES = {"n": 1e-9, "µ": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
            "P": 1e15, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}  # fmt: skip
SCALED = re.compile(r"^([nµmkMGTP]|[KMG]i)(?:s|B|FLOPs?|W)(?:/s)?$")
COUNTED = {"million": 1e6, "billion": 1e9, "%": 0.01}
NUMBER = r"\d[\d,]*(?:\.\d+)?(?:\s?%|[ \N{NO-BREAK SPACE}][A-Za-zµ]+(?:/[a-z]+)?)?"
TOKEN = re.compile(rf"(?<![\w.,])({NUMBER})|([()]|[+−×·/=](?=\s)|÷)")
# A stretch of a text in which nothing but numbers, brackets and signs stand.
STRETCH = re.compile(rf"(?:(?<![\w.,−+]){NUMBER}|[()]|(?<=\s)[+−×·/=÷](?=\s)|\s)+")
# Before a sum that began earlier: "exp(", "1/(", "√(", "numbers of" 2 bytes.
GOES_ON = re.compile(r"(?:[\w√/]|\bnumbers of\s)$")
THOUSANDS = [1000.0**power for power in range(-4, 5)]
PRINTED = re.compile(r"([\d.,]+)\s?(.*)")
LAST = 0.500001  # of the last digit that is printed
Ends = tuple[float, float]


def ends(text: str, *, bare: bool = False) -> Ends:
    """Between what a printed number lies; without its unit where ``bare``."""
    found = PRINTED.fullmatch(text)
    if found is None:
        raise ValueError(f"text must begin with a number, got {text!r}")
    plain, unit = found[1].replace(",", "").rstrip("."), found[2]
    half = LAST * 10.0 ** -len(plain.partition(".")[2])
    scaled = SCALED.match(unit)
    of = PREFIXES[scaled[1]] if scaled else COUNTED.get(unit, 1.0)
    of = 1.0 if bare else of
    return of * (float(plain) - half), of * (float(plain) + half)


def exact(text: str) -> bool:
    """Whether a number is a small count, which is not rounded."""
    return text.isdigit() and len(text) < 3


@dataclass
class Sum:
    """One side of a written equation, read from the left."""

    tokens: list[str]
    bare: bool = False
    at: int = field(default=0, init=False)

    def value(self) -> Ends:
        """Between what it lies."""
        found = self._terms()
        if self.at != len(self.tokens):
            raise ValueError("left over")
        return found

    def _terms(self) -> Ends:
        low, high = self._factors()
        while self._next() in ("+", "−"):
            sign, (first, last) = self._take(), self._factors()
            first, last = (first, last) if sign == "+" else (-last, -first)
            low, high = low + first, high + last
        return low, high

    def _factors(self) -> Ends:
        found = self._number()
        while self._next() in ("×", "·", "/", "÷"):
            sign, other = self._take(), self._number()
            if sign in "/÷":
                other = 1 / other[1], 1 / other[0]
            products = [one * two for one in found for two in other]
            found = min(products), max(products)
        return found

    def _number(self) -> Ends:
        token = self._take()
        if token == "(":
            found = self._terms()
            if self._take() != ")":
                raise ValueError("bracket")
            return found
        if not token[0].isdigit():
            raise ValueError(token)
        return (float(token),) * 2 if exact(token) else ends(token, bare=self.bare)

    def _next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1] if self.at <= len(self.tokens) else ""


def meet(one: Ends, other: Ends) -> bool:
    """Whether two numbers can be the same."""
    return one[0] <= other[1] and other[0] <= one[1]


def equations(text: str) -> Iterator[tuple[str, bool]]:
    """Every written equation of two sides that can be computed, and whether it holds.

    Numbers may stand without their unit on one side of it: then the sides are the same
    but for a power of a thousand.
    """
    flat = LINK.sub(r"\1", text)
    for stretch in STRETCH.finditer(flat):
        start = stretch.start() + (len(stretch[0]) - len(stretch[0].lstrip()))
        if GOES_ON.search(flat[:start]):
            continue
        sides = [
            [number or sign for number, sign in TOKEN.findall(side)]
            for side in re.split(r"(?<=\s)=(?=\s)", stretch[0])
        ]
        for left, right in pairwise(sides):
            if max(len(left), len(right)) >= 3:  # two numbers and a sign
                held = _held(left, right)
                if held is not None:
                    yield f"{' '.join(left)} = {' '.join(right)}", held


def _held(left: list[str], right: list[str]) -> bool | None:
    """Whether two sides can be the same; None where one is no sum."""
    try:
        one, other = Sum(left).value(), Sum(right).value()
        if meet(one, other):
            return True
        bare = [Sum(side, bare=True).value() for side in (left, right)]
    except (ValueError, ZeroDivisionError, IndexError):
        return None
    return any(meet(bare[0], (k * bare[1][0], k * bare[1][1])) for k in THOUSANDS)
