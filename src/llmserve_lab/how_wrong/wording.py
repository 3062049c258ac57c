"""Errors as the page prints them; a number and its sign stay on one line."""

from __future__ import annotations


def per_cent(share: float, digits: int = 1) -> str:
    """A share as per cent, a sign only where it is negative."""
    return f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%".replace("-", "−")
