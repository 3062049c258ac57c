"""Memory for keys and values: what is left of a GPU, blocks, sharing, preemption."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Count, Positive, Share

usable_bytes = Positive(
    r"M_{\mathrm{use}}", "byte", "memory of a GPU that a program can allocate"
)
memory_share = Share(
    r"u_{\mathrm{mem}}", "dimensionless", "share of it that the server may take"
)
beside_bytes = Quantity(
    r"M_{\mathrm{act}}", "byte", "working space of a GPU: activations and buffers"
)
cache_bytes = Positive(
    r"M_{\mathrm{kv}}", "byte", "memory left for the KV cache, all GPUs"
)
block_tokens = Count("b", "token", "tokens of one KV-cache block")
block_bytes = Positive(r"Q_{\mathrm{block}}", "byte", "bytes of one KV-cache block")
num_blocks = Positive(r"N_{\mathrm{block}}", "dimensionless", "KV-cache blocks")
cache_tokens = Positive(r"L_{\mathrm{kv}}", "token", "tokens that the KV cache holds")
mean_held = Positive(
    r"\mu_{\ell}", "token/request", "mean tokens that a request has in cache"
)
reserved_len = Positive(
    r"\ell_{\max}", "token/request", "longest context that is reserved for"
)
reserved_share = Share(
    r"\varphi_{\mathrm{res}}", "dimensionless", "share of a reservation that is used"
)
paged_share = Share(
    r"\varphi_{\mathrm{page}}",
    "dimensionless",
    "share of taken blocks that is used",
)
num_samples = Count(r"n_{\mathrm{smp}}", "dimensionless", "answers to one prompt")
sharing_share = Quantity(
    r"\varphi_{\mathrm{cow}}",
    "dimensionless",
    "share of the memory that sharing a prompt saves",
    maximum=1.0,
)
window = Positive("w", "token/request", "tokens that a sliding-window layer looks back")
full_token_bytes = Quantity(
    r"\kappa_{\mathrm{full}}", "byte/token", "KV bytes per token of layers that see all"
)
window_token_bytes = Quantity(
    r"\kappa_{\mathrm{win}}",
    "byte/token",
    "KV bytes per token of window layers",
)
state_bytes = Quantity(
    r"Q_{\mathrm{state}}",
    "byte/request",
    "state of linear-attention layers, however long the text",
)
request_cache_bytes = Positive(
    r"Q_{\mathrm{req}}", "byte/request", "bytes that one request keeps in the cache"
)
host_bw = Positive(
    r"W_{\mathrm{host}}", "byte/s", "bandwidth between a GPU and its host's memory"
)
swap_s = Positive(r"t_{\mathrm{swap}}", "s", "time to copy a cache out and in again")
redo_s = Positive(r"t_{\mathrm{redo}}", "s", "time to compute a cache again")
swap_bw = Positive(
    r"W_{\mathrm{even}}", "byte/s", "host bandwidth at which swapping takes as long"
)
