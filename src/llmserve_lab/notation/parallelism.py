"""Axes of parallelism: pipelines, rings, and attention that is not cut."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Count, Positive

n_stages = Count("p", "dimensionless", "stages of a pipeline")
n_turns = Count(
    r"N_{\mathrm{turn}}",
    "dimensionless",
    "passes of each batch: one in prefill, one for each token in decode",
)
pipe_slots = Count(
    r"N_{\mathrm{slot}}",
    "dimensionless",
    "time of a pipeline's whole plan, in ticks: one batch in one stage",
)
bubble = Quantity(
    r"\varphi_{\mathrm{bub}}",
    "dimensionless",
    "share of its time in which a stage has nothing to do",
    maximum=1.0,
)
prefill_bubble = Quantity(
    r"\varphi_{\mathrm{fill}}",
    "dimensionless",
    "bubble of prefill: idle share while a pipeline fills, works and empties",
    maximum=1.0,
)
decode_bubble = Quantity(
    r"\varphi_{\mathrm{wait}}",
    "dimensionless",
    "bubble of decode: idle share while batches wait for their own tokens",
    maximum=1.0,
)
stage_hop_s = Quantity(
    r"t_{\mathrm{hop}}^{\mathrm{pp}}", "s", "time to hand a batch to the next stage"
)
pass_s = Positive(
    r"t_{\mathrm{pass}}", "s", "work of one decode step of a batch, all stages together"
)
stage_s = Positive(
    r"t_{\mathrm{stage}}^{\mathrm{pp}}", "s", "time of one batch in one stage"
)
pipe_token_s = Positive(
    r"t_{\mathrm{tok}}^{\mathrm{pp}}", "s", "time from token to token in a pipeline"
)
pipe_rate = Positive(
    r"\nu_{\mathrm{pp}}", "token/s", "tokens per second of a whole pipeline"
)
pipe_bytes = Quantity(
    r"Q_{\mathrm{pp}}", "byte", "bytes that cross the borders between stages"
)
reduced_bytes = Quantity(
    r"Q_{\mathrm{red}}", "byte", "bytes that leave all ranks of a tensor-parallel group"
)
pipe_share = Positive(
    r"\rho_{\mathrm{pp}}",
    "dimensionless",
    "bytes of a pipeline over those of as many tensor-parallel ranks",
)
stage_bytes = Positive(
    r"M_{\mathrm{stage}}", "byte", "weights and cache that one stage holds"
)
ring_kv_bytes = Quantity(
    r"Q_{\mathrm{ring}}^{\mathrm{kv}}", "byte", "bytes that leave a rank, pass-KV"
)
ring_q_bytes = Quantity(
    r"Q_{\mathrm{ring}}^{\mathrm{q}}", "byte", "bytes that leave a rank, pass-Q"
)
query_bytes_per_token = Positive(
    r"\kappa_q", "byte/token", "bytes of a token's queries and outputs, whole model"
)
wire_ridge = Positive(
    r"I_{\mathrm{link}}", "FLOP/byte", "FLOPs that a GPU does while a byte is sent"
)
miss_share = Positive(
    r"\varphi_{\mathrm{new}}",
    "dimensionless",
    "share of new tokens in a request at which both ring methods send the same",
)
busiest = Positive(
    r"\rho_{\mathrm{last}}",
    "dimensionless",
    "attention of the last rank over the mean, each rank with one stretch of tokens",
)
busiest_endless = Positive(
    r"\rho_{\mathrm{last}}^{\infty}",
    "dimensionless",
    "attention of the last rank over the mean, each rank with one stretch of a very "
    "long prompt",
)
ring_rows = Positive(
    r"n_{\mathrm{ring}}",
    "token",
    "rows on each rank whose attention takes as long as sending their keys and values",
)
attn_bytes = Positive(
    r"M_{\mathrm{att}}", "byte", "bytes of the weights of attention, all layers"
)
even_tokens = Positive(
    r"N_{\mathrm{dp}}",
    "token",
    "cached tokens of a group at which cut and whole attention take the same memory",
)
n_servers = Count(
    r"N_{\mathrm{srv}}", "dimensionless", "servers that a tensor-parallel group spans"
)
server_ranks = Count(
    r"g_{\mathrm{srv}}", "dimensionless", "ranks of a group in each of its servers"
)
server_nics = Count(
    r"n_{\mathrm{nic}}", "dimensionless", "network ports of a server that take part"
)
nic_bw = Positive(
    r"W_{\mathrm{nic}}", "byte/s", "bandwidth that a network port reaches, one way"
)
nic_latency = Quantity(
    r"t_{\mathrm{hop}}^{\mathrm{nic}}", "s", "latency of one step between servers"
)
inside_s = Quantity(
    r"t_{\mathrm{ar}}^{\mathrm{in}}", "s", "part of an all-reduce inside the servers"
)
between_s = Quantity(
    r"t_{\mathrm{ar}}^{\mathrm{out}}", "s", "part of an all-reduce between servers"
)
two_level_s = Quantity(
    r"t_{\mathrm{ar}}^{\mathrm{2}}", "s", "time of an all-reduce over several servers"
)
