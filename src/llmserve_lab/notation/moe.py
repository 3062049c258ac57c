"""A mixture of experts: what is stored, what a row touches, what ranks exchange."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Count, Positive, Share

n_experts = Count("E", "dimensionless", "routed experts of a layer", maximum=4096)
n_shared = Quantity(
    "E_s", "dimensionless", "shared experts, which see all rows", whole=True
)
top_k = Count("k", "dimensionless", "experts that a token is sent to", maximum=32)
d_expert = Count(r"d_{\mathrm{e}}", "element", "width inside an expert")
ep = Count(
    r"g_{\mathrm{ep}}", "dimensionless", "GPUs that share the experts",
    maximum=4096,
)  # fmt: skip
tp = Count(r"g_{\mathrm{tp}}", "dimensionless", "ranks that share out one attention")
expert_params = Positive(
    r"P_{\mathrm{e}}", "parameter/layer", "parameters of one expert"
)
router_params = Positive(
    r"P_{\mathrm{r}}", "parameter/layer", "parameters of the router"
)
moe_params = Positive(
    r"P_{\mathrm{moe}}", "parameter/layer", "parameters of an MoE FFN"
)
moe_active = Positive(
    r"P_{\mathrm{moe}}^{\mathrm{act}}",
    "parameter/layer",
    "parameters of an MoE FFN that a row touches",
)
active_share = Share(
    r"\varphi_{\mathrm{act}}", "dimensionless", "share of an MoE FFN that a row touches"
)
touched_experts = Positive(
    r"E_{\mathrm{n}}",
    "dimensionless",
    "routed experts that at least one row of a batch is sent to",
)
moe_read_bytes = Positive(
    r"Q_{\mathrm{moe}}", "byte/layer", "bytes of an MoE FFN that a batch reads"
)
read_ratio = Positive(
    r"\rho_{\mathrm{act}}",
    "dimensionless",
    "bytes of an MoE FFN that a batch reads, over those of its active parameters",
)
rows_per_expert = Positive(
    r"\overline{n}_{\mathrm{e}}", "token", "mean rows of an expert"
)
expert_intensity = Positive(
    r"I_{\mathrm{e}}",
    "FLOP/byte",
    "FLOPs of the experts over the bytes of those that are touched",
)
moe_ridge_rows = Positive(
    r"n_{\mathrm{ridge}}^{\mathrm{e}}", "token", "rows that bring experts to the ridge"
)
slice_intensity = Positive(
    r"I_{\mathrm{slice}}",
    "FLOP/byte",
    "intensity of one matrix of an expert, cut by columns",
)
slice_limit = Positive(
    r"I_{\mathrm{slice}}^{\infty}", "FLOP/byte", "the same with rows without end"
)
row_copies = Positive(
    "N_c",
    "dimensionless",
    "copies in which a row goes out, one that stays at home included",
)
row_out_bytes = Positive(
    r"Q_{\mathrm{out}}", "byte/token", "bytes of all copies of a row"
)
ep_bytes = Quantity(
    r"Q_{\mathrm{ep}}", "byte", "bytes that leave a rank in dispatch and combine"
)
ffn_tp_bytes = Quantity(
    r"Q_{\mathrm{tp}}", "byte", "bytes that leave a rank when every expert is sliced"
)
tp_block_bytes = Quantity(
    r"Q_{\mathrm{tp}}^{\mathrm{block}}",
    "byte",
    "bytes that leave a rank in a block, both halves sliced",
)
sp_bytes = Quantity(
    r"Q_{\mathrm{sp}}",
    "byte",
    "bytes that leave a rank in all-gather and reduce-scatter around attention",
)
composed_bytes = Quantity(
    r"Q_{\mathrm{tp\times ep\times sp}}",
    "byte",
    "bytes that leave a rank in a block, TP × EP × SP",
)
hot_share = Quantity(
    r"\varphi_{\mathrm{hot}}",
    "dimensionless",
    "share of all choices that is drawn to the experts of one GPU",
    maximum=1.0,
)
busiest_rows = Positive(r"n_{\max}", "token", "rows that the busiest rank is sent")
balancedness = Share(
    r"\beta_{\mathrm{bal}}", "dimensionless", "mean over largest load of a GPU"
)
hot_bytes = Positive(
    r"Q_{\mathrm{hot}}", "byte", "bytes that a rank has for the busiest"
)
cold_bytes = Quantity(r"Q_{\mathrm{cold}}", "byte", "bytes that a rank has for another")
gpu_rows = Positive(r"n_{\mathrm{gpu}}", "token", "tokens of one GPU's own requests")
routed_bytes = Positive(
    r"M_{\mathrm{ex}}", "byte", "weights of all routed experts, all layers"
)
replicated_bytes = Positive(
    r"M_{\mathrm{rep}}",
    "byte",
    "weights that every GPU holds: attention, shared experts, routers, embedding",
)
engine_bytes = Positive(
    r"M_{\mathrm{eng}}",
    "byte",
    "memory of a GPU for weights and caches, without working space",
)
reserved_bytes = Positive(
    r"M_{\mathrm{keep}}", "byte", "memory of a GPU kept for caches"
)
gpu_weight_bytes = Positive(
    r"M_{\mathrm{gpu}}", "byte", "weights that one GPU holds, experts included"
)
least_ep = Count(r"g_{\min}", "dimensionless", "fewest GPUs on which the experts fit")
one_copy_bytes = Positive(
    r"b_{\mathrm{copy}}", "byte/(token*layer)", "bytes of one copy of a token, one way"
)
copy_start_s = Quantity(
    r"t_{\mathrm{copy}}^{0}",
    "s/layer",
    "time of a dispatch or combine before its bytes",
)
copies_s = Positive(
    r"t_{\mathrm{copy}}", "s/layer", "time of a dispatch, or of a combine"
)
layer_read_s = Positive(
    r"t_{\mathrm{e}}^{\mathrm{read}}",
    "s/layer",
    "time to read the touched experts of a GPU",
)
layer_compute_s = Positive(
    r"t_{\mathrm{e}}^{\mathrm{mul}}",
    "s/layer",
    "time to compute the routed experts of a GPU",
)
capacity_factor = Positive(
    r"c_{\mathrm{cap}}", "dimensionless", "capacity of an expert over its mean rows"
)
expert_capacity = Positive(
    r"n_{\mathrm{cap}}", "token", "rows that an expert accepts, the rest is dropped"
)
