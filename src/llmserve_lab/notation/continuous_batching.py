"""Iterations that mix a chunk with decodes, and the price of cutting a prompt."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Positive, Share

mean_answer = Positive("mean_answer", r"\mu_u", "token/request", "mean answer")
longest_answer = Positive(
    "longest_answer", r"u_{\max}", "token/request", "longest answer of the batch"
)
idle_slots = Quantity(
    "idle_slots",
    r"\varphi_{\mathrm{slot}}",
    "dimensionless",
    "share of slots that a frozen batch leaves idle",
    maximum=1.0,
)
n_decodes = Quantity(
    "n_decodes", r"B_{\mathrm{dec}}", "request", "requests that decode beside a chunk"
)
decode_context = Quantity(
    "decode_context",
    r"\ell_{\mathrm{dec}}",
    "token/request",
    "tokens in cache of each request that decodes",
)
decodes_s = Quantity(
    "decodes_s", r"t_{\mathrm{dec}}", "s", "time to compute the decodes of an iteration"
)
mfu = Share(
    "mfu", r"\mathrm{MFU}", "dimensionless", "share of datasheet compute in use"
)
num_chunks = Positive("num_chunks", "n_c", "dimensionless", "chunks of a prompt")
last_prefix = Quantity(
    "last_prefix",
    r"\ell_{\mathrm{last}}",
    "token/request",
    "tokens in cache when the last chunk of a prompt starts",
)
block_pairs = Positive(
    "block_pairs", r"N_{\mathrm{blk}}", "pair", "pairs in the block of one chunk"
)
prompt_block_pairs = Positive(
    "prompt_block_pairs", r"N_{\mathrm{blk}}^{s}", "pair", "pairs in all its blocks"
)
reread_tokens = Quantity(
    "reread_tokens",
    r"R_{\mathrm{kv}}",
    "token/request",
    "cached tokens that the chunks of a prompt read again",
)
rereads = Quantity(
    "rereads",
    r"\rho_{\mathrm{kv}}",
    "dimensionless",
    "times that the average token of a prompt is read again",
)
prompt_compute_s = Positive(
    "prompt_compute_s", "t_c^{s}", "s", "time to compute a whole prompt"
)
prompt_weights_s = Positive(
    "prompt_weights_s", "t_w^{s}", "s", "time to read the weights for every chunk"
)
prompt_kv_s = Quantity(
    "prompt_kv_s", r"t_{\mathrm{kv}}^{s}", "s", "time to read the prefix of every chunk"
)
prompt_s = Positive("prompt_s", "t^{s}", "s", "lower bound on a prefill in chunks")
hiding_chunk = Positive(
    "hiding_chunk",
    r"c_{\mathrm{hide}}",
    "token/request",
    "chunk behind whose arithmetic its prefix can be read",
)
tbt_target = Positive(
    "tbt_target",
    r"\operatorname{TBT}_{\max}",
    "s",
    "longest gap between two tokens allowed",
)
spare_flops = Positive(
    "spare_flops", r"F_{\mathrm{spare}}", "FLOP", "FLOPs that a target leaves free"
)
row_flops = Positive(
    "row_flops", r"F_{\mathrm{row}}", "FLOP*request/token", "FLOPs of one row more"
)
chunk_fits = Positive(
    "chunk_fits", r"c_{\mathrm{fit}}", "token/request", "largest chunk within a target"
)
num_iterations = Positive(
    "num_iterations",
    r"n_{\mathrm{it}}",
    "dimensionless",
    "iterations that a prompt needs if each is filled up to a target",
)
