"""The loop twice, with everything run again or with a cache: equations (2.5) to (2.19).

What one pass does is typed, or taken from chapter 1. What the whole loop does is the
sum, which SymPy works out.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.end_to_end.formulas.parameters import ARTICLE
from llmserve_lab.end_to_end.sums import answer_flops, growth, over_passes
from llmserve_lab.formula.derive import at, limit
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import ATTN_PAIRS, N_ROWS

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
]

STEP_LEN = Formula(
    result=q.step_len,
    expr=lambda prompt_len, step: prompt_len + step,
    number="2.5",
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
    number="2.6",
    title="Query–key pairs of a pass over all of it",
    source="(1.8) with nothing in the cache",
    holds="causal mask; no masked pair is computed",
)
RECOMPUTE_ROWS = Formula(
    result=q.recompute_rows,
    expr=lambda: over_passes(at(N_ROWS, batch=q.one_request, chunk=STEP_LEN)),
    derived=True,
    number="2.7",
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
    number="2.8",
    title="Rows of an answer, with a cache",
    source=SUM,
    holds=ONE_PROMPT,
)
RECOMPUTE_PAIRS = Formula(
    result=q.recompute_pairs,
    expr=lambda: over_passes(STEP_PAIRS),
    derived=True,
    number="2.9",
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
    number="2.10",
    title="Pairs of an answer, with a cache",
    source=f"(1.8); {SUM}",
    holds=ONE_PROMPT,
)
ROWS_RATIO = Formula(
    result=q.rows_ratio,
    expr=lambda recompute_rows, cached_rows: recompute_rows / cached_rows,
    uses=(RECOMPUTE_ROWS, CACHED_ROWS),
    number="2.11",
    title="What running again costs in the linear layers",
    source="(2.7) over (2.8)",
    holds=ONE_PROMPT,
)
PAIRS_RATIO = Formula(
    result=q.pairs_ratio,
    expr=lambda recompute_pairs, cached_pairs: recompute_pairs / cached_pairs,
    uses=(RECOMPUTE_PAIRS, CACHED_PAIRS),
    number="2.12",
    title="What running again costs in attention",
    source="(2.9) over (2.10)",
    holds=ONE_PROMPT,
)
LONG_PROMPT_RATIO = Formula(
    result=q.long_prompt_ratio,
    expr=lambda: limit(ROWS_RATIO, q.prompt_len, "oo"),
    derived=True,
    number="2.13",
    title="Either ratio for a prompt without end",
    source="limit of (2.11); (2.12) has the same",
    holds="a prompt far longer than the answer",
)
LONG_ANSWER_ROWS = Formula(
    result=q.long_answer_rows,
    expr=lambda: growth(ROWS_RATIO, q.new_tokens),
    derived=True,
    number="2.14",
    title="Rows, for an answer far longer than its prompt",
    source="leading term of (2.11)",
    holds="an answer far longer than the prompt",
)
LONG_ANSWER_PAIRS = Formula(
    result=q.long_answer_pairs,
    expr=lambda: growth(PAIRS_RATIO, q.new_tokens),
    derived=True,
    number="2.15",
    title="Pairs, for an answer far longer than its prompt",
    source="leading term of (2.12)",
    holds="an answer far longer than the prompt",
)
RECOMPUTE_FLOPS = Formula(
    result=q.recompute_flops,
    expr=lambda: answer_flops(q.recompute_rows, q.recompute_pairs),
    derived=True,
    uses=(RECOMPUTE_ROWS, RECOMPUTE_PAIRS),
    number="2.16",
    title="FLOPs of an answer, without a cache",
    source="(1.12) with the rows and pairs of the loop",
    holds="the LM head scores every row; norms, activations and softmax are small",
)
CACHED_FLOPS = Formula(
    result=q.cached_flops,
    expr=lambda: answer_flops(q.cached_rows, q.cached_pairs),
    derived=True,
    uses=(CACHED_ROWS, CACHED_PAIRS),
    number="2.17",
    title="FLOPs of an answer, with a cache",
    source="(1.12) with the rows and pairs of the loop",
    holds="the LM head scores every row; norms, activations and softmax are small",
)
FLOPS_RATIO = Formula(
    result=q.flops_ratio,
    expr=lambda recompute_flops, cached_flops: recompute_flops / cached_flops,
    uses=(RECOMPUTE_FLOPS, CACHED_FLOPS),
    number="2.18",
    title="What running again costs in all",
    source="(2.16) over (2.17)",
    holds=ONE_PROMPT,
)
KV_HELD_BYTES = Formula(
    result=q.kv_held_bytes,
    expr=lambda kv_bytes_per_token, cached_rows: kv_bytes_per_token * cached_rows,
    uses=(CACHED_ROWS,),
    number="2.19",
    title="What remembering costs",
    source="(1.2) for every row that was run",
    holds="the last token is never run, so it leaves nothing",
)
