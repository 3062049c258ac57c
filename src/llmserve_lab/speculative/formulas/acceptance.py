"""How many tokens a verification pass yields, by two laws of accepted drafts."""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import falling_sum
from llmserve_lab.formula.formula import Formula

__all__ = ["ACCEPTED", "ACCEPTED_FALLING", "SURVIVAL"]

ACCEPTED = Formula(
    result=q.accepted,
    expr=lambda token_a_step, accept_rate, one_draft, n_draft: (
        token_a_step
        * (1 - accept_rate ** (one_draft * n_draft + 1))
        / (1 - accept_rate)
    ),
    title="Tokens of a verification pass, constant acceptance",
    source="the geometric series of α; as in Leviathan et al. 2023",
    holds="each draft is kept with the same chance, below 1, if all before it were",
)
SURVIVAL = Formula(
    result=q.survival,
    expr=lambda accept_rate, accept_fall, draft_place: (
        accept_rate**draft_place * accept_fall ** (draft_place * (draft_place - 1) / 2)
    ),
    title="Chance that a draft and all before it are kept",
    source="the product of the chances of the drafts up to it",
    holds="the chance of a draft is r times that of the draft before it",
)
ACCEPTED_FALLING = Formula(
    result=q.accepted,
    expr=lambda token_a_step, accept_rate, accept_fall, one_draft, n_draft: (
        token_a_step * falling_sum(accept_rate, accept_fall, one_draft * n_draft)
    ),
    variant="falling",
    title="Tokens of a verification pass, falling acceptance",
    source="[survival](#eq-survival), summed, and one token of the target's own",
    holds="as [survival](#eq-survival); sixteen drafts at most",
)
