"""One iteration: B requests, each with ℓ tokens in cache and c new rows."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Positive

chunk = Positive("chunk", "c", "token/request", "new rows per request")
context = Quantity(
    "context", r"\ell", "token/request", "tokens in cache when the iteration starts"
)
batch = Positive("batch", "B", "request", "requests in one batch")
n_rows = Positive("n_rows", "n", "token", "token rows in one forward pass")
attn_pairs = Positive("attn_pairs", r"N_{\mathrm{pair}}", "pair", "query–key pairs")
linear_flops = Positive(
    "linear_flops", r"F_{\mathrm{lin}}", "FLOP", "FLOPs of the linear layers"
)
attn_flops = Positive("attn_flops", r"F_{\mathrm{att}}", "FLOP", "FLOPs of attention")
iteration_flops = Positive("iteration_flops", "F", "FLOP", "FLOPs of one iteration")
weight_bytes = Positive("weight_bytes", "Q_w", "byte", "weight bytes read")
kv_read_bytes = Quantity("kv_read_bytes", r"Q_{\mathrm{kv}}", "byte", "KV bytes read")
kv_write_bytes = Positive(
    "kv_write_bytes", r"Q_{\mathrm{kv}}^{\mathrm{new}}", "byte", "KV bytes written"
)
iteration_bytes = Positive(
    "iteration_bytes", "Q", "byte", "bytes read from memory in one iteration"
)
