"""The shape of a model, and the sizes that follow from it."""

from llmserve_lab.notation.kinds import Count, Positive

n_layers = Count("n_layers", "n_l", "layer", "layers")
n_heads = Count("n_heads", "h", "head/layer", "query heads")
n_kv_heads = Count("n_kv_heads", r"h_{\mathrm{kv}}", "head/layer", "key–value heads")
d_head = Count("d_head", "d_h", "element", "width of one head")
d_latent = Count("d_latent", "d_c", "element", "width of the latent that MLA caches")
d_rope = Count("d_rope", "d_r", "element", "width of the rotary key that MLA caches")
bytes_weight = Positive("bytes_weight", "w_b", "byte/parameter", "bytes per parameter")
bytes_kv = Positive(
    "bytes_kv", r"\operatorname{kv}_b", "byte/element", "bytes per cached number"
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
