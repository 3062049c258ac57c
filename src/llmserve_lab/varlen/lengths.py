"""Real prompts in batches: how much of a padded batch is padding."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.catalog.evidence.packing import AZURE_PROMPTS
from llmserve_lab.checks import key_of, whole
from llmserve_lab.workloads import Empirical

SERVICES = tuple(AZURE_PROMPTS)
BATCHES = 2000  # drawn: the share is then good to half a percent
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


def prompts(service: str) -> Empirical:
    """Prompts of a service of the trace, drawn again with equal chances.

    Raises:
        ValueError: the trace has no such service.
    """
    key_of("service", service, SERVICES)
    return Empirical(AZURE_PROMPTS[service])


@cache
def padding_share(service: str, size: int, *, seed: int = 0) -> float:
    """Share of padding in batches of ``size`` random prompts, over many batches."""
    whole(size=size)
    drawn = prompts(service).draw(np.random.default_rng(seed), BATCHES * size)
    batches = drawn.reshape(BATCHES, size)
    return float(1 - batches.mean() / batches.max(axis=1).mean())
