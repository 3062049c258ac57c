"""Ranks and links: what goes over the wire in a collective, and how long."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Count, Positive, Share

n_ranks = Count("g", "dimensionless", "ranks in one group")
tensor_bytes = Positive(
    "Q_x", "byte", "bytes of the whole tensor that a collective is about"
)
gather_bytes = Quantity(
    r"Q_{\mathrm{ag}}", "byte", "bytes that leave a rank in an all-gather"
)
all_reduce_bytes = Quantity(
    r"Q_{\mathrm{ar}}", "byte", "bytes that leave a rank in an all-reduce"
)
link_bw = Positive(
    r"W_{\mathrm{link}}", "byte/s", "datasheet bandwidth of a link, one way"
)
eff_link = Share("e_l", "dimensionless", "share of link bandwidth reached")
link_latency = Quantity(r"t_{\mathrm{hop}}", "s", "latency of one step on a link")
gather_s = Quantity(
    r"t_{\mathrm{ag}}", "s", "time of an all-gather or a reduce-scatter"
)
all_reduce_s = Quantity(r"t_{\mathrm{ar}}", "s", "time of an all-reduce")
latency_bytes = Quantity(
    r"Q_{\mathrm{hop}}",
    "byte",
    "tensor whose collective waits for latency as long as for bytes",
)
start_s = Quantity(
    r"t_{\mathrm{start}}", "s", "start of a collective: its kernel, the first signal"
)
one_shot_s = Quantity(r"t_{\mathrm{shot}}", "s", "time of a one-shot all-reduce")
two_shot_s = Quantity(
    r"t_{\mathrm{two}}", "s", "time of a two-shot all-reduce, in two steps"
)
in_switch_s = Quantity(
    r"t_{\mathrm{sw}}", "s", "time of an all-reduce that the switch adds up"
)
fastest_s = Quantity(
    r"t_{\mathrm{ar}}^{\min}", "s", "time of an all-reduce, the fastest way"
)
