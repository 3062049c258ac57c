"""The shared expert, which every row visits: how long it takes, and what FFNs save.

It needs no transfer, so the GPU that has a row may compute it while the row's copies
are away.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.afd.deployment import sparse_layers
from llmserve_lab.deepseek import formulas as df
from llmserve_lab.deepseek.model.setup import Numbers
from llmserve_lab.deepseek.model.step_model import Twin

FLOPS_PER_WEIGHT = 2  # of a row: a product and a sum


def alone_s(twin: Twin, rows: Any) -> Any:
    """Seconds in a layer in which a GPU computes it for its rows, and nothing else."""
    return np.hypot(*_parts_s(twin, rows))


def saved_s(twin: Twin, known: Numbers, rows: Any) -> Any:
    """Seconds in a layer that the experts take less without it.

    ``known`` are settled arguments of the twin, for as many rows.
    """
    read, compute = (
        each.reusing(known) / sparse_layers(twin)
        for each in (df.EXPERT_READ_S, df.EXPERT_COMPUTE_S)
    )
    less = _parts_s(twin, rows)
    return np.hypot(read, compute) - np.hypot(read - less[0], compute - less[1])


def _parts_s(twin: Twin, rows: Any) -> tuple[Any, Any]:
    """Seconds in which its weights are read, and its rows computed."""
    machine, shape = twin.machine, twin.shape
    weights = float(shape["expert_stack"]) / sparse_layers(twin)
    read = weights * float(shape["bytes_weight"]) / float(machine["read_rate"])
    return read, FLOPS_PER_WEIGHT * weights * rows / float(machine["gemm_rate"])
