"""Requests of different lengths in one batch: moments, rows and pairs."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Count, Positive

PAIRS = "pairs per layer and head, "

len_1 = Count("s_1", "token/request", "prompt of the first request")
len_2 = Count("s_2", "token/request", "prompt of the second request")
len_3 = Count("s_3", "token/request", "prompt of the third request")
len_4 = Count("s_4", "token/request", "prompt of the fourth request")
mean_prompt = Positive(r"\mu_s", "token/request", "mean prompt")
mean_square_prompt = Positive(
    r"\overline{s^2}",
    "token**2/request**2",
    "mean square of the prompts, their second moment",
)
longest_prompt = Positive(r"s_{\max}", "token/request", "longest prompt of the batch")
row_prompt = Positive(
    r"s_{\mathrm{row}}", "token/request", "prompt that the average row belongs to"
)
padded_rows = Positive(r"n_{\mathrm{pad}}", "token", "rows of a padded batch")
padding_share = Quantity(
    r"\varphi_{\mathrm{pad}}",
    "dimensionless",
    "share of a padded batch that is padding",
    maximum=1.0,
)
padded_pairs = Positive(r"N_{\mathrm{pad}}", "pair", PAIRS + "padded batch")
masked_pairs = Positive(r"N_{\mathrm{mask}}", "pair", PAIRS + "one square, then masked")
varlen_pairs = Positive(r"N_{\mathrm{var}}", "pair", PAIRS + "one block a request")
useful_pairs = Positive(
    r"N_{\mathrm{use}}", "pair", PAIRS + "that the causal mask allows"
)
wasted_pairs = Quantity(r"N_{\mathrm{waste}}", "pair", PAIRS + "computed for nothing")
masked_ratio = Positive(
    r"\varrho_{\mathrm{mask}}",
    "dimensionless",
    "pairs of one square over pairs of the blocks in it",
)
attn_share = Quantity(
    r"\varphi_{\mathrm{att}}",
    "dimensionless",
    "share of the FLOPs that attention does",
    maximum=1.0,
)
overtake_prompt = Quantity(
    r"s_{\times}",
    "token/request",
    "prompt from which attention does more FLOPs than the linear layers",
)
overtake_square = Positive(
    r"s_{\times}^{\mathrm{quad}}",
    "token/request",
    "the same if whole squares are computed, not triangles",
)
packed_ridge_rows = Positive(
    r"n_{\mathrm{ridge}}^{\mathrm{att}}",
    "token",
    "packed rows that reach the ridge, FLOPs of attention counted",
)
