"""The shape of a model, and the sizes that follow from it."""

from llmserve_lab.notation.kinds import Count, Positive

n_layers = Count("n_l", "layer", "layers")
n_heads = Count("h", "head/layer", "query heads")
n_kv_heads = Count(r"h_{\mathrm{kv}}", "head/layer", "key–value heads")
d_head = Count("d_h", "element", "width of one head")
d_latent = Count("d_c", "element", "width of the latent that MLA caches")
d_rope = Count("d_r", "element", "width of the rotary key that MLA caches")
bytes_weight = Positive("w_b", "byte/parameter", "bytes per parameter")
bytes_kv = Positive(r"\operatorname{kv}_b", "byte/element", "bytes per cached number")
params_total = Positive(r"P_{\mathrm{tot}}", "parameter", "parameters stored")
params_read = Positive(
    r"P_{\mathrm{read}}", "parameter", "parameters read in an iteration"
)
params_active = Positive(r"P_{\mathrm{act}}", "parameter", "parameters used per token")
kv_bytes_per_token = Positive(
    r"\kappa", "byte/token", "KV bytes per token, whole model"
)
attn_flops_per_pair = Positive(
    r"f_{\mathrm{pair}}", "FLOP/pair", "attention FLOPs per query–key pair, whole model"
)
