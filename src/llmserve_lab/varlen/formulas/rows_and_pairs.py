"""Rows and pairs of a batch from the moments of its lengths; where attention overtakes.

Any list of lengths enters through three numbers: their mean,
their mean square, and the longest of them.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import maximum, solve, symbolic
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline import formulas as roofline

ARTICLE = "article 04"
COUNTED = "counted"

MEAN_OF_FOUR = Formula(
    result=q.mean_prompt,
    expr=lambda one_request, len_1, len_2, len_3, len_4, batch: (
        one_request * (len_1 + len_2 + len_3 + len_4) / batch
    ),
    title="Mean of four lengths",
    source=COUNTED,
    holds="a batch of four requests",
)
MEAN_SQUARE_OF_FOUR = Formula(
    result=q.mean_square_prompt,
    expr=lambda one_request, len_1, len_2, len_3, len_4, batch: (
        one_request * (len_1**2 + len_2**2 + len_3**2 + len_4**2) / batch
    ),
    title="Mean square of four lengths",
    source=COUNTED,
    holds="a batch of four requests",
)
LONGEST_OF_FOUR = Formula(
    result=q.longest_prompt,
    expr=lambda len_1, len_2, len_3, len_4: maximum(len_1, len_2, len_3, len_4),
    title="Longest of four lengths",
    source=COUNTED,
    holds="a batch of four requests",
)
PADDED_ROWS = Formula(
    result=q.padded_rows,
    expr=lambda batch, longest_prompt: batch * longest_prompt,
    title="Rows, padded",
    source=f"{ARTICLE}, §3",
    holds="every request is stretched to the longest",
)
PACKED_ROWS = Formula(
    result=q.n_rows,
    expr=lambda batch, mean_prompt: batch * mean_prompt,
    variant="packed",
    title="Rows, packed",
    source=f"{ARTICLE}, §3",
    holds="requests end to end, masked or varlen",
)
PADDING_SHARE = Formula(
    result=q.padding_share,
    expr=lambda longest_prompt, mean_prompt: (
        (longest_prompt - mean_prompt) / longest_prompt
    ),
    title="Share of padding",
    source=COUNTED,
    holds="the longest is at least the mean",
)
PADDED_PAIRS = Formula(
    result=q.padded_pairs,
    expr=lambda pairs_per_row, batch, longest_prompt: (
        pairs_per_row * batch * longest_prompt**2
    ),
    title="Pairs, padded",
    source=f"{ARTICLE}, §3",
    holds="the whole square of every stretched request is computed",
)
MASKED_PAIRS = Formula(
    result=q.masked_pairs,
    expr=lambda pairs_per_row, n_rows, one_request: (
        pairs_per_row * n_rows**2 / one_request
    ),
    uses=(PACKED_ROWS,),
    title="Pairs, packed and masked",
    source=f"{ARTICLE}, §6.1",
    holds="all rows are treated as one sequence, then masked",
)
VARLEN_PAIRS = Formula(
    result=q.varlen_pairs,
    expr=lambda pairs_per_row, batch, mean_square_prompt: (
        pairs_per_row * batch * mean_square_prompt
    ),
    title="Pairs, varlen",
    source=f"{ARTICLE}, §6.2",
    holds="the whole block of every request is computed",
)
USEFUL_PAIRS = Formula(
    result=q.useful_pairs,
    expr=lambda pairs_per_row, batch, mean_square_prompt, own_row, mean_prompt: (
        pairs_per_row * batch * (mean_square_prompt + own_row * mean_prompt) / 2
    ),
    title="Pairs that count",
    source=COUNTED,
    holds="causal attention within each request",
)
MASKED_RATIO = Formula(
    result=q.masked_ratio,
    expr=lambda: symbolic(MASKED_PAIRS) / symbolic(VARLEN_PAIRS),
    derived=True,
    title="What one square costs over its blocks",
    source="[masked_pairs](#eq-masked_pairs) over [varlen_pairs](#eq-varlen_pairs)",
    holds="the moments of some lengths; for equal ones it is their number",
)
ROW_PROMPT = Formula(
    result=q.row_prompt,
    expr=lambda mean_square_prompt, mean_prompt: mean_square_prompt / mean_prompt,
    title="Whose row is it?",
    source=COUNTED,
    holds="a row picked at random, the moments of some lengths",
)
ATTN_FLOPS = Formula(
    result=q.attn_flops,
    expr=lambda attn_flops_per_pair, pairs_per_row, n_rows, row_prompt, own_row: (
        attn_flops_per_pair * pairs_per_row * n_rows * (row_prompt + own_row) / 2
    ),
    uses=(PACKED_ROWS, ROW_PROMPT),
    variant="packed",
    title="FLOPs of attention, packed prefill",
    source="[useful_pairs](#eq-useful_pairs), written by rows",
    holds="only pairs that count are computed",
)
LINEAR_FLOPS = Formula(
    result=q.linear_flops,
    expr=lambda flops_per_param, params_active, n_rows: (
        flops_per_param * params_active * n_rows
    ),
    uses=(PACKED_ROWS,),
    variant="packed",
    title="FLOPs of the linear layers, packed prefill",
    source=(
        "[linear_flops](#eq-linear_flops) with the rows of "
        "[n_rows-packed](#eq-n_rows-packed)"
    ),
    holds="every parameter multiplies every row; an embedding look-up is not counted",
)
ATTN_SHARE = Formula(
    result=q.attn_share,
    expr=lambda attn_flops, linear_flops: attn_flops / (attn_flops + linear_flops),
    uses=(ATTN_FLOPS, LINEAR_FLOPS),
    title="Share of attention",
    source=COUNTED,
    holds="norms, activations and the softmax are small beside the products",
)
OVERTAKE_PROMPT = Formula(
    result=q.overtake_prompt,
    expr=lambda: solve(
        ATTN_FLOPS, LINEAR_FLOPS, q.row_prompt, keep=(q.n_rows, q.row_prompt)
    ).expand(),
    derived=True,
    title="Where attention overtakes",
    source=(
        "[attn_flops-packed](#eq-attn_flops-packed) = "
        "[linear_flops-packed](#eq-linear_flops-packed), solved"
    ),
    holds=(
        "causal pairs only; for one request, or as the mean that "
        "[row_prompt](#eq-row_prompt) takes"
    ),
)
OVERTAKE_SQUARE = Formula(
    result=q.overtake_square,
    expr=lambda: (
        solve(
            symbolic(VARLEN_PAIRS) * q.attn_flops_per_pair.sympy,
            symbolic(LINEAR_FLOPS),
            q.mean_square_prompt,
        )
        / q.mean_prompt.sympy
    ),
    derived=True,
    title="Where whole squares overtake",
    source=(
        "[varlen_pairs](#eq-varlen_pairs) times the FLOPs of a pair = "
        "[linear_flops-packed](#eq-linear_flops-packed), solved"
    ),
    holds="a kernel that computes all of a request's block",
)
PACKED_INTENSITY = Formula(
    result=q.intensity,
    expr=lambda linear_flops, attn_flops, weight_bytes: (
        (linear_flops + attn_flops) / weight_bytes
    ),
    uses=(LINEAR_FLOPS, ATTN_FLOPS, roofline.WEIGHT_BYTES),
    variant="packed",
    title="Intensity of a packed prefill",
    source="[intensity](#eq-intensity) with nothing in the cache",
    holds="weights are read once, scores never leave the chip",
)
PACKED_RIDGE_ROWS = Formula(
    result=q.packed_ridge_rows,
    expr=lambda: solve(
        PACKED_INTENSITY, q.ridge, q.n_rows, keep=(q.n_rows, q.row_prompt)
    ),
    uses=(roofline.RIDGE,),
    derived=True,
    title="Packed rows that reach the ridge",
    source="[intensity-packed](#eq-intensity-packed) solved",
    holds=(
        "as [intensity-packed](#eq-intensity-packed); where it is less than a "
        "prompt, one prompt is beyond the ridge"
    ),
)
WASTED_PAIRS = Formula(
    result=q.wasted_pairs,
    expr=lambda varlen_pairs, useful_pairs: varlen_pairs - useful_pairs,
    uses=(VARLEN_PAIRS, USEFUL_PAIRS),
    title="Pairs that varlen wastes",
    source=COUNTED,
    holds="lengths of at least 1; for another way put its pairs in the place of varlen",
)
