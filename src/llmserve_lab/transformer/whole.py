"""Tokens come in whole numbers: a length of 1.5 is refused before it is used."""

from __future__ import annotations

from collections.abc import Iterable

from llmserve_lab.checks import is_whole


def check_whole(argument: str, numbers: Iterable[object]) -> None:
    """Refuse, with a TypeError, numbers that are not of Python's or NumPy's integers.

    A truth value is none either.
    """
    for number in numbers:
        if not is_whole(number):
            raise TypeError(f"{argument} must be whole numbers, got {number!r}")
