"""What a dashboard's gauges show on average, and the times behind them."""

from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.notation.kinds import Positive

queue_s = Quantity(
    r"t_{\mathrm{queue}}", "s", "mean queue time: from arrival to the first iteration"
)
system_s = Positive(
    r"t_{\mathrm{sys}}", "s", "mean latency: from arrival to the last token"
)
waiting_mean = Quantity(
    r"\bar N_{\mathrm{wait}}", "request", "requests that wait, mean over time"
)
running_mean = Quantity(
    r"\bar N_{\mathrm{run}}", "request", "requests that run, mean over time"
)
n_clients = Positive(
    r"N_{\mathrm{client}}",
    "request",
    "clients of a closed loop, each with one request under way",
)
