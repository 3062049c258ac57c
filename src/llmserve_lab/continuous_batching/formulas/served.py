"""Iterations as servers run them: half hidden, attention apart, launches on top.

The roofline's times are lower bounds. Served iterations take longer, in the way to
which the constants of :mod:`llmserve_lab.validation` were fitted.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.continuous_batching.formulas.chunk_cost import (
    NUM_CHUNKS,
    PROMPT_COMPUTE_S,
    PROMPT_KV_S,
)
from llmserve_lab.continuous_batching.formulas.mixed_batch import (
    MIXED_KV_S,
    MIXED_PAIRS,
    MIXED_ROWS,
)
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline import formulas as roofline

__all__ = [
    "ATTENTION_S",
    "LINEAR_S",
    "READING_GAP_S",
    "SERVED_ITERATION_S",
    "SERVED_PROMPT_S",
]
FITTED = "llmserve_lab.validation: the form that measured rows were fitted with"


LINEAR_S = Formula(
    result=q.linear_s,
    expr=lambda: roofline.reached_s(roofline.LINEAR_FLOPS, q.n_rows),
    uses=(MIXED_ROWS,),
    derived=True,
    title="Time of the linear layers",
    source="[compute_s](#eq-compute_s), its first part",
    holds="memory keeps up",
)
ATTENTION_S = Formula(
    result=q.pairs_s,
    expr=lambda: roofline.reached_s(roofline.ATTN_FLOPS, q.attn_pairs),
    uses=(MIXED_PAIRS,),
    derived=True,
    title="Time of attention's arithmetic",
    source="[compute_s](#eq-compute_s), its second part",
    holds="memory keeps up",
)
SERVED_ITERATION_S = Formula(
    result=q.served_iteration_s,
    expr=lambda linear_s, weights_s, overlap, pairs_s, kv_s, overhead_s: (
        roofline.partly_hidden(linear_s, weights_s, overlap)
        + pairs_s
        + kv_s
        + overhead_s
    ),
    uses=(LINEAR_S, roofline.WEIGHTS_S, ATTENTION_S, MIXED_KV_S),
    title="Time of a mixed iteration on a served machine",
    source=FITTED,
    holds="attention computes and reads after the products, hidden behind nothing",
)


SERVED_PROMPT_S = Formula(
    result=q.chunks_s,
    expr=lambda: (
        q.prompt_compute_s.sympy
        + q.num_chunks.sympy
        * (q.overhead_s.sympy + (1 - q.overlap.sympy) * q.weights_s.sympy)
        + q.prompt_kv_s.sympy
    ),
    derived=True,
    uses=(PROMPT_COMPUTE_S, NUM_CHUNKS, roofline.WEIGHTS_S, PROMPT_KV_S),
    title="Time of a prefill in chunks on a served machine",
    source="[served_iteration_s](#eq-served_iteration_s), summed over the chunks",
    holds="the linear layers of every chunk outlast the reading of the weights",
)
READING_GAP_S = Formula(
    result=q.reading_gap_s,
    expr=lambda chunks_s, num_chunks: chunks_s / num_chunks,
    uses=(SERVED_PROMPT_S, NUM_CHUNKS),
    title="Mean gap while a prompt is read",
    source="every chunk is an iteration, and every iteration a gap",
    holds="as [chunks_s](#eq-chunks_s); the decodes' own time is left out",
)
