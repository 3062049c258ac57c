"""What a user waits for: the first token, and the gap before the second."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.disaggregation.formulas.kv_transfer import EXPOSED_S, PREFILL_S
from llmserve_lab.disaggregation.formulas.pools import DECODE_STEP_S
from llmserve_lab.formula.formula import Formula

__all__ = ["PREFILL_WAIT_S", "SECOND_GAP_S", "TTFT"]

PREFILL_WAIT_S = Formula(
    result=q.prefill_wait_s,
    expr=lambda prefill_busy, prefill_s: (
        prefill_busy * prefill_s / (2 * (1 - prefill_busy))
    ),
    uses=(PREFILL_S,),
    title="Mean wait for one prefill GPU",
    source="M/D/1, Khinchine 1932",
    holds="Poisson arrivals, equal prompts, one GPU that is not overrun",
)


def _ttft(
    prefill_wait_s: Any,
    prefill_s: Any,
    decode_emits: Any,
    exposed_s: Any,
    orchestration_s: Any,
    decode_step_s: Any,
) -> Any:
    """Wait and prefill, and the hop where the decode side emits."""
    return (
        prefill_wait_s
        + prefill_s
        + decode_emits * (exposed_s + orchestration_s + decode_step_s)
    )


TTFT = Formula(
    result=q.ttft,
    expr=_ttft,
    uses=(PREFILL_WAIT_S, PREFILL_S, EXPOSED_S, DECODE_STEP_S),
    title="Mean time to the first token",
    source="counted: either side may emit it",
    holds="as [prefill_wait_s](#eq-prefill_wait_s); the decode GPU has room",
)
SECOND_GAP_S = Formula(
    result=q.second_gap_s,
    expr=lambda decode_step_s, decode_emits, exposed_s, orchestration_s: (
        decode_step_s + (1 - decode_emits) * (exposed_s + orchestration_s)
    ),
    uses=(DECODE_STEP_S, EXPOSED_S),
    title="Gap before the second token",
    source="counted: the cache has to arrive first",
    holds="the request decodes in the first step after its cache has arrived",
)
