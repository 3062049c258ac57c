"""A twin of a deployment: blocks of a decode step, rates reached, copies sent."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Positive

mla_params = Positive(
    r"P_{\mathrm{MLA}}", "parameter", "parameters of latent attention, all layers"
)
up_params = Positive(
    r"P_{\uparrow}",
    "parameter",
    "those that make keys and values from latents, all layers",
)
expert_stack = Positive(
    r"P_{\mathrm{e}}^{\Sigma}",
    "parameter",
    "parameters of one expert, all layers that have one",
)
rest_params = Positive(
    r"P_{\mathrm{rest}}",
    "parameter",
    "parameters outside attention and experts that a step multiplies with",
)
read_rate = Positive(r"W_{\mathrm{read}}", "byte/s", "memory bandwidth reached")
gemm_rate = Positive(r"C_{\mathrm{mm}}", "FLOP/s", "compute reached in weight products")
attn_rate = Positive(
    r"C_{\mathrm{att}}", "FLOP/s", "compute reached in attention proper"
)
far_rate = Positive(r"W_{\mathrm{far}}", "byte/s", "bandwidth reached between nodes")
near_rate = Positive(r"W_{\mathrm{near}}", "byte/s", "bandwidth reached inside a node")
n_nodes = Positive(
    r"N_{\mathrm{node}}", "dimensionless", "nodes of the group", minimum=1.0
)
local_experts = Positive(
    r"E_{\mathrm{gpu}}", "dimensionless", "routed experts on one GPU"
)
read_experts = Positive(
    r"E_{\mathrm{read}}",
    "dimensionless",
    "routed experts of one GPU that a batch touches",
)
busiest_experts = Positive(
    r"E_{\max}", "dimensionless", "touched experts on the busiest GPU, as balls in bins"
)
sent_copies = Positive(
    r"k_{\mathrm{sent}}", "dimensionless", "copies in which a row goes out"
)
copy_bytes = Positive(
    r"Q_{\mathrm{copy}}",
    "byte/token",
    "bytes of one copy of a row, out and back, all layers",
)
expand_flops = Quantity(
    r"F_{\uparrow}", "FLOP", "FLOPs that make keys and values of the cache again"
)
vanilla_pair_flops = Positive(
    r"f_{\mathrm{pair}}^{\uparrow}",
    "FLOP/pair",
    "attention FLOPs per pair, on keys and values made from latents",
)
absorb_rows = Positive(
    r"c_{\uparrow}",
    "token/request",
    "new rows from which making keys and values is cheaper",
)
quadratic_prompt = Positive(
    r"s_{\square}",
    "token/request",
    "prompt whose pairs cost as much as its weight products",
)
mla_bytes = Positive(
    r"Q_{\mathrm{MLA}}", "byte", "bytes that attention reads in a step"
)
mla_read_s = Positive(r"t_{\mathrm{MLA}}^{\mathrm{read}}", "s", "time to read them")
mla_compute_s = Positive(
    r"t_{\mathrm{MLA}}^{\mathrm{mul}}", "s", "time to compute attention"
)
mla_s = Positive(r"t_{\mathrm{MLA}}", "s", "time of attention in a step")
wire_bytes = Positive(
    r"Q_{\mathrm{wire}}",
    "byte",
    "bytes through the busiest GPU's ports in dispatch and combine",
)
far_share = Quantity(
    r"\varphi_{\mathrm{far}}",
    "dimensionless",
    "share of copies that leave the node",
    maximum=1.0,
)
trips_s = Quantity(
    r"t_{\mathrm{trip}}",
    "s",
    "what all dispatches and combines of a step take before their first byte",
)
wire_s = Quantity(r"t_{\mathrm{wire}}", "s", "time of dispatch and combine")
expert_bytes = Positive(r"Q_{\mathrm{ex}}", "byte", "bytes that experts read in a step")
expert_read_s = Positive(r"t_{\mathrm{ex}}^{\mathrm{read}}", "s", "time experts read")
expert_compute_s = Positive(
    r"t_{\mathrm{ex}}^{\mathrm{mul}}", "s", "time experts compute"
)
experts_s = Positive(r"t_{\mathrm{ex}}", "s", "time of experts in a step")
rest_s = Positive(r"t_{\mathrm{rest}}", "s", "time of dense layers, router and LM head")
turn_s = Positive(r"t_{\mathrm{turn}}", "s", "time of a step, one thing after another")
hidden_s = Positive(r"t_{\mathrm{hide}}", "s", "time of a step that hides the wire")
accepted = Positive(r"a_{\mathrm{tok}}", "token/request", "tokens that a step leaves")
twin_step_s = Positive(r"t_{\mathrm{twin}}", "s", "time of a step")
user_tokens_per_s = Positive(
    r"X_{\mathrm{user}}", "token/(request*s)", "tokens per second that one user sees"
)
gpu_tokens_per_s = Positive(
    r"X_{\mathrm{gpu}}", "token/s", "tokens per second of one GPU"
)
resident_bytes = Positive(
    r"M_{\mathrm{fix}}", "byte", "memory of one GPU that weights take"
)
table_params = Positive(
    r"P_{\mathrm{emb}}", "parameter", "parameters of the embedding table"
)
held_bytes = Positive(r"M_{\mathrm{all}}", "byte", "memory of one GPU that is taken")
gpu_requests = Positive(
    r"B_{\mathrm{gpu}}", "request", "requests on one GPU, all batches"
)
row_pass_bytes = Positive(
    r"Q_{\mathrm{row}}",
    "byte/token",
    "bytes that a row moves between the products, all layers",
)
copy_pass_bytes = Positive(
    r"Q_{\mathrm{unp}}",
    "byte/token",
    "bytes that each copy of a row moves there as well",
)
pass_bytes = Positive(
    r"Q_{\mathrm{pass}}", "byte", "bytes that rows move between the products of a step"
)
n_kernels = Positive(r"N_{\mathrm{ker}}", "dimensionless", "kernels started in a step")
start_s = Quantity(r"t_{\mathrm{start}}", "s", "time to start a kernel")
pass_s = Quantity(r"t_{\mathrm{pass}}", "s", "time between the products")
block_read_s = Positive(r"t_{\mathrm{blk}}^{\mathrm{read}}", "s", "time a block reads")
block_compute_s = Positive(r"t_{\mathrm{blk}}^{\mathrm{mul}}", "s", "time it computes")
sharp_s = Positive(r"t_{\mathrm{sharp}}", "s", "time of a block by the sharp roofline")
n_redundant = Quantity(
    r"E_{\mathrm{extra}}", "dimensionless", "redundant copies of experts"
)
node_gpus = Positive(
    r"g_{\mathrm{node}}", "dimensionless", "GPUs of a node", minimum=1.0
)
