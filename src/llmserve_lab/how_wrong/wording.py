"""Errors as the page prints them; a number and its sign stay on one line."""

from __future__ import annotations

from collections.abc import Iterable


def per_cent(share: float, digits: int = 1) -> str:
    """A share as per cent, a sign only where it is negative."""
    return f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%".replace("-", "−")


def with_ends(mean: float, ends: tuple[float, float] | None, digits: int = 1) -> str:
    """A mean error and the bootstrap's interval, which few servers have not."""
    if ends is None:
        return per_cent(mean, digits)
    low, high = (f"{100 * each:.{digits}f}" for each in ends)
    return f"{per_cent(mean, digits)} ({low}–{high})"


def bare_ends(mean: float, ends: tuple[float, float] | None) -> str:
    """The same in a narrow column, whose caption says that it is in per cent."""
    if ends is None:
        return f"{100 * mean:.1f}"
    low, high = (f"{100 * each:.1f}" for each in ends)
    return f"{100 * mean:.1f} ({low}–{high})"


def joined(numbers: Iterable[str]) -> str:
    """A list as it is read aloud: the last after an “and”."""
    *first, last = numbers
    return f"{', '.join(first)} and {last}" if first else last
