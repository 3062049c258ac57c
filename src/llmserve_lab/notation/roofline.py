"""The roofline: intensity, ridge, what crosses it, and the times of the two bills."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Positive, Share

intensity = Positive("I", "FLOP/byte", "arithmetic intensity")
linear_intensity = Positive(
    r"I_{\mathrm{lin}}", "FLOP/byte", "intensity without the FLOPs of attention"
)
short_intensity = Positive(r"I_{0}", "FLOP/byte", "intensity with nothing in the cache")
long_intensity = Positive(
    r"I_{\ell}", "FLOP/byte", "intensity when the cache dominates"
)
attn_intensity = Positive(
    r"I_{\mathrm{att}}", "FLOP/byte", "intensity of attention alone"
)
endless_intensity = Positive(
    r"I_{\infty}", "FLOP/byte", "intensity in a batch without end"
)
ridge = Positive(r"I_{\mathrm{ridge}}", "FLOP/byte", "ridge point")
attainable_flops = Positive(r"C_{\mathrm{roof}}", "FLOP/s", "compute under the roof")
crossover_context = Positive(
    r"\ell_{\times}", "token/request", "context where KV equals weights"
)
crossover_tokens = Positive(
    r"N_{\times}", "token", "cached tokens whose KV equals the weights"
)
ridge_rows = Positive(
    r"n_{\mathrm{ridge}}", "token", "rows that reach the ridge, empty cache"
)
ridge_batch = Positive(r"B_{\mathrm{ridge}}", "request", "batch that reaches the ridge")
ridge_context = Positive(
    r"\ell_{\mathrm{ridge}}",
    "token/request",
    "context from which no batch reaches the ridge",
)
prefill_reach = Positive(
    r"\ell_{\mathrm{reach}}",
    "token/request",
    "prefix up to which one chunk stays compute-bound, attention FLOPs ignored",
)
batch_fits = Positive(
    r"B_{\mathrm{fit}}", "request", "requests whose cache fits in memory"
)
context_fits = Positive(
    r"\ell_{\mathrm{fit}}",
    "token/request",
    "context at which the batch's cache fills memory",
)
compute_s = Positive("t_c", "s", "time to compute, if memory were free")
weights_s = Positive("t_w", "s", "time to read the weights")
kv_s = Quantity(r"t_{\mathrm{kv}}", "s", "time to read the KV cache")
iteration_s = Positive("t", "s", "lower bound on one iteration")
iterations_per_s = Positive(r"\nu", "1/s", "upper bound on iterations per second")
measured_s = Positive(r"t_{\mathrm{meas}}", "s", "measured time")
mbu = Share(r"\mathrm{MBU}", "dimensionless", "share of datasheet bandwidth in use")
