"""Iterations that mix a chunk with decodes, and the price of cutting a prompt."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Positive, Share

mean_answer = Positive(r"\mu_u", "token/request", "mean answer")
longest_answer = Positive(r"u_{\max}", "token/request", "longest answer of the batch")
idle_slots = Quantity(
    r"\varphi_{\mathrm{slot}}",
    "dimensionless",
    "share of slot-steps that a static batch wastes",
    maximum=1.0,
)
n_decodes = Quantity(
    r"B_{\mathrm{dec}}", "request", "requests that decode beside a chunk"
)
decode_context = Quantity(
    r"\ell_{\mathrm{dec}}",
    "token/request",
    "tokens in cache of each request that decodes",
)
decodes_s = Quantity(
    r"t_{\mathrm{dec}}", "s", "time to compute the decodes of an iteration"
)
mfu = Share(r"\mathrm{MFU}", "dimensionless", "share of datasheet compute in use")
num_chunks = Positive("n_c", "dimensionless", "chunks of a prompt")
last_prefix = Quantity(
    r"\ell_{\mathrm{last}}",
    "token/request",
    "tokens in cache when the last chunk of a prompt starts",
)
block_pairs = Positive(r"N_{\mathrm{blk}}", "pair", "pairs in the block of one chunk")
prompt_block_pairs = Positive(
    r"N_{\mathrm{blk}}^{s}", "pair", "pairs in all its blocks"
)
reread_tokens = Quantity(
    r"R_{\mathrm{kv}}",
    "token/request",
    "cached tokens that the chunks of a prompt read again",
)
rereads = Quantity(
    r"\rho_{\mathrm{kv}}",
    "dimensionless",
    "times that the average token of a prompt is read again",
)
prompt_compute_s = Positive("t_c^{s}", "s", "time to compute a whole prompt")
prompt_weights_s = Positive("t_w^{s}", "s", "time to read the weights for every chunk")
prompt_kv_s = Quantity(
    r"t_{\mathrm{kv}}^{s}", "s", "time to read the prefix of every chunk"
)
prompt_s = Positive("t^{s}", "s", "lower bound on a prefill in chunks")
hiding_chunk = Positive(
    r"c_{\mathrm{hide}}",
    "token/request",
    "chunk behind whose arithmetic its prefix can be read",
)
tbt_target = Positive(
    r"\operatorname{TBT}_{\max}", "s", "longest gap between two tokens allowed"
)
spare_flops = Positive(r"F_{\mathrm{spare}}", "FLOP", "FLOPs that a target leaves free")
row_flops = Positive(r"F_{\mathrm{row}}", "FLOP*request/token", "FLOPs of one row more")
chunk_fits = Positive(
    r"c_{\mathrm{fit}}", "token/request", "largest chunk within a target"
)
num_iterations = Positive(
    r"n_{\mathrm{it}}",
    "dimensionless",
    "iterations that a prompt needs if each is filled up to a target",
)
linear_s = Positive(
    r"t_{\mathrm{lin}}", "s", "time to compute the linear layers of an iteration"
)
pairs_s = Positive(r"t_{\mathrm{att}}", "s", "time to compute its attention")
chunks_s = Positive(
    r"t^{s}_{\mathrm{chunks}}", "s", "time of a prefill in chunks on a served machine"
)
reading_gap_s = Positive(
    r"\overline{\operatorname{TBT}}", "s", "mean gap while a prompt is read in chunks"
)
served_iteration_s = Positive(
    r"t_{\mathrm{it}}", "s", "time of a mixed iteration on a served machine"
)
