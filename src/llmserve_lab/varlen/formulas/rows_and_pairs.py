"""Rows and pairs of a batch from the moments of its lengths; where attention overtakes.

Equations (4.1) to (4.21). Any list of lengths enters through three numbers: their mean,
their mean square, and the longest of them.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import maximum, minimum, solve, symbolic
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline import formulas as roofline

ARTICLE = "article 04"
COUNTED = "counted"

BATCH_OF_FOUR = Formula(
    result=q.batch,
    expr=lambda one_request, own_row, len_1, len_2, len_3, len_4: (
        one_request
        * sum(minimum(each, own_row) for each in (len_1, len_2, len_3, len_4))
        / own_row
    ),
    number="4.1",
    title="Requests in a batch of up to four",
    source=COUNTED,
    holds="whole lengths; a request of length 0 is not there",
)
MEAN_OF_FOUR = Formula(
    result=q.mean_prompt,
    expr=lambda one_request, len_1, len_2, len_3, len_4, batch: (
        one_request * (len_1 + len_2 + len_3 + len_4) / batch
    ),
    uses=(BATCH_OF_FOUR,),
    number="4.2",
    title="Mean length of up to four",
    source=COUNTED,
    holds="whole lengths; a request of length 0 is not there",
)
MEAN_SQUARE_OF_FOUR = Formula(
    result=q.mean_square_prompt,
    expr=lambda one_request, len_1, len_2, len_3, len_4, batch: (
        one_request * (len_1**2 + len_2**2 + len_3**2 + len_4**2) / batch
    ),
    uses=(BATCH_OF_FOUR,),
    number="4.3",
    title="Mean square of up to four lengths",
    source=COUNTED,
    holds="whole lengths; a request of length 0 is not there",
)
LONGEST_OF_FOUR = Formula(
    result=q.longest_prompt,
    expr=lambda len_1, len_2, len_3, len_4: maximum(len_1, len_2, len_3, len_4),
    number="4.4",
    title="Longest of up to four",
    source=COUNTED,
    holds="at least one request",
)
PADDED_ROWS = Formula(
    result=q.padded_rows,
    expr=lambda batch, longest_prompt: batch * longest_prompt,
    number="4.5",
    title="Rows, padded",
    source=f"{ARTICLE}, §3",
    holds="every request is stretched to the longest",
)
PACKED_ROWS = Formula(
    result=q.n_rows,
    expr=lambda batch, mean_prompt: batch * mean_prompt,
    number="4.6",
    title="Rows, packed",
    source=f"{ARTICLE}, §3",
    holds="requests end to end, masked or varlen",
)
PADDING_SHARE = Formula(
    result=q.padding_share,
    expr=lambda longest_prompt, mean_prompt: (
        (longest_prompt - mean_prompt) / longest_prompt
    ),
    number="4.7",
    title="Share of padding",
    source=COUNTED,
    holds="the longest is at least the mean",
)
PADDED_PAIRS = Formula(
    result=q.padded_pairs,
    expr=lambda pairs_per_row, batch, longest_prompt: (
        pairs_per_row * batch * longest_prompt**2
    ),
    number="4.8",
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
    number="4.9",
    title="Pairs, packed and masked",
    source=f"{ARTICLE}, §6.1",
    holds="all rows are treated as one sequence, then masked",
)
VARLEN_PAIRS = Formula(
    result=q.varlen_pairs,
    expr=lambda pairs_per_row, batch, mean_square_prompt: (
        pairs_per_row * batch * mean_square_prompt
    ),
    number="4.10",
    title="Pairs, varlen",
    source=f"{ARTICLE}, §6.2",
    holds="the whole block of every request is computed",
)
USEFUL_PAIRS = Formula(
    result=q.useful_pairs,
    expr=lambda pairs_per_row, batch, mean_square_prompt, own_row, mean_prompt: (
        pairs_per_row * batch * (mean_square_prompt + own_row * mean_prompt) / 2
    ),
    number="4.11",
    title="Pairs that count",
    source=COUNTED,
    holds="causal attention within each request",
)
MASKED_RATIO = Formula(
    result=q.masked_ratio,
    expr=lambda: symbolic(MASKED_PAIRS) / symbolic(VARLEN_PAIRS),
    derived=True,
    number="4.12",
    title="What one square costs over its blocks",
    source="(4.9) over (4.10)",
    holds="the moments of some lengths; for equal ones it is their number",
)
ROW_PROMPT = Formula(
    result=q.row_prompt,
    expr=lambda mean_square_prompt, mean_prompt: mean_square_prompt / mean_prompt,
    number="4.13",
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
    number="4.14",
    title="FLOPs of attention, packed prefill",
    source="(4.11), written by rows",
    holds="only pairs that count are computed",
)
LINEAR_FLOPS = Formula(
    result=q.linear_flops,
    expr=lambda flops_per_param, params_active, n_rows: (
        flops_per_param * params_active * n_rows
    ),
    uses=(PACKED_ROWS,),
    number="4.15",
    title="FLOPs of the linear layers, packed prefill",
    source="(1.7) with the rows of (4.6)",
    holds="every parameter multiplies every row; an embedding look-up is not counted",
)
ATTN_SHARE = Formula(
    result=q.attn_share,
    expr=lambda attn_flops, linear_flops: attn_flops / (attn_flops + linear_flops),
    uses=(ATTN_FLOPS, LINEAR_FLOPS),
    number="4.16",
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
    number="4.17",
    title="Where attention overtakes",
    source="(4.14) = (4.15), solved",
    holds="causal pairs only; for one request, or as the mean that (4.13) takes",
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
    number="4.18",
    title="Where whole squares overtake",
    source="(4.10) times the FLOPs of a pair = (4.15), solved",
    holds="a kernel that computes all of a request's block",
)
PACKED_INTENSITY = Formula(
    result=q.intensity,
    expr=lambda linear_flops, attn_flops, weight_bytes: (
        (linear_flops + attn_flops) / weight_bytes
    ),
    uses=(LINEAR_FLOPS, ATTN_FLOPS, roofline.WEIGHT_BYTES),
    number="4.19",
    title="Intensity of a packed prefill",
    source="(1.13) with nothing in the cache",
    holds="weights are read once, scores never leave the chip",
)
PACKED_RIDGE_ROWS = Formula(
    result=q.packed_ridge_rows,
    expr=lambda: solve(
        PACKED_INTENSITY, q.ridge, q.n_rows, keep=(q.n_rows, q.row_prompt)
    ),
    uses=(roofline.RIDGE,),
    derived=True,
    number="4.20",
    title="Packed rows that reach the ridge",
    source="(4.19) solved",
    holds="as (4.19); where it is less than a prompt, one prompt is beyond the ridge",
)
WASTED_PAIRS = Formula(
    result=q.wasted_pairs,
    expr=lambda varlen_pairs, useful_pairs: varlen_pairs - useful_pairs,
    uses=(VARLEN_PAIRS, USEFUL_PAIRS),
    number="4.21",
    title="Pairs that varlen wastes",
    source=COUNTED,
    holds="lengths of at least 1; for another way put its pairs in the place of varlen",
)
