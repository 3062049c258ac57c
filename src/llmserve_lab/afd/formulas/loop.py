"""Pipeline of m batches in flight: a batch must come round before it starts again.

What the paper's best ratio pays in its model, then the same
bundle with the batch's own loop counted, the ratio that is best then, and what the
paper's measurement leaves out.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.afd.formulas.load import PAPER, root
from llmserve_lab.afd.formulas.regimes import (
    ATTN_S,
    COMM_S,
    FFN_S,
    INSTANCE_TOKENS_PER_S,
    PERFECT,
    RATIO_ATTN,
    RATIO_BEST,
    RATIO_PEAK,
    peak_of,
)
from llmserve_lab.formula.derive import at, maximum, minimum, solve
from llmserve_lab.formula.formula import Formula

EQUAL = "loads equal at every step and on every instance"

__all__ = [
    "ATTN_SD_S",
    "BEST_TOKENS_PER_S",
    "COUNTED_SHARE",
    "HIDDEN_COMM_S",
    "IDLE_ATTN",
    "IDLE_FFN",
    "LOOP_S",
    "PERIOD_S",
    "PIPELINE_S",
    "PIPELINE_TOKENS_PER_S",
    "RATIO_LOOP_END",
    "RATIO_LOOP_PEAK",
    "RATIO_LOOP_START",
    "RATIO_PIPELINE",
]


BEST_TOKENS_PER_S = Formula(
    result=q.best_tokens_per_s,
    expr=lambda: at(
        at(INSTANCE_TOKENS_PER_S.teaching, cycle_s=FFN_S), af_ratio=q.ratio_best
    ),
    uses=(RATIO_BEST,),
    derived=True,
    title="Tokens per second and instance at the best ratio",
    source=f"{PAPER}, equation 20",
    holds=PERFECT,
)
LOOP_S = Formula(
    result=q.loop_s,
    expr=lambda attn_s, comm_s, ffn_s, n_batches: (attn_s + comm_s + ffn_s) / n_batches,
    uses=(ATTN_S, COMM_S, FFN_S),
    title="A loop, shared by the batches in flight",
    source="ours",
    holds=EQUAL,
)
PIPELINE_S = Formula(
    result=q.pipeline_s,
    expr=lambda attn_s, ffn_s, loop_s: maximum(attn_s, ffn_s, loop_s),
    uses=(ATTN_S, FFN_S, LOOP_S),
    title="Time between two steps, loop counted",
    source="ours",
    holds=f"{EQUAL}; no port is busy for longer than that",
)
PERIOD_S = Formula(
    result=q.period_s,
    expr=lambda attn_s, ffn_s, loop_s, port_s: maximum(attn_s, ffn_s, loop_s, port_s),
    uses=(ATTN_S, FFN_S, LOOP_S),
    title="Time between two steps, loop and ports counted",
    source="ours",
    holds=f"{EQUAL}; the busiest port, of either kind of machine, each way",
)
PIPELINE_TOKENS_PER_S = Formula(
    result=q.pipeline_tokens_per_s,
    expr=lambda: at(INSTANCE_TOKENS_PER_S.teaching, cycle_s=q.pipeline_s),
    uses=(PIPELINE_S,),
    derived=True,
    title="Tokens per second and instance, loop counted",
    source=(
        "[instance_tokens_per_s](#eq-instance_tokens_per_s) with the period of "
        "[pipeline_s](#eq-pipeline_s)"
    ),
    holds=EQUAL,
)
HIDDEN_COMM_S = Formula(
    result=q.hidden_comm_s,
    expr=lambda: solve(
        at(LOOP_S.teaching, ffn_s=q.attn_s),
        q.attn_s,
        q.comm_s,
    ),
    uses=(ATTN_S,),
    derived=True,
    title="Time on the wire that m batches hide at balance",
    source="solved from [loop_s](#eq-loop_s)",
    holds="Attention and FFN take the same time; two batches or more",
)
RATIO_LOOP_START = Formula(
    result=q.ratio_start,
    expr=lambda: solve(
        at(LOOP_S.teaching, ffn_s=FFN_S),
        q.attn_s,
        q.af_ratio,
    ),
    uses=(ATTN_S, COMM_S),
    derived=True,
    title="From here on the loop is longer than Attention",
    source="solved from [loop_s](#eq-loop_s)",
    holds=EQUAL,
)
RATIO_LOOP_END = Formula(
    result=q.ratio_end,
    expr=lambda: solve(FFN_S, solve(LOOP_S.teaching, q.ffn_s, q.ffn_s), q.af_ratio),
    uses=(ATTN_S, COMM_S),
    derived=True,
    title="From here on the FFN is longer than the loop",
    source="solved from [loop_s](#eq-loop_s)",
    holds=f"{EQUAL}; two batches or more",
)
RATIO_LOOP_PEAK = Formula(
    result=q.ratio_loop,
    expr=lambda: peak_of(
        at(
            INSTANCE_TOKENS_PER_S.teaching,
            cycle_s=at(LOOP_S.teaching, ffn_s=FFN_S),
        )
    ),
    uses=(ATTN_S, COMM_S),
    derived=True,
    title="Where more Attention stops paying, loop alone",
    source="from the derivative of [instance_tokens_per_s](#eq-instance_tokens_per_s)",
    holds="the loop is the longest",
)
RATIO_PIPELINE = Formula(
    result=q.ratio_pipeline,
    expr=lambda ratio_start, ratio_attn, ratio_loop, ratio_end, ratio_peak: maximum(
        minimum(ratio_start, ratio_attn),
        minimum(ratio_loop, maximum(ratio_end, ratio_peak)),
    ),
    uses=(RATIO_LOOP_START, RATIO_ATTN, RATIO_LOOP_PEAK, RATIO_LOOP_END, RATIO_PEAK),
    title="The best ratio, loop counted",
    source="ours",
    holds=f"{EQUAL}; two batches or more",
)
ATTN_SD_S = Formula(
    result=q.attn_sd_s,
    expr=lambda a_attn, batch, slot_sd, n_batches, one_request: (
        a_attn * slot_sd * root(one_request * batch / n_batches)
    ),
    title="Spread of an instance's mean Attention time",
    source="ours; version 3 of the AFD paper has a Gaussian barrier",
    holds="slots independent of each other",
)
COUNTED_SHARE = Formula(
    result=q.counted_share,
    expr=lambda p_stop, n_batches, batch, n_requests, measured_share: (
        (1 - p_stop) * (1 - n_batches * batch / (measured_share * n_requests))
    ),
    title="Share of the tokens that equation 21 of the paper counts",
    source=f"{PAPER}, equation 21",
    holds="fresh start, geometric answers, runs far longer than an answer",
)
IDLE_ATTN = Formula(
    result=q.idle_attn,
    expr=lambda attn_s, pipeline_s: 1 - attn_s / pipeline_s,
    uses=(ATTN_S, PIPELINE_S),
    title="Share of the time in which Attention waits",
    source=f"{PAPER}, equation 23",
    holds=EQUAL,
)
IDLE_FFN = Formula(
    result=q.idle_ffn,
    expr=lambda ffn_s, pipeline_s: 1 - ffn_s / pipeline_s,
    uses=(FFN_S, PIPELINE_S),
    title="Share of the time in which the FFN waits",
    source=f"{PAPER}, equation 23",
    holds=EQUAL,
)
