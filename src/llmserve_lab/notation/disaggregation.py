"""Two pools: a cache handed over, GPUs for each phase, and what they can carry."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Count, Positive

arrival_rate = Positive(
    r"\lambda", "request/s", "requests that arrive per second", maximum=1000.0
)
n_prefill = Count("x", "dimensionless", "GPUs that prefill")
n_decode = Count("y", "dimensionless", "GPUs that decode")
overhead_s = Quantity(
    "t_0", "s", "time of an iteration that is neither computing nor reading"
)
overlap = Quantity(
    "o",
    "dimensionless",
    "share of the shorter bill that overlaps the longer",
    maximum=1.0,
)
overlap_kv = Quantity(
    r"o_{\mathrm{kv}}",
    "dimensionless",
    "share of the cache reading that hides behind a prompt in the same step",
    maximum=1.0,
)
prompt_launch_s = Quantity(
    r"t_0^{\mathrm{pre}}", "s", "extra launches of an iteration that reads a prompt"
)
orchestration_s = Quantity(
    r"t_{\mathrm{orch}}", "s", "time of the hand-over that is not on the wire"
)
decode_emits = Quantity(
    "z",
    "dimensionless",
    "1 if the decode side emits the first token, 0 if the prefill side does",
    maximum=1.0,
)
handoff_bytes = Positive(r"Q_{\mathrm{hand}}", "byte", "cache of a prompt, handed over")
prefill_flops = Positive(r"F_{\mathrm{pre}}", "FLOP", "FLOPs of a prompt, read at once")
prefill_compute_s = Positive(
    r"t_{c,\mathrm{pre}}", "s", "time to compute a prompt at once"
)
prefill_linear_s = Positive(
    r"t_{\mathrm{lin,pre}}", "s", "time of a prompt's linear layers"
)
prefill_s = Positive(r"t_{\mathrm{pre}}", "s", "time of a prefill in one piece")
prompts_together = Count(
    r"k_{\mathrm{pre}}",
    "dimensionless",
    "prompts that a prefill GPU reads in one iteration",
)
prefill_each_s = Positive(
    r"t_{\mathrm{each}}", "s", "time of a prefill GPU for each prompt that it reads"
)
transfer_s = Positive(r"t_{\mathrm{hand}}", "s", "time to send the cache of a prompt")
exposed_s = Positive(
    r"t_{\mathrm{late}}",
    "s",
    "part of the sending that is left when the prefill ends",
)
kv_made_per_s = Positive(r"W_{\mathrm{made}}", "byte/s", "cache that a prefill makes")
kv_made_short = Positive(
    r"W_{\mathrm{made}}^{0}",
    "byte/s",
    "cache that a prefill makes, FLOPs of attention left out",
)
tier_bw = Positive(
    r"W_{\mathrm{tier}}", "byte/s", "bandwidth from a memory tier to a GPU"
)
tier_gain = Positive(
    r"\rho_{\mathrm{tier}}",
    "dimensionless",
    "time to compute a prefix over time to fetch it",
)
decode_steps = Quantity("D", "dimensionless", "decode steps of a request")
mean_context = Positive(
    r"\overline{\ell}",
    "token/request",
    "tokens in cache, mean over the decode steps of a request",
)
decode_s = Positive(
    r"t_{\mathrm{step}}^{\min}", "s", "lower bound on a decode step, memory-bound"
)
free_rows = Quantity(
    r"n_{\mathrm{free}}",
    "token",
    "prefill rows that a decode step carries along for free",
)
step_read_s = Positive(
    r"t_{\mathrm{kv},1}", "s", "time to read the cache of one request, in one step"
)
row_s = Positive(r"t_{\mathrm{row}}", "s", "time of the linear layers for one row")
step_pairs_s = Positive(
    r"t_{\mathrm{att},1}", "s", "time to compute attention of one request, in one step"
)
step_own_s = Positive(
    r"t_{\mathrm{own}}",
    "s",
    "time in a decode step that a request shares with no other",
)
tbt_batch = Quantity(
    r"B_{\mathrm{read}}",
    "request",
    "batch that keeps the promise, if reading the weights outlasts computing",
)
arith_batch = Quantity(
    r"B_{\mathrm{comp}}",
    "request",
    "batch that keeps the promise, if computing outlasts reading the weights",
)
decode_batch = Quantity(
    r"B_{\mathrm{pool}}", "request", "batch with which a decode GPU keeps the promise"
)
decode_step_s = Positive(
    r"t_{\mathrm{step}}", "s", "time of a step of nothing but decodes"
)
ride_s = Positive(
    r"t_{\mathrm{ride}}", "s", "time that a prompt adds to the step in which it rides"
)
shared_time_batch = Quantity(
    r"B_{\mathrm{one}}^{\mathrm{time}}", "request", "batch of one engine in time"
)
shared_batch = Quantity(
    r"B_{\mathrm{one}}", "request", "batch with which a shared GPU keeps the promise"
)
shared_gap_s = Positive(
    r"\overline{t}_{\mathrm{gap}}", "s", "mean gap beside prompts that keep arriving"
)
shared_step_s = Positive(r"t_{\mathrm{one}}", "s", "mean time of a step of one engine")
prefill_gpus = Positive(r"G_{\mathrm{pre}}", "dimensionless", "GPUs busy with prefill")
decode_gpus = Quantity(r"G_{\mathrm{dec}}", "dimensionless", "GPUs busy with decode")
pool_ratio = Quantity(
    r"\rho_{\mathrm{pool}}", "dimensionless", "decode GPUs for each prefill GPU"
)
handoff_per_s = Positive(r"X_{\mathrm{hand}}", "byte/s", "cache sent between the pools")
prefill_busy = Quantity(
    r"\rho_{\mathrm{pre}}",
    "dimensionless",
    "share of the time in which a prefill GPU is busy",
    maximum=1.0,
)
prefill_wait_s = Quantity(r"t_{\mathrm{wait}}", "s", "mean wait for one prefill GPU")
ttft = Positive(r"\mathrm{TTFT}", "s", "mean time to the first token")
second_gap_s = Positive(r"t_{2}", "s", "gap between the first token and the second")
decode_gpu_s = Quantity(r"t_{\mathrm{ans}}", "s", "GPU time of an answer in its pool")
shared_gpu_s = Positive(
    r"t_{\mathrm{both}}", "s", "GPU time of a request in one engine"
)
prefill_rate = Positive(
    r"\lambda_{\mathrm{pre}}", "request/s", "rate that a prefill pool carries"
)
decode_rate = Positive(
    r"\lambda_{\mathrm{dec}}", "request/s", "rate that a decode pool carries"
)
pools_rate = Positive(
    r"\lambda_{\mathrm{two}}", "request/s", "rate that two pools carry"
)
best_pools_rate = Positive(
    r"\lambda_{\mathrm{two}}^{*}",
    "request/s",
    "rate that two pools carry, split at best",
)
shared_rate = Positive(
    r"\lambda_{\mathrm{one}}",
    "request/s",
    "rate that as many GPUs carry if each serves both phases",
)
shared_gpus = Positive(
    r"G_{\mathrm{one}}",
    "dimensionless",
    "GPUs that a load takes if each serves both phases",
)
pools_gpus = Positive(
    r"G_{\mathrm{two}}", "dimensionless", "GPUs that a load takes in two pools"
)
gpu_price = Positive(r"p_{\mathrm{gpu}}", "dollar/s", "price of a GPU")
tokens_per_s = Positive(r"X_{\mathrm{tok}}", "token/s", "sustained tokens of a GPU")
token_cost = Positive(r"p_{\mathrm{tok}}", "dollar/token", "cost of a token")
slo_share = Quantity(
    r"\varphi_{\mathrm{slo}}",
    "dimensionless",
    "share of requests that keep the service level",
    maximum=1.0,
)
tpot_target = Positive(
    r"T_{\mathrm{tok}}", "s", "time per output token that is promised"
)
