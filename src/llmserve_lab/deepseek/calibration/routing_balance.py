"""Routing balance: how uneven was it? As uneven as makes two published runs differ so.

One deployment prefilled the same prompts with the routing as it came and with routing
made even. The twin looks for the balancedness at which its own two runs differ by the
same factor. Their level, which is what it has to predict, does not enter.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from llmserve_lab.catalog.evidence.deployments import (
    EVEN_PREFILL,
    PREFILL_RATES,
    PREFILL_ROWS,
)
from llmserve_lab.deepseek.model.assumptions import Assumptions
from llmserve_lab.deepseek.model.prefill import prefill_s
from llmserve_lab.deepseek.model.setup import setup_of
from llmserve_lab.deepseek.model.step_model import Twin

LEAST = 0.3


def fit_balancedness(assumed: Assumptions) -> float:
    """The balancedness of the busiest GPU, between 0.3 and 1.

    Raises:
        ValueError: no balancedness in that range makes the two runs differ so.
    """
    from llmserve_lab.extras import optimize

    record = PREFILL_RATES[-1]
    gain = float(EVEN_PREFILL.gpu_tokens_per_s) / float(record.gpu_tokens_per_s)
    twin = Twin(setup=setup_of(record), assumptions=replace(assumed, balancedness=1.0))
    size = {"prompt": float(record.context), "rows": float(PREFILL_ROWS)}
    even = prefill_s(twin, **size)

    def off(balance: float) -> float:
        return float(prefill_s(twin, **size, balancedness=balance) / even - gain)

    return float(np.float64(optimize.brentq(off, LEAST, 1.0, xtol=1e-9)))
