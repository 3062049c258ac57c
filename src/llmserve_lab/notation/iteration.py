"""One iteration: B requests, each with ℓ tokens in cache and c new rows."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Positive

chunk = Positive("c", "token/request", "new rows per request")
context = Quantity(
    r"\ell", "token/request", "tokens in cache when the iteration starts"
)
batch = Positive("B", "request", "requests in one batch")
n_rows = Positive("n", "token", "token rows in one forward pass")
attn_pairs = Positive(r"N_{\mathrm{pair}}", "pair", "query–key pairs")
linear_flops = Positive(r"F_{\mathrm{lin}}", "FLOP", "FLOPs of the linear layers")
attn_flops = Positive(r"F_{\mathrm{att}}", "FLOP", "FLOPs of attention")
iteration_flops = Positive("F", "FLOP", "FLOPs of one iteration")
weight_bytes = Positive("Q_w", "byte", "weight bytes read")
stored_bytes = Positive("M_w", "byte", "weight bytes stored")
kv_read_bytes = Quantity(r"Q_{\mathrm{kv}}", "byte", "KV bytes read")
kv_write_bytes = Positive(r"Q_{\mathrm{kv}}^{\mathrm{new}}", "byte", "KV bytes written")
iteration_bytes = Positive("Q", "byte", "bytes read from memory in one iteration")
