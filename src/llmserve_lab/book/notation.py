"""The whole book's notation: every letter here has this meaning everywhere.

Order matters: factors and terms are printed in the order of this file, coefficients
first. A new chapter adds its quantities below the section they belong to.
"""

from __future__ import annotations

from functools import cache, partial

from llmserve_lab.book.quantity import Coefficient, Quantity

Positive = partial(Quantity, positive=True)
Count = partial(Quantity, positive=True, whole=True)
Share = partial(Quantity, positive=True, maximum=1.0)

# Coefficients: plain numbers in other books, numbers with a unit in this one.
flops_per_param = Coefficient(
    "flops_per_param",
    "2",
    "FLOP/(parameter*token)",
    "one multiplication and one addition per parameter and token",
    value=2.0,
)
flops_per_product = Coefficient(
    "flops_per_product",
    "2",
    "FLOP/(pair*head*element)",
    "one multiplication and one addition per pair, head and element",
    value=2.0,
)
keys_and_values = Coefficient(
    "keys_and_values", "2", "1/(token*head)", "one key and one value", value=2.0
)
one_latent = Coefficient(
    "one_latent", "1", "1/(token*layer)", "one latent that all heads share", value=1.0
)
pairs_per_row = Coefficient(
    "pairs_per_row",
    "1",
    "pair*request/token**2",
    "one query–key pair per new row and token that it sees",
    value=1.0,
)
one_request = Coefficient("one_request", "1", "request", "one request alone", value=1.0)
own_row = Coefficient("own_row", "1", "token/request", "a row sees itself", value=1.0)

# Shape of the model.
n_layers = Count("n_layers", "n_l", "layer", "layers")
n_heads = Count("n_heads", "h", "head/layer", "query heads")
n_kv_heads = Count("n_kv_heads", r"h_{\mathrm{kv}}", "head/layer", "key–value heads")
d_head = Count("d_head", "d_h", "element", "width of one head")
d_latent = Count("d_latent", "d_c", "element", "width of the latent that MLA caches")
d_rope = Count("d_rope", "d_r", "element", "width of the rotary key that MLA caches")
bytes_weight = Positive("bytes_weight", "w_b", "byte/parameter", "bytes per parameter")
bytes_kv = Positive(
    "bytes_kv", r"\mathrm{kv}_b", "byte/element", "bytes per cached number"
)
params_total = Positive(
    "params_total", r"P_{\mathrm{tot}}", "parameter", "parameters stored"
)
params_active = Positive(
    "params_active", r"P_{\mathrm{act}}", "parameter", "parameters used per token"
)
kv_bytes_per_token = Positive(
    "kv_bytes_per_token", r"\kappa", "byte/token", "KV bytes per token, whole model"
)
attn_flops_per_pair = Positive(
    "attn_flops_per_pair",
    r"f_{\mathrm{pair}}",
    "FLOP/pair",
    "attention FLOPs per query–key pair, whole model",
)

# One iteration: B requests, each with ℓ tokens in cache and c new rows.
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

# The machine.
peak_flops = Positive(
    "peak_flops", r"C_{\mathrm{peak}}", "FLOP/s", "datasheet peak compute"
)
hbm_bw = Positive("hbm_bw", r"W_{\mathrm{hbm}}", "byte/s", "datasheet memory bandwidth")
hbm_bytes = Positive("hbm_bytes", r"M_{\mathrm{hbm}}", "byte", "memory capacity")
eff_compute = Share(
    "eff_compute", "e_c", "dimensionless", "share of peak compute reached"
)
eff_mem = Share("eff_mem", "e_m", "dimensionless", "share of memory bandwidth reached")

# The roofline.
intensity = Positive("intensity", "I", "FLOP/byte", "arithmetic intensity")
linear_intensity = Positive(
    "linear_intensity",
    r"I_{\mathrm{lin}}",
    "FLOP/byte",
    "intensity without the FLOPs of attention",
)
short_intensity = Positive(
    "short_intensity", r"I_{0}", "FLOP/byte", "intensity with nothing in the cache"
)
long_intensity = Positive(
    "long_intensity", r"I_{\ell}", "FLOP/byte", "intensity when the cache dominates"
)
attn_intensity = Positive(
    "attn_intensity", r"I_{\mathrm{att}}", "FLOP/byte", "intensity of attention alone"
)
ridge = Positive("ridge", r"I_{\mathrm{ridge}}", "FLOP/byte", "ridge point")
attainable_flops = Positive(
    "attainable_flops", r"C_{\mathrm{roof}}", "FLOP/s", "compute under the roof"
)
crossover_context = Positive(
    "crossover_context",
    r"\ell_{\times}",
    "token/request",
    "context where KV equals weights",
)
crossover_tokens = Positive(
    "crossover_tokens",
    r"N_{\times}",
    "token",
    "cached tokens whose KV equals the weights",
)
ridge_rows = Positive(
    "ridge_rows",
    r"n_{\mathrm{ridge}}",
    "token",
    "rows that reach the ridge, empty cache",
)
ridge_batch = Positive(
    "ridge_batch", r"B_{\mathrm{ridge}}", "request", "batch that reaches the ridge"
)
ridge_context = Positive(
    "ridge_context",
    r"\ell_{\mathrm{ridge}}",
    "token/request",
    "context from which no batch reaches the ridge",
)
prefill_reach = Positive(
    "prefill_reach",
    r"\ell_{\mathrm{reach}}",
    "token/request",
    "prefix up to which one chunk stays compute-bound, attention FLOPs ignored",
)
batch_fits = Positive(
    "batch_fits", r"B_{\mathrm{fit}}", "request", "requests whose cache fits in memory"
)
context_fits = Positive(
    "context_fits",
    r"\ell_{\mathrm{fit}}",
    "token/request",
    "context at which the batch's cache fills memory",
)
compute_s = Positive("compute_s", "t_c", "s", "time to compute, if memory were free")
weights_s = Positive("weights_s", "t_w", "s", "time to read the weights")
kv_s = Quantity("kv_s", r"t_{\mathrm{kv}}", "s", "time to read the KV cache")
iteration_s = Positive("iteration_s", "t", "s", "lower bound on one iteration")
iterations_per_s = Positive(
    "iterations_per_s", r"\nu", "1/s", "upper bound on iterations per second"
)


@cache
def table() -> dict[str, Quantity]:
    """Every quantity by code name, in the order of the book."""
    found = [item for item in globals().values() if isinstance(item, Quantity)]
    return {item.name: item for item in found}


def quantity(name: str) -> Quantity:
    """Look up a quantity by code name.

    Raises:
        KeyError: the notation has no such name.
    """
    try:
        return table()[name]
    except KeyError:
        raise KeyError(f"name must be in the notation table, got {name!r}") from None


@cache
def rank(name: str) -> int:
    """Place of a quantity in the notation table: the order in which it is printed."""
    return list(table()).index(name)
