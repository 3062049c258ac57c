"""The loop twice, with everything run again or with a cache.

What one pass does is typed, or taken from the roofline. What the whole loop does is the
sum, which SymPy works out.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.end_to_end.formulas.parameters import ARTICLE
from llmserve_lab.end_to_end.sums import answer_flops, growth, over_passes
from llmserve_lab.formula.derive import at, limit
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import (
    ATTN_FLOPS_PER_PAIR,
    ATTN_PAIRS,
    ITERATION_FLOPS,
    N_ROWS,
)

SUM = "summed by SymPy"
ONE_PROMPT = "one request, greedy or sampled; the first pass is the prompt"

__all__ = [
    "CACHED_FLOPS",
    "CACHED_PAIRS",
    "CACHED_ROWS",
    "FLOPS_RATIO",
    "KV_HELD_BYTES",
    "LONG_ANSWER_PAIRS",
    "LONG_ANSWER_ROWS",
    "LONG_PROMPT_RATIO",
    "PAIRS_RATIO",
    "RECOMPUTE_FLOPS",
    "RECOMPUTE_PAIRS",
    "RECOMPUTE_ROWS",
    "ROWS_RATIO",
    "STEP_LEN",
    "STEP_PAIRS",
    "TOKEN_FLOPS",
]

TOKEN_FLOPS = Formula(
    result=q.iteration_flops,
    expr=lambda: at(
        ITERATION_FLOPS,
        batch=q.one_request,
        chunk=q.own_row,
        attn_flops_per_pair=ATTN_FLOPS_PER_PAIR,
    ),
    derived=True,
    variant="token",
    title="FLOPs of one token",
    source="[iteration_flops](#eq-iteration_flops) with a single row",
    holds="a row that the LM head scores; norms, activations and softmax are small",
)
STEP_LEN = Formula(
    result=q.step_len,
    expr=lambda prompt_len, step: prompt_len + step,
    title="Length of the sequence in a pass",
    source=f"{ARTICLE}, §9",
    holds="every pass appends one token",
)
STEP_PAIRS = Formula(
    result=q.step_pairs,
    expr=lambda: at(
        ATTN_PAIRS, batch=q.one_request, context=0, chunk=q.step_len
    ).factor(),
    uses=(STEP_LEN,),
    derived=True,
    title="Query–key pairs of a pass over all of it",
    source="[attn_pairs](#eq-attn_pairs) with nothing in the cache",
    holds="causal mask; no masked pair is computed",
)
RECOMPUTE_ROWS = Formula(
    result=q.recompute_rows,
    expr=lambda: over_passes(at(N_ROWS, batch=q.one_request, chunk=STEP_LEN)),
    derived=True,
    title="Rows of an answer, without a cache",
    source=f"{ARTICLE}, §9; {SUM}",
    holds=ONE_PROMPT,
)
CACHED_ROWS = Formula(
    result=q.cached_rows,
    expr=lambda: (
        at(N_ROWS, batch=q.one_request, chunk=q.prompt_len)
        + over_passes(at(N_ROWS, batch=q.one_request, chunk=q.own_row), first=1)
    ).factor(),
    derived=True,
    title="Rows of an answer, with a cache",
    source=SUM,
    holds=ONE_PROMPT,
)
RECOMPUTE_PAIRS = Formula(
    result=q.recompute_pairs,
    expr=lambda: over_passes(STEP_PAIRS),
    derived=True,
    title="Pairs of an answer, without a cache",
    source=SUM,
    holds=ONE_PROMPT,
)
CACHED_PAIRS = Formula(
    result=q.cached_pairs,
    expr=lambda: (
        at(STEP_PAIRS, step=0)
        + over_passes(
            at(
                ATTN_PAIRS,
                batch=q.one_request,
                chunk=q.own_row,
                context=STEP_LEN.full - q.own_row.sympy,
            ),
            first=1,
        )
    ).factor(),
    derived=True,
    title="Pairs of an answer, with a cache",
    source=f"[attn_pairs](#eq-attn_pairs); {SUM}",
    holds=ONE_PROMPT,
)
ROWS_RATIO = Formula(
    result=q.rows_ratio,
    expr=lambda recompute_rows, cached_rows: recompute_rows / cached_rows,
    uses=(RECOMPUTE_ROWS, CACHED_ROWS),
    title="What running again costs in the linear layers",
    source="[recompute_rows](#eq-recompute_rows) over [cached_rows](#eq-cached_rows)",
    holds=ONE_PROMPT,
)
PAIRS_RATIO = Formula(
    result=q.pairs_ratio,
    expr=lambda recompute_pairs, cached_pairs: recompute_pairs / cached_pairs,
    uses=(RECOMPUTE_PAIRS, CACHED_PAIRS),
    title="What running again costs in attention",
    source=(
        "[recompute_pairs](#eq-recompute_pairs) over [cached_pairs](#eq-cached_pairs)"
    ),
    holds=ONE_PROMPT,
)
LONG_PROMPT_RATIO = Formula(
    result=q.long_prompt_ratio,
    expr=lambda: limit(ROWS_RATIO, q.prompt_len, "oo"),
    derived=True,
    title="Either ratio for a prompt without end",
    source=(
        "limit of [rows_ratio](#eq-rows_ratio); [pairs_ratio](#eq-pairs_ratio) has "
        "the same"
    ),
    holds="a prompt far longer than the answer",
)
LONG_ANSWER_ROWS = Formula(
    result=q.long_answer_rows,
    expr=lambda: growth(ROWS_RATIO, q.new_tokens),
    derived=True,
    title="Rows, for an answer far longer than its prompt",
    source="leading term of [rows_ratio](#eq-rows_ratio)",
    holds="an answer far longer than the prompt",
)
LONG_ANSWER_PAIRS = Formula(
    result=q.long_answer_pairs,
    expr=lambda: growth(PAIRS_RATIO, q.new_tokens),
    derived=True,
    title="Pairs, for an answer far longer than its prompt",
    source="leading term of [pairs_ratio](#eq-pairs_ratio)",
    holds="an answer far longer than the prompt",
)
RECOMPUTE_FLOPS = Formula(
    result=q.recompute_flops,
    expr=lambda: answer_flops(q.recompute_rows, q.recompute_pairs),
    derived=True,
    uses=(RECOMPUTE_ROWS, RECOMPUTE_PAIRS),
    title="FLOPs of an answer, without a cache",
    source="[iteration_flops](#eq-iteration_flops) with the rows and pairs of the loop",
    holds="the LM head scores the last row of a pass; norms and softmax are small",
)
CACHED_FLOPS = Formula(
    result=q.cached_flops,
    expr=lambda: answer_flops(q.cached_rows, q.cached_pairs),
    derived=True,
    uses=(CACHED_ROWS, CACHED_PAIRS),
    title="FLOPs of an answer, with a cache",
    source="[iteration_flops](#eq-iteration_flops) with the rows and pairs of the loop",
    holds="the LM head scores the last row of a pass; norms and softmax are small",
)
FLOPS_RATIO = Formula(
    result=q.flops_ratio,
    expr=lambda recompute_flops, cached_flops: recompute_flops / cached_flops,
    uses=(RECOMPUTE_FLOPS, CACHED_FLOPS),
    title="What running again costs in all",
    source=(
        "[recompute_flops](#eq-recompute_flops) over [cached_flops](#eq-cached_flops)"
    ),
    holds=ONE_PROMPT,
)
KV_HELD_BYTES = Formula(
    result=q.kv_held_bytes,
    expr=lambda kv_bytes_per_token, cached_rows: kv_bytes_per_token * cached_rows,
    uses=(CACHED_ROWS,),
    title="What remembering costs",
    source="[kv_bytes_per_token](#eq-kv_bytes_per_token) for every row that was run",
    holds="the last token is never run, so it leaves nothing",
)
