"""Requests of different lengths in one batch: moments, rows and pairs."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Count, Positive

PAIRS = "pairs per layer and head, "

len_1 = Count("len_1", "s_1", "token/request", "prompt of the first request")
len_2 = Quantity(
    "len_2",
    "s_2",
    "token/request",
    "prompt of the second request, 0 if there is none",
    whole=True,
)
len_3 = Quantity(
    "len_3",
    "s_3",
    "token/request",
    "prompt of the third request, 0 if there is none",
    whole=True,
)
len_4 = Quantity(
    "len_4",
    "s_4",
    "token/request",
    "prompt of the fourth request, 0 if there is none",
    whole=True,
)
mean_prompt = Positive("mean_prompt", r"\mu_s", "token/request", "mean prompt")
mean_square_prompt = Positive(
    "mean_square_prompt",
    r"\overline{s^2}",
    "token**2/request**2",
    "mean square of the prompts, their second moment",
)
longest_prompt = Positive(
    "longest_prompt", r"s_{\max}", "token/request", "longest prompt of the batch"
)
row_prompt = Positive(
    "row_prompt",
    r"s_{\mathrm{row}}",
    "token/request",
    "prompt that the average row belongs to",
)
padded_rows = Positive(
    "padded_rows", r"n_{\mathrm{pad}}", "token", "rows of a padded batch"
)
padding_share = Quantity(
    "padding_share",
    r"\varphi_{\mathrm{pad}}",
    "dimensionless",
    "share of a padded batch that is padding",
    maximum=1.0,
)
padded_pairs = Positive(
    "padded_pairs", r"N_{\mathrm{pad}}", "pair", PAIRS + "padded batch"
)
masked_pairs = Positive(
    "masked_pairs", r"N_{\mathrm{mask}}", "pair", PAIRS + "one square, then masked"
)
varlen_pairs = Positive(
    "varlen_pairs", r"N_{\mathrm{var}}", "pair", PAIRS + "one block a request"
)
useful_pairs = Positive(
    "useful_pairs", r"N_{\mathrm{use}}", "pair", PAIRS + "that the causal mask allows"
)
wasted_pairs = Quantity(
    "wasted_pairs", r"N_{\mathrm{waste}}", "pair", PAIRS + "computed for nothing"
)
masked_ratio = Positive(
    "masked_ratio",
    r"\varrho_{\mathrm{mask}}",
    "dimensionless",
    "pairs of one square over pairs of the blocks in it",
)
attn_share = Quantity(
    "attn_share",
    r"\varphi_{\mathrm{att}}",
    "dimensionless",
    "share of the FLOPs that attention does",
    maximum=1.0,
)
overtake_prompt = Quantity(
    "overtake_prompt",
    r"s_{\times}",
    "token/request",
    "prompt from which attention does more FLOPs than the linear layers",
)
overtake_square = Positive(
    "overtake_square",
    r"s_{\times}^{\square}",
    "token/request",
    "the same if whole squares are computed, not triangles",
)
packed_ridge_rows = Positive(
    "packed_ridge_rows",
    r"n_{\mathrm{ridge}}^{\mathrm{att}}",
    "token",
    "packed rows that reach the ridge, FLOPs of attention counted",
)
