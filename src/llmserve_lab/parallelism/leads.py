"""By how much one layout must be better than another before it leads.

Inside a server a prediction is off by a tenth in the mean. Between servers nothing was
fitted, and a published prompt took a third longer than predicted; so a layout that
crosses servers must still be the better one with its time so much longer.
"""

from __future__ import annotations

from collections.abc import Mapping

from llmserve_lab.catalog.evidence.long_context import LONG_PREFILLS
from llmserve_lab.parallelism import published
from llmserve_lab.parallelism.deployments import GpuLayout

TIE = 0.10  # mean error of the predictor: this model by vLLM on H100s, rounded


def crosses(layout: GpuLayout) -> bool:
    """Whether rows go from one server to another."""
    far = layout.between is not None and layout.between.scope != "scale-up"
    return far and (layout.servers > 1 or layout.stages > 1)


def longer() -> float:
    """Measured over predicted time of the longer of two published prompts."""
    run = LONG_PREFILLS[-1]
    return float(run.seconds) / published.predict(run).seconds


def margin(*, crossing: bool) -> float:
    """By what a layout's time is multiplied before it may lead."""
    return longer() if crossing else 1 + TIE


def leaders(times: Mapping[str, tuple[float, bool]]) -> tuple[str, ...]:
    """Names that no other leads; of each, a time and whether it crosses servers."""
    least = min(value * margin(crossing=far) for value, far in times.values())
    return tuple(name for name, (value, _) in times.items() if value <= least)
