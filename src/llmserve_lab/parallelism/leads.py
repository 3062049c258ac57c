"""By how much one layout must be better than another before it leads.

Inside a server a prediction is off by a tenth in the mean, and a comparison has two of
them. Between servers nothing was fitted, and of two published prompts one took 60%
longer than predicted, the other a third: where one of two layouts crosses servers the
larger of these errors counts, whichever of the two is the better one.
"""

from __future__ import annotations

from llmserve_lab.catalog.evidence.long_context import LONG_PREFILLS
from llmserve_lab.parallelism import published
from llmserve_lab.parallelism.deployments import GpuLayout

MISS = 0.10  # mean error of the predictor: this model by vLLM on H100s, rounded
TIE = 2 * MISS


def crosses(layout: GpuLayout) -> bool:
    """Whether rows go from one server to another."""
    far = layout.between is not None and layout.between.scope != "scale-up"
    return far and (layout.servers > 1 or layout.stages > 1)


def longest() -> float:
    """Measured over predicted time of a published prompt, where it is the larger."""
    return max(
        float(run.seconds) / published.predict(run).seconds for run in LONG_PREFILLS
    )


def margin(*, crossing: bool) -> float:
    """How many times as long another layout takes at least, if one leads it."""
    return longest() if crossing else 1 + TIE
