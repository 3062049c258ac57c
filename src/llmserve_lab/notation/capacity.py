"""What serving costs, how long a queue is, and how many replicas a load takes."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Count, Positive, Share

price = Quantity(r"p_{\mathrm{h}}", "dollar/hour", "price of a replica's GPUs, an hour")
gpu_hour = Quantity(
    r"p_{\mathrm{gpu,h}}", "dollar/hour", "price of one GPU, an hour", maximum=1000.0
)
replica_gpus = Count(r"G_{\mathrm{rep}}", "dimensionless", "GPUs of a replica")
tail_tpot = Positive(
    r"\mathrm{TPOT}_{90}", "s", "TPOT that nine in ten requests do not exceed"
)
prompt_gpu_s = Positive(
    r"t_{\mathrm{in}}", "s/request", "GPU time that a prompt adds to its steps"
)
answer_gpu_s = Positive(
    r"t_{\mathrm{out}}", "s/request", "GPU time of an answer: its share of the steps"
)
replica_rate = Positive(
    r"\lambda_{1}", "request/s", "goodput of one replica: a rate of arrivals"
)
input_cost = Quantity(
    r"\mathrm{cost}_{\mathrm{in}}",
    "dollar/Mtoken",
    "cost of a million input tokens, replica busy",
)
output_cost = Quantity(
    r"\mathrm{cost}_{\mathrm{out}}",
    "dollar/Mtoken",
    "cost of a million output tokens, replica busy",
)
busy_cost = Quantity(
    r"\mathrm{cost}_{\mathrm{req}}",
    "dollar/Mrequest",
    "cost of a million requests, replica busy",
)
used_share = Share(
    r"\varphi_{\mathrm{use}}", "dimensionless", "share of the capacity that is used"
)
paid_cost = Quantity(
    r"\mathrm{cost}_{\mathrm{paid}}",
    "dollar/Mrequest",
    "cost of a million requests, unused capacity included",
)
mean_rate = Positive(r"\overline{\lambda}", "request/s", "mean rate of arrivals")
peak_rate = Positive(r"\lambda_{\max}", "request/s", "highest rate of arrivals")
n_replicas = Count(r"R_{\mathrm{rep}}", "dimensionless", "replicas")
service_s = Positive(
    r"\overline{S}", "s/request", "mean time that a request occupies a server"
)
service_square = Positive(
    r"\overline{S^2}", "s**2/request**2", "mean square of that time"
)
server_busy = Share(
    r"\rho_{\mathrm{q}}", "dimensionless", "share of the time in which a server is busy"
)
mean_wait_s = Quantity(
    r"t_{\mathrm{q}}", "s/request", "mean wait of a request in the queue"
)
fixed_queue_s = Quantity(
    r"t_{\mathrm{q}}^{\mathrm{D}}", "s/request", "mean wait, all service times alike"
)
cold_s = Quantity(
    r"t_{\mathrm{cold}}", "s", "cold start: from the order to the service"
)
backlog = Quantity(
    r"N_{\mathrm{more}}",
    "request",
    "requests under way that a cold start adds, until the new replicas serve",
)
ready_rate = Positive(
    r"\lambda_{\mathrm{now}}", "request/s", "rate that the ready replicas work off"
)
drain_s = Positive(
    r"t_{\mathrm{drain}}", "s", "time until the last of the backlog is answered"
)
signal_sum = Quantity(
    r"z_{\Sigma}", "dimensionless", "signal, summed over the ready replicas"
)
signal_target = Positive(
    r"z_{1}", "dimensionless", "signal that one replica is to show"
)
wanted_replicas = Quantity(
    r"R_{\mathrm{want}}", "dimensionless", "replicas that the autoscaler asks for"
)
slow_gpu_s = Positive(
    r"t_{\mathrm{slow}}", "s/request", "GPU time of the phase on the cheaper GPU"
)
fast_gpu_s = Positive(
    r"t_{\mathrm{fast}}", "s/request", "GPU time of the phase on the dearer GPU"
)
even_price = Quantity(
    r"p_{\mathrm{even}}", "dollar/hour", "price at which the slower GPU costs as much"
)
