"""An LLM end to end: the parameters of a block, and two ways to run the loop."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Count, Positive

ffn_matrices = Count(
    r"N_{\mathrm{ffn}}",
    "parameter/(element**2*layer)",
    "matrices of the FFN: 3 with SwiGLU, 2 with GeLU",
)
norm_vectors = Count(
    r"N_{\mathrm{norm}}",
    "parameter/(element*layer)",
    "vectors of the two norms: 2 with RMSNorm, 4 with LayerNorm",
)
d_model = Count("d", "element", "width of a row, the hidden dimension")
d_ff = Count(r"d_{\mathrm{ff}}", "element", "width inside the FFN")
attn_params = Positive(
    r"P_{\mathrm{att}}", "parameter/layer", "parameters of attention"
)
ffn_params = Positive(r"P_{\mathrm{ffn}}", "parameter/layer", "parameters of the FFN")
norm_params = Positive(
    r"P_{\mathrm{norm}}", "parameter/layer", "parameters of the norms"
)
block_params = Positive(
    r"P_{\mathrm{block}}", "parameter/layer", "parameters of a block"
)
params_head = Positive(r"P_{\mathrm{head}}", "parameter", "parameters of the LM head")
prompt_len = Positive("s", "token/request", "tokens of the prompt")
new_tokens = Positive("u", "token/request", "tokens to generate")
step = Quantity("j", "token/request", "tokens generated before this pass")
step_len = Positive("n_j", "token/request", "length of the sequence so far")
step_pairs = Positive(
    r"N_{\mathrm{pair},j}", "pair", "pairs of one pass over all of it"
)
recompute_rows = Positive(r"n_{\mathrm{again}}", "token", "rows of an answer, no cache")
cached_rows = Positive(r"n_{\mathrm{once}}", "token", "rows of an answer, with a cache")
recompute_pairs = Positive(
    r"N_{\mathrm{pair}}^{\mathrm{again}}",
    "pair",
    "query–key pairs of an answer, no cache",
)
cached_pairs = Positive(
    r"N_{\mathrm{pair}}^{\mathrm{once}}",
    "pair",
    "query–key pairs of an answer, with a cache",
)
rows_ratio = Positive(
    r"\rho_{\mathrm{row}}", "dimensionless", "rows again over rows once"
)
pairs_ratio = Positive(
    r"\rho_{\mathrm{pair}}", "dimensionless", "pairs again over pairs once"
)
long_prompt_ratio = Positive(
    r"\rho_{s \to \infty}", "dimensionless", "again over once, for a prompt without end"
)
long_answer_rows = Positive(
    r"\rho_{\mathrm{row}}^{u \to \infty}",
    "dimensionless",
    "rows again over once, for a very long answer",
)
long_answer_pairs = Positive(
    r"\rho_{\mathrm{pair}}^{u \to \infty}",
    "dimensionless",
    "pairs again over once, for a very long answer",
)
recompute_flops = Positive(
    r"F_{\mathrm{again}}", "FLOP", "FLOPs of an answer, no cache"
)
cached_flops = Positive(
    r"F_{\mathrm{once}}", "FLOP", "FLOPs of an answer, with a cache"
)
flops_ratio = Positive(r"\rho_{F}", "dimensionless", "FLOPs again over FLOPs once")
kv_held_bytes = Positive(
    r"Q_{\mathrm{kv}}^{\mathrm{held}}", "byte", "cache that an answer leaves behind"
)
