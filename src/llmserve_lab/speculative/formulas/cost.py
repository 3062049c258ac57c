"""What a verification pass costs on a served machine, and what drafts then gain."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import at
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline import formulas as roofline
from llmserve_lab.speculative.formulas.acceptance import ACCEPTED_FALLING

FITTED = "llmserve_lab.validation: the form that measured rows were fitted with"

__all__ = [
    "ACCEPTED_NEEDED",
    "PLAIN_ATTENTION_S",
    "PLAIN_LINEAR_S",
    "PLAIN_PASS_S",
    "SPECULATIVE_S",
    "SPEEDUP",
    "VERIFY_ATTENTION_S",
    "VERIFY_LINEAR_S",
    "VERIFY_PAIRS",
    "VERIFY_ROWS",
    "VERIFY_S",
]


def _verify_s(
    linear_s: Any,
    weights_s: Any,
    overlap: Any,
    pairs_s: Any,
    kv_s: Any,
    overhead_s: Any,
    request_s: Any,
    batch: Any,
) -> Any:
    products_s = roofline.partly_hidden(linear_s, weights_s, overlap)
    return products_s + pairs_s + kv_s + overhead_s + request_s * batch


def _plain_pass_s(
    plain_linear_s: Any,
    weights_s: Any,
    overlap: Any,
    plain_pairs_s: Any,
    kv_s: Any,
    overhead_s: Any,
    request_s: Any,
    batch: Any,
) -> Any:
    return _verify_s(
        linear_s=plain_linear_s,
        weights_s=weights_s,
        overlap=overlap,
        pairs_s=plain_pairs_s,
        kv_s=kv_s,
        overhead_s=overhead_s,
        request_s=request_s,
        batch=batch,
    )


VERIFY_ROWS = Formula(
    result=q.n_rows,
    expr=lambda batch, token_a_step, n_draft: batch * (token_a_step + n_draft),
    variant="verify",
    title="Rows of a verification pass",
    source="counted: the newest token of each request, and its drafts",
    holds="every request has equally many drafts",
)
VERIFY_PAIRS = Formula(
    result=q.attn_pairs,
    expr=lambda: at(roofline.ATTN_PAIRS, chunk=q.token_a_step.sympy + q.n_draft.sympy),
    derived=True,
    variant="verify",
    title="Query–key pairs of a verification pass",
    source="[attn_pairs](#eq-attn_pairs), a row more for each draft",
    holds="causal attention: a draft sees the cache and the drafts before it",
)
VERIFY_LINEAR_S = Formula(
    result=q.linear_s,
    expr=lambda: roofline.reached_s(roofline.LINEAR_FLOPS, q.n_rows),
    uses=(VERIFY_ROWS,),
    derived=True,
    variant="verify",
    title="Time of the linear layers of a verification pass",
    source="[compute_s](#eq-compute_s), its first part",
    holds="memory keeps up",
)
VERIFY_ATTENTION_S = Formula(
    result=q.pairs_s,
    expr=lambda: roofline.reached_s(roofline.ATTN_FLOPS, q.attn_pairs),
    uses=(VERIFY_PAIRS,),
    derived=True,
    variant="verify",
    title="Time of attention's arithmetic in a verification pass",
    source="[compute_s](#eq-compute_s), its second part",
    holds="memory keeps up",
)
VERIFY_S = Formula(
    result=q.verify_s,
    expr=_verify_s,
    uses=(
        VERIFY_LINEAR_S,
        roofline.WEIGHTS_S,
        VERIFY_ATTENTION_S,
        roofline.KV_S,
    ),
    title="Time of a verification pass on a served machine",
    source=FITTED,
    holds="attention is hidden behind nothing; the pass is launched like any decode "
    "pass, from a recorded graph",
)
PLAIN_LINEAR_S = Formula(
    result=q.plain_linear_s,
    expr=lambda: at(VERIFY_LINEAR_S, n_draft=0),
    derived=True,
    title="Time of the linear layers of a plain decode pass",
    source="[linear_s-verify](#eq-linear_s-verify) with no draft",
    holds="memory keeps up",
)
PLAIN_ATTENTION_S = Formula(
    result=q.plain_pairs_s,
    expr=lambda: at(VERIFY_ATTENTION_S, n_draft=0).factor(),
    derived=True,
    title="Time of attention's arithmetic in a plain decode pass",
    source="[pairs_s-verify](#eq-pairs_s-verify) with no draft",
    holds="memory keeps up",
)
PLAIN_PASS_S = Formula(
    result=q.plain_pass_s,
    expr=_plain_pass_s,
    uses=(PLAIN_LINEAR_S, roofline.WEIGHTS_S, PLAIN_ATTENTION_S, roofline.KV_S),
    title="Time of a decode pass without drafts",
    source="[verify_s](#eq-verify_s) with no draft",
    holds="as [verify_s](#eq-verify_s)",
)
SPECULATIVE_S = Formula(
    result=q.speculative_s,
    expr=lambda one_draft, n_draft, draft_cost, plain_pass_s, verify_s: (
        one_draft * n_draft * draft_cost * plain_pass_s + verify_s
    ),
    uses=(PLAIN_PASS_S, VERIFY_S),
    title="Time to draft and verify once",
    source="counted: drafts come one after the other, then one pass verifies them",
    holds="drafting is not overlapped with verifying",
)
SPEEDUP = Formula(
    result=q.speculative_speedup,
    expr=lambda accepted, token_a_step, plain_pass_s, speculative_s: (
        accepted / token_a_step * plain_pass_s / speculative_s
    ),
    uses=(ACCEPTED_FALLING, PLAIN_PASS_S, SPECULATIVE_S),
    title="Speedup of speculative decoding",
    source="counted: tokens of a pass over those of plain passes in the same time",
    holds="the batch stays as large; prompts are left out",
)
ACCEPTED_NEEDED = Formula(
    result=q.accepted_needed,
    expr=lambda token_a_step, speculative_s, plain_pass_s: (
        token_a_step * speculative_s / plain_pass_s
    ),
    uses=(SPECULATIVE_S, PLAIN_PASS_S),
    title="Tokens a pass must yield to break even",
    source="[speculative_speedup](#eq-speculative_speedup) = 1, solved for the tokens",
    holds="as [speculative_speedup](#eq-speculative_speedup)",
)
