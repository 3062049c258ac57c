"""Tensor parallelism: what a block sends when its matrices are cut, and how long."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Count, Positive

bytes_act = Positive(
    r"\operatorname{act}_b", "byte/(element*token)", "bytes per number of a row"
)
hidden_bytes = Positive("Q_d", "byte", "bytes of all token vectors")
gathered_tensor_bytes = Positive(
    r"Q_{\mathrm{4}}", "byte", "bytes of the four tensors that a block gathers"
)
gathered_bytes = Quantity(
    r"Q_{\mathrm{col}}",
    "byte",
    "bytes that leave a rank in a block, columns everywhere",
)
paired_bytes = Quantity(
    r"Q_{\mathrm{pair}}",
    "byte",
    "bytes that leave a rank in a block, columns, then rows",
)
paired_share = Positive(
    r"\rho_{\mathrm{tp}}",
    "dimensionless",
    "bytes of columns, then rows over those of columns everywhere",
)
score_bytes = Positive(r"Q_{\mathrm{s}}", "byte", "bytes of all scores of a layer")
score_rows = Positive(
    r"n_{\mathrm{s}}",
    "token",
    "rows whose scores weigh as much as the block's other two all-reduces",
)
kv_copies = Count(
    r"N_{\mathrm{copy}}", "dimensionless", "ranks that keep the same key–value head"
)
kv_rank_bytes = Quantity(
    r"Q_{\mathrm{kv}}^{\mathrm{rank}}", "byte", "KV bytes that one rank holds"
)
rank_bytes = Positive(
    r"Q_{\mathrm{rank}}", "byte", "weights and cache that one rank holds"
)
rank_s = Positive(
    r"t_{\mathrm{rank}}", "s", "work of one rank in an iteration: computing and reading"
)
link_s = Quantity(r"t_{\mathrm{link}}", "s", "all-reduces of an iteration")
tp_s = Positive(r"t_{\mathrm{tp}}", "s", "iteration on all ranks of a group")
link_share = Quantity(
    r"\varphi_{\mathrm{link}}",
    "dimensionless",
    "share of an iteration that goes to communication",
)
tp_speedup = Positive(r"S_{\mathrm{tp}}", "dimensionless", "times faster than one rank")
layer_s = Positive(
    r"t_{\mathrm{layer}}",
    "s/layer",
    "fixed time of a layer, fitted: what its work does not explain",
)
request_s = Positive(
    r"t_{\mathrm{req}}", "s/request", "host time for each request in an iteration"
)
launches = Positive(
    r"N_{\mathrm{launch}}",
    "dimensionless",
    "times that a layer's fixed time is paid (set by hand): once, four with a prompt",
)
beside_s = Positive(
    r"t_{\mathrm{beside}}",
    "s",
    "overhead of an iteration: what is added to a rank's work",
)
ring_tp_s = Positive(
    r"t_{\mathrm{tp}}^{\mathrm{ring}}",
    "s",
    "iteration on all ranks if NCCL did every all-reduce",
)
rest_s = Quantity(
    r"\Delta t_{\mathrm{beside}}",
    "s",
    "rest of the overhead, without all-reduces",
)
ring_more_s = Quantity(
    r"\Delta t_{\mathrm{ring}}", "s", "what NCCL would take more than the fastest way"
)
