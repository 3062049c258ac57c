"""Attention/FFN disaggregation: loads of slots, times of the stages, ratios."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Count, Positive, Share

RATIO = "Attention machines per FFN machine "

p_stop = Share(r"\pi", "dimensionless", "chance that an answer ends at a step")
mean_decode = Quantity(r"\mu_D", "token/request", "mean of D, tokens generated")
n_requests = Positive(r"N_{\mathrm{req}}", "request", "requests per Attention machine")
step_index = Quantity("i", "dimensionless", "steps of a batch so far", whole=True)
n_steps = Positive("K", "dimensionless", "steps of a batch in a run")
decode_load = Quantity(
    r"\overline{D}_i", "token", "expected generated tokens in the slots"
)
next_decode_load = Quantity(r"\overline{D}_{i+1}", "token", "the same one step later")
step_load = Quantity(
    r"\overline{T}_i", "token", "expected tokens in all slots at a step"
)
horizon_load = Quantity(r"\overline{T}_K", "token", "expected tokens, mean over a run")
slot_tokens = Positive(
    r"\theta", "token/request", "tokens that a slot holds on average"
)
mean_steps = Positive(
    r"\overline{u}", "token/request", "mean steps that a request takes"
)
mean_square_steps = Positive(
    r"\overline{u^2}", "token**2/request**2", "mean square of the steps of a request"
)
mean_prompt_steps = Quantity(
    r"\overline{s u}",
    "token**2/request**2",
    "mean product of prompt and steps of a request",
)
prompt_variance = Quantity(
    r"\sigma_s^2", "token**2/request**2", "variance of the prompts"
)
slot_sd = Positive(r"\sigma_\theta", "token/request", "spread of the tokens in a slot")
a_attn = Positive("a_A", "s/token", "Attention time per token that it reads")
b_attn = Positive("b_A", "s", "Attention time that no token adds to")
a_ffn = Positive("a_F", "s/request", "FFN time per request")
b_ffn = Positive("b_F", "s", "FFN time that no request adds to")
a_comm = Positive("a_C", "s/request", "round trip on the wire per request")
b_comm = Positive("b_C", "s", "round trip that no request adds to")
n_batches = Count("m", "dimensionless", "batches in flight (of a prefill: all batches)")
token_load = Positive("T", "token", "tokens attended to in a step")
af_ratio = Positive("r", "dimensionless", RATIO.strip())
attn_s = Positive("t_A", "s", "Attention time of a batch in one layer")
ffn_s = Positive("t_F", "s", "FFN time of an aggregated batch in one layer")
comm_s = Quantity("t_C", "s", "time of a batch on the wire in one layer, both ways")
attn_sd_s = Positive(r"\sigma_A", "s", "spread of a machine's mean Attention time")
cycle_s = Positive(r"\tau", "s", "time from one batch to the next")
loop_s = Positive(r"t_{\circlearrowleft}", "s", "time of a loop over the batches in it")
port_s = Quantity(
    r"t_{\mathrm{port}}", "s", "time that a batch takes a port in one direction"
)
pipeline_s = Positive(r"\tau_m", "s", "time between two batches, loop counted")
period_s = Positive(
    r"\tau_{\circlearrowleft}", "s", "time between two batches, loop and ports counted"
)
instance_tokens_per_s = Positive("X", "token/s", "tokens per second and machine")
pipeline_tokens_per_s = Positive("X_m", "token/s", "the same, loop counted")
ratio_attn = Quantity(
    "r_A",
    "dimensionless",
    RATIO + "at which Attention and FFN balance",
    minimum=float("-inf"),
)
ratio_comm = Quantity(
    "r_C",
    "dimensionless",
    RATIO + "at which wire and FFN balance",
    minimum=float("-inf"),
)
ratio_peak = Positive(
    r"r_{\mathrm{peak}}", "dimensionless", RATIO + "best for the FFN alone"
)
ratio_best = Positive("r^*", "dimensionless", RATIO + "best in the paper's model")
best_tokens_per_s = Positive(
    "X^*", "token/s", "tokens per second and machine at the best"
)
ratio_start = Quantity(
    r"r_{\vdash}",
    "dimensionless",
    RATIO + "from which the loop is longer than Attention",
    minimum=float("-inf"),
)
ratio_end = Quantity(
    r"r_{\dashv}",
    "dimensionless",
    RATIO + "up to which the loop is longer than the FFN",
    minimum=float("-inf"),
)
ratio_loop = Positive(
    r"r_{\circlearrowleft}", "dimensionless", RATIO + "best for the loop alone"
)
ratio_pipeline = Positive(
    "r_m^*", "dimensionless", RATIO + "best with m batches in flight"
)
hidden_comm_s = Quantity(
    r"t_C^{\max}", "s", "time on the wire that m batches hide at balance"
)
measured_share = Share(
    r"\varphi_N", "dimensionless", "share of the requests of a run that is measured"
)
counted_share = Quantity(
    r"\varphi_{\mathrm{count}}",
    "dimensionless",
    "share of all tokens that completed requests account for",
    maximum=1.0,
)
idle_attn = Quantity(
    r"\varphi_A", "dimensionless", "share of time that Attention waits"
)
idle_ffn = Quantity(r"\varphi_F", "dimensionless", "share of time that the FFN waits")
n_draft = Quantity(r"\gamma", "token/request", "drafted tokens of a pass")
experts_per_card = Positive(
    r"E_{\mathrm{card}}", "dimensionless", "routed experts that an FFN card holds"
)
expert_flops = Positive(r"F_{\mathrm{e}}", "FLOP/token", "FLOPs of a row in one expert")
expert_rows = Positive(
    r"n_{\mathrm{e}}",
    "token/request",
    "rows that an expert gets, per request in the aggregated batch",
)
row_wire_bytes = Positive(
    r"Q_{\mathrm{e}}", "byte/token", "bytes of a row, there and back"
)
bytes_sent = Positive(
    r"w_{\to}", "byte/element", "bytes per number on the way to the FFN"
)
bytes_returned = Positive(
    r"w_{\leftarrow}", "byte/element", "bytes per number coming back"
)
