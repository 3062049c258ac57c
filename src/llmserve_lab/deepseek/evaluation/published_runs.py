"""Published runs: how each deployment was run, as far as its authors tell.

Each runs with one set of assumptions; only what is known to have been otherwise
differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from llmserve_lab.catalog.evidence.deployments import (
    DEEPSEEK_DECODE,
    DRAFT_KEPT,
    EVEN_PREFILL,
    KIMI_DECODE,
    KIMI_REDUNDANT,
    NVL72_DECODE,
    NVL72_LATER,
    NVL72_LOW,
    NVL72_PREFILL,
    PREFILL_ROWS,
    PROFILED_DECODE,
    PROFILED_PREFILL,
    SGLANG_DECODE,
    SGLANG_DRAFTED,
    SMALL_BATCHES,
    Deployment,
)
from llmserve_lab.deepseek.model.assumptions import Assumptions
from llmserve_lab.deepseek.model.prefill import prefill_s
from llmserve_lab.deepseek.model.setup import setup_of
from llmserve_lab.deepseek.model.step_model import Twin

BEFORE_JUNE: dict[str, Any] = {"own_node_copies": "far"}  # the library's kernels then
EVEN: dict[str, Any] = {"balancedness": 1.0}  # routing made even
IN_TURN: dict[str, Any] = {"overlap": "none"}  # one batch after another
FEW: dict[str, Any] = IN_TURN | {"n_redundant": 0}  # none is told of
DRAFTED: dict[str, Any] = {"n_draft": 1, "accepted": 1 + float(DRAFT_KEPT)}
LOW: dict[str, Any] = {
    "dispatch": "fp4",
    "gemm": "fp4",
    "attention": "fp8",
    "cache": "fp8",
}


@cache
def known_runs() -> Mapping[Deployment, dict[str, Any]]:
    """What is known of each run.

    The rack's later runs hid part of the combine behind GEMMs, which the twin cannot:
    it hides all or nothing. How good their kernels were is not published: they are
    predicted with those of June.
    """
    return MappingProxyType(
        {
            DEEPSEEK_DECODE: BEFORE_JUNE,
            PROFILED_DECODE: BEFORE_JUNE | EVEN,
            SGLANG_DECODE: BEFORE_JUNE,
            SGLANG_DRAFTED: BEFORE_JUNE | DRAFTED,
            NVL72_DECODE: IN_TURN,
            NVL72_LATER: IN_TURN,
            NVL72_LOW: IN_TURN | LOW,
            KIMI_DECODE: {"n_redundant": int(float(KIMI_REDUNDANT))},
            PROFILED_PREFILL: EVEN,
            EVEN_PREFILL: EVEN,
            NVL72_PREFILL: IN_TURN,
            **dict.fromkeys(SMALL_BATCHES, FEW),
        }
    )


def run_as(record: Deployment, assumed: Assumptions) -> Twin:
    """The twin of a published deployment, with what is known of how it was run."""
    known = known_runs().get(record, {})
    return Twin(setup=setup_of(record), assumptions=replace(assumed, **known))


def decodes(record: Deployment) -> bool:
    """Whether a deployment decodes: its batch, or what a user saw, was published."""
    return record.batch is not None or record.user_tokens_per_s is not None


def batch_of(record: Deployment) -> float:
    """Requests per GPU: published, or implied by two rates.

    Raises:
        ValueError: neither is known.
    """
    if record.batch is not None:
        return float(record.batch)
    if record.user_tokens_per_s is None:
        raise ValueError(f"record must tell a batch or a user's rate, got {record}")
    return float(record.gpu_tokens_per_s) / float(record.user_tokens_per_s)


def rate_as_run(record: Deployment, assumed: Assumptions, **load: float) -> float:
    """Tokens per second of a GPU in a published deployment, run as it was run.

    ``load`` is what :func:`rate_of` may be told.
    """
    return rate_of(record, run_as(record, assumed), **load)


def rate_of(
    record: Deployment,
    twin: Twin,
    *,
    batch: float | None = None,
    context: float | None = None,
    rows: float = float(PREFILL_ROWS),
) -> float:
    """Tokens per second of a GPU of ``twin`` under the load of a published run.

    ``batch`` and ``context`` stand for what was published, ``rows`` in prefill.
    """
    context = float(record.context) if context is None else context
    if decodes(record):
        batch = batch_of(record) if batch is None else batch
        # The run did fit, whatever is estimated of the memory that it left.
        at = {"batch": batch, "context": context}
        return float(twin.gpu_tokens_per_s(**at, in_memory=False))
    cached = 0.0 if record.cached is None else float(record.cached)
    prompt = {"prompt": context - cached, "cached": cached}
    return rows / float(prefill_s(twin, rows=rows, **prompt))
