"""A twin of a deployment: blocks of a decode step, rates reached, copies sent."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Positive, Share

mla_params = Positive(
    r"P_{\mathrm{MLA}}",
    "parameter",
    "parameters of latent attention, all layers",
)
up_params = Positive(
    r"P_{\uparrow}",
    "parameter",
    "parameters that make keys and values from latents, all layers",
)
expert_stack = Positive(
    r"P_{\mathrm{e}}^{\Sigma}",
    "parameter",
    "parameters of one expert, all layers that have one",
)
other_params = Positive(
    r"P_{\mathrm{rest}}",
    "parameter",
    "parameters outside attention and experts that a step multiplies with",
)
read_rate = Positive(r"W_{\mathrm{read}}", "byte/s", "memory bandwidth reached")
gemm_rate = Positive(r"C_{\mathrm{mm}}", "FLOP/s", "compute reached in weight products")
attn_rate = Positive(
    r"C_{\mathrm{att}}", "FLOP/s", "compute reached in attention proper"
)
far_rate = Positive(r"W_{\mathrm{far}}", "byte/s", "bandwidth of a GPU between nodes")
near_rate = Positive(r"W_{\mathrm{near}}", "byte/s", "bandwidth of a GPU inside a node")
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
    r"E_{\max}",
    "dimensionless",
    "touched experts on the busiest GPU, as balls in bins",
)
dispatched_copies = Positive(
    r"k_{\mathrm{sent}}",
    "dimensionless",
    "copies in which a row goes out",
)
copy_bytes = Positive(
    r"Q_{\mathrm{copy}}",
    "byte/token",
    "bytes of one copy of a row, out and back, all layers",
)
expand_flops = Quantity(
    r"F_{\uparrow}",
    "FLOP",
    "FLOPs that make keys and values of the cache again",
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
    r"s_{\mathrm{quad}}",
    "token/request",
    "prompt whose pairs cost as much as its weight products",
)
mla_bytes = Positive(
    r"Q_{\mathrm{MLA}}", "byte", "bytes that attention reads in a step"
)
mla_read_s = Positive(r"t_{\mathrm{MLA}}^{\mathrm{read}}", "s", "time to read them")
mla_compute_s = Positive(
    r"t_{\mathrm{MLA}}^{\mathrm{mul}}",
    "s",
    "time to compute attention",
)
attn_gemm_row_bytes = Quantity(
    r"q_{\mathrm{att}}^{\mathrm{mm}}",
    "byte/token",
    "bytes of a row in and out of attention's GEMMs, all layers",
)
attn_gemm_read_s = Positive(
    r"t_{\mathrm{att}}^{\mathrm{read}}",
    "s",
    "time that attention's GEMMs read and write",
)
attn_gemm_compute_s = Positive(
    r"t_{\mathrm{att}}^{\mathrm{mul}}",
    "s",
    "time that attention's GEMMs compute",
)
attn_gemm_s = Positive(
    r"t_{\mathrm{att}}^{\mathrm{mm}}", "s", "time of attention's GEMMs"
)
cache_rate = Positive(
    r"W_{\mathrm{KV}}",
    "byte/s",
    "memory bandwidth that the attention kernel reaches",
)
attn_kernel_s = Quantity(
    r"t_{\mathrm{att}}^{\mathrm{KV}}",
    "s",
    "time of the attention kernel",
)
mla_s = Positive(r"t_{\mathrm{MLA}}", "s", "time of attention in a step")
all_to_all_bytes = Positive(
    r"Q_{\mathrm{a2a}}",
    "byte",
    "bytes through the busiest GPU's ports in dispatch and combine",
)
far_share = Quantity(
    r"\varphi_{\mathrm{far}}",
    "dimensionless",
    "share of copies that leave the node",
    maximum=1.0,
)
transfer_starts_s = Quantity(
    r"t_{\mathrm{a2a}}^{0}",
    "s",
    "what all dispatches and combines of a step take before their first byte",
)
flight_s = Quantity(
    r"t_{\mathrm{a2a}}^{\mathrm{fly}}",
    "s",
    "time that dispatch and combine are under way",
)
dispatch_share = Share(
    r"\varphi_{\mathrm{disp}}",
    "dimensionless",
    "dispatch's share of the bytes of dispatch and combine",
)
overlap_slowdown = Quantity(
    r"s_{\mathrm{both}}",
    "dimensionless",
    "by how much computing and sending at once slow each other down",
    maximum=1.0,
)
all_to_all_s = Quantity(r"t_{\mathrm{a2a}}", "s", "time of dispatch and combine")
moe_gemm_row_bytes = Quantity(
    r"q_{\mathrm{ex}}^{\mathrm{mm}}",
    "byte/token",
    "bytes of a row in and out of router and shared expert, all layers",
)
moe_gemm_copy_bytes = Quantity(
    r"q_{\mathrm{copy}}^{\mathrm{mm}}",
    "byte/token",
    "bytes of a copy of a row between an expert's GEMMs, all layers",
)
expert_bytes = Positive(r"Q_{\mathrm{ex}}", "byte", "bytes that experts read in a step")
expert_read_s = Positive(r"t_{\mathrm{ex}}^{\mathrm{read}}", "s", "time experts read")
expert_compute_s = Positive(
    r"t_{\mathrm{ex}}^{\mathrm{mul}}", "s", "time experts compute"
)
experts_s = Positive(r"t_{\mathrm{ex}}", "s", "time of experts in a step")
other_read_s = Positive(
    r"t_{\mathrm{rest}}^{\mathrm{read}}",
    "s",
    "time that dense layers, router and LM head read",
)
other_compute_s = Positive(
    r"t_{\mathrm{rest}}^{\mathrm{mul}}",
    "s",
    "time that they compute",
)
other_s = Positive(
    r"t_{\mathrm{rest}}", "s", "time of dense layers, router and LM head"
)
host_s = Quantity(
    r"t_{\mathrm{host}}",
    "s",
    "time of a step that no kernel accounts for, as sampling and synchronisation",
)
turn_s = Positive(r"t_{\mathrm{turn}}", "s", "time of a step, one thing after another")
attn_phase_s = Positive(r"t_{\mathrm{A}}^{m}", "s", "one batch's time in attention")
moe_phase_s = Positive(r"t_{\mathrm{E}}^{m}", "s", "one batch's time in the experts")
hidden_s = Positive(
    r"t_{\mathrm{hide}}", "s", "time of a step that hides the all-to-alls"
)
stages_s = Positive(
    r"t_{\mathrm{stage}}",
    "s",
    "time of the stages of two halves that wait for each other",
)
halves_s = Positive(r"t_{\mathrm{half}}", "s", "time of a step in two halves")
accepted = Positive(r"a_{\mathrm{tok}}", "token/request", "tokens that a pass yields")
twin_step_s = Positive(
    r"t_{\mathrm{twin}}", "s", "time of a step, in the schedule that runs"
)
user_tokens_per_s = Positive(
    r"X_{\mathrm{user}}",
    "token/(request*s)",
    "tokens per second that one user sees",
)
gpu_tokens_per_s = Positive(
    r"X_{\mathrm{gpu}}", "token/s", "tokens per second of one GPU"
)
resident_bytes = Positive(
    r"M_{\mathrm{fix}}", "byte", "memory of one GPU that weights take"
)
table_params = Positive(
    r"P_{\mathrm{emb}}",
    "parameter",
    "parameters of the embedding table",
)
held_bytes = Positive(r"M_{\mathrm{all}}", "byte", "memory of one GPU that is taken")
gpu_requests = Positive(
    r"B_{\mathrm{gpu}}", "request", "requests on one GPU, all batches"
)
launch_s = Quantity(r"t_{\mathrm{launch}}", "s", "time to launch a kernel")
attn_row_bytes = Quantity(
    r"q_{\mathrm{att}}",
    "byte/token",
    "bytes of a row in attention's elementwise kernels, all layers",
)
attn_launches = Quantity(
    r"N_{\mathrm{att}}",
    "dimensionless",
    "kernels launched for attention in a step",
)
attn_elementwise_s = Quantity(
    r"t_{\mathrm{att}}^{\mathrm{el}}",
    "s",
    "time of attention's elementwise kernels and launches",
)
moe_row_bytes = Quantity(
    r"q_{\mathrm{ex}}",
    "byte/token",
    "bytes of a row in elementwise kernels around the experts, all layers",
)
moe_copy_bytes = Quantity(
    r"q_{\mathrm{copy}}",
    "byte/token",
    "bytes of a copy of a row in elementwise kernels, all layers",
)
moe_launches = Quantity(
    r"N_{\mathrm{ex}}",
    "dimensionless",
    "kernels launched around the experts in a step",
)
moe_elementwise_s = Quantity(
    r"t_{\mathrm{ex}}^{\mathrm{el}}",
    "s",
    "time of elementwise kernels and launches around the experts",
)
block_read_s = Positive(r"t_{\mathrm{blk}}^{\mathrm{read}}", "s", "time a block reads")
block_compute_s = Positive(r"t_{\mathrm{blk}}^{\mathrm{mul}}", "s", "time it computes")
sharp_s = Positive(r"t_{\mathrm{sharp}}", "s", "time of a block by the sharp roofline")
n_redundant = Quantity(
    r"E_{\mathrm{extra}}", "dimensionless", "redundant copies of experts"
)
node_gpus = Positive(
    r"g_{\mathrm{node}}", "dimensionless", "GPUs of a node", minimum=1.0
)
