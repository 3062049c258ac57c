"""One engine for both phases: a prompt rides in a decode step, and makes it longer."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.disaggregation.formulas.kv_transfer import FITTED, PREFILL_S
from llmserve_lab.disaggregation.formulas.pools import (
    DECODE_STEPS,
    ROOM_BATCH,
    ROW_S,
    STEP_OWN_S,
    STEP_READ_S,
)
from llmserve_lab.formula.derive import minimum
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import WEIGHTS_S

__all__ = [
    "RIDE_S",
    "SHARED_BATCH",
    "SHARED_GAP_S",
    "SHARED_GPU_S",
    "SHARED_STEP_S",
    "SHARED_TIME_BATCH",
]
HOLDS = (
    "the weights take longer to read than the decodes' rows to compute, and the prompt "
    "longer to compute than weights and caches to read"
)


def _ride(
    prefill_s: Any,
    overhead_s: Any,
    weights_s: Any,
    overlap: Any,
    row_s: Any,
    overlap_kv: Any,
    step_read_s: Any,
    shared_batch: Any,
    one_request: Any,
) -> Any:
    """A prefill without launch and weights, which the step has paid for already."""
    held = shared_batch / one_request
    saved_s = overhead_s + weights_s - overlap * row_s * held
    return prefill_s - saved_s - overlap_kv * step_read_s * held


def _mean_step(
    overhead_s: Any,
    weights_s: Any,
    shared_batch: Any,
    one_request: Any,
    overlap: Any,
    row_s: Any,
    step_own_s: Any,
    decode_steps: Any,
    ride_s: Any,
) -> Any:
    """A decode step, and its share of the prompts that ride along."""
    held = shared_batch / one_request
    alone_s = overhead_s + weights_s + held * ((1 - overlap) * row_s + step_own_s)
    return alone_s + held * ride_s / decode_steps


def _root(
    one_request: Any,
    tpot_target: Any,
    overhead_s: Any,
    weights_s: Any,
    prefill_s: Any,
    overlap: Any,
    overlap_kv: Any,
    row_s: Any,
    step_read_s: Any,
    step_own_s: Any,
    decode_steps: Any,
) -> Any:
    """The batch at which the mean step is as long as the promise: a quadratic."""
    import sympy

    fixed_s = overhead_s + weights_s
    left_s = sympy.Max(0, tpot_target - fixed_s)
    line = step_own_s + (1 - overlap) * row_s + (prefill_s - fixed_s) / decode_steps
    square = (overlap * row_s - overlap_kv * step_read_s) / decode_steps
    root = sympy.sqrt(line**2 + 4 * square * left_s)
    return one_request * 2 * left_s / (line + root)


SHARED_TIME_BATCH = Formula(
    result=q.shared_time_batch,
    expr=_root,
    uses=(
        WEIGHTS_S,
        PREFILL_S,
        ROW_S,
        STEP_READ_S,
        STEP_OWN_S,
        DECODE_STEPS,
    ),
    title="Batch of one engine that keeps the target",
    source="[shared_step_s](#eq-shared_step_s) solved for the batch",
    holds=HOLDS,
)
SHARED_BATCH = Formula(
    result=q.shared_batch,
    expr=lambda shared_time_batch, batch_fits: minimum(shared_time_batch, batch_fits),
    uses=(SHARED_TIME_BATCH, ROOM_BATCH),
    title="Batch of one engine",
    source="the least of what time and memory allow",
    holds="as [decode_batch](#eq-decode_batch)",
)
RIDE_S = Formula(
    result=q.ride_s,
    expr=_ride,
    uses=(PREFILL_S, WEIGHTS_S, ROW_S, STEP_READ_S, SHARED_BATCH),
    title="Time that a prompt adds to the step in which it rides",
    source=FITTED,
    holds=HOLDS,
)
SHARED_STEP_S = Formula(
    result=q.shared_step_s,
    expr=_mean_step,
    uses=(WEIGHTS_S, SHARED_BATCH, ROW_S, STEP_OWN_S, DECODE_STEPS, RIDE_S),
    title="Mean time of a step of one engine",
    source="counted: each request brings one prompt for all its decode steps",
    holds="prompts are read as fast as answers are written, each in one step",
)
SHARED_GAP_S = Formula(
    result=q.shared_gap_s,
    expr=lambda decode_step_s, arrival_rate, ride_s, one_request: (
        decode_step_s / (1 - arrival_rate * ride_s / one_request)
    ),
    title="Mean gap beside prompts that keep arriving",
    source="counted: a mean gap contains as many prompts as arrive while it lasts",
    holds="the GPU can keep up: prompts take less than all of its time",
)
SHARED_GPU_S = Formula(
    result=q.shared_gpu_s,
    expr=lambda decode_steps, one_request, shared_step_s, shared_batch: (
        decode_steps * one_request * shared_step_s / shared_batch
    ),
    uses=(DECODE_STEPS, SHARED_STEP_S, SHARED_BATCH),
    title="GPU time of a request in one engine",
    source="its steps, each shared by the batch",
    holds="as [shared_step_s](#eq-shared_step_s)",
)
