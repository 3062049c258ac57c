"""By how much one layout must be better than another before it leads.

A time between servers is off by a seventh in the mean of the published prompts, one
inside a server by a tenth. A comparison has two such errors: the larger one, twice,
counts everywhere.
"""

from __future__ import annotations

from llmserve_lab.parallelism.deployments import GpuLayout

MISS = 0.15  # mean error of published prompts that crossed servers, rounded up
TIE = 2 * MISS


def crosses(layout: GpuLayout) -> bool:
    """Whether rows go from one server to another."""
    far = layout.between is not None and layout.between.scope != "scale-up"
    return far and (layout.servers > 1 or layout.stages > 1)
