"""A synthetic day: a rate that rises and falls, and the replicas that stand for it."""

from __future__ import annotations

from math import ceil, cos, pi

from llmserve_lab.checks import positive

HOURS, BUSIEST = 24, 16
LOWEST, HIGHEST = 5.0, 40.0  # requests per second, at four in the morning and at 16:00


def rate(hour: float) -> float:
    """Requests per second at an hour of the day, a cosine."""
    middle, swing = (HIGHEST + LOWEST) / 2, (HIGHEST - LOWEST) / 2
    return middle + swing * cos(2 * pi * (hour - BUSIEST) / HOURS)


def hourly_rates() -> list[float]:
    """The highest rate of each hour, [24]."""
    return [max(rate(hour), rate(hour + 0.5), rate(hour + 1)) for hour in range(HOURS)]


def replicas(rates: list[float], replica_rate: float) -> list[int]:
    """Replicas that each hour takes, [hours].

    Raises:
        ValueError: a replica carries nothing.
    """
    positive("replica_rate", replica_rate)
    return [ceil(each / replica_rate - 1e-9) for each in rates]


def used(rates: list[float], standing: list[int], replica_rate: float) -> float:
    """Share of the capacity that stands which the rates use."""
    return sum(rates) / (replica_rate * sum(standing))
