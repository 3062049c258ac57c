"""How uneven was the routing? As uneven as makes a published pair of runs differ so.

One deployment prefilled the same prompts with the routing as it came and with routing
made even. The twin looks for the balancedness at which its own two runs differ by the
same factor. Their level, which is what it has to predict, does not enter.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.catalog.evidence.deployments import (
    EVEN_PREFILL,
    PREFILL_RATES,
    PREFILL_ROWS,
)
from llmserve_lab.deepseek.model.assumptions import Choices
from llmserve_lab.deepseek.model.prefill import prefill_s
from llmserve_lab.deepseek.model.setup import setup_of
from llmserve_lab.deepseek.model.step_model import Twin

TRIED = np.linspace(0.3, 1.0, 701)


@cache
def balance_reached() -> float:
    """The balancedness of the busiest GPU, between 0.3 and 1."""
    record = PREFILL_RATES[-1]
    gain = float(EVEN_PREFILL.gpu_tokens_per_s) / float(record.gpu_tokens_per_s)
    twin = Twin(setup=setup_of(record), choices=Choices(balancedness=1.0))
    size = {"prompt": float(record.context), "rows": float(PREFILL_ROWS)}
    slower = prefill_s(twin, **size, balancedness=TRIED) / prefill_s(twin, **size)
    return float(np.interp(-gain, -slower, TRIED))
