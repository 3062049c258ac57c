"""Requests in flight at a rate in other draws, by which a typed target is tested."""

from llmserve_lab.capacity.triangle import LOADS, pool, served

LASTS_S = 600.0  # of arrivals; over draws the mean differs by two in a hundred


def under_way_of(rate: float, seed: int) -> float:
    """Mean number on an H100, counted: time in the server of all, over the time."""
    report = served(
        LOADS[0], rate, pool("llama-3.1-8b", "h100-sxm"), seconds=LASTS_S, seed=seed
    )
    inside_s = float((report.finished_s - report.arrival_s).sum())
    return inside_s / float(report.arrival_s.max() - report.arrival_s.min())
