"""Tolerance on times: two that differ by rounding alone are one moment.

Ten iterations of 10 ms end at 100 ms, however they are added up; a request that arrives
at 100 ms must be there when the eleventh is planned.
"""

from __future__ import annotations

ROUNDING = 1e-12  # of a time: what is closer than that was meant to be equal


def latest(now_s: float) -> float:
    """The last time that is the same moment as ``now_s``, in seconds."""
    return now_s * (1 + ROUNDING)


def earliest(now_s: float) -> float:
    """The first time that is the same moment as ``now_s``, in seconds."""
    return now_s * (1 - ROUNDING)
