"""Little's law: requests in a place are the rate times the time spent there."""

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import solve, symbolic
from llmserve_lab.formula.formula import Formula

__all__ = ["CLOSED_LOOP_S", "RUNNING_MEAN", "WAITING_MEAN"]

LITTLE = "Little 1961: rate times time, whatever the order of service"
WAITING_MEAN = Formula(
    result=q.waiting_mean,
    expr=lambda arrival_rate, queue_s: arrival_rate * queue_s,
    title="Requests that wait",
    source=LITTLE,
    holds="nothing is under way at the start and at the end, or the load is steady; "
    "no request is preempted",
)
RUNNING_MEAN = Formula(
    result=q.running_mean,
    expr=lambda arrival_rate, system_s, queue_s: arrival_rate * (system_s - queue_s),
    ordered=(("queue_s", "system_s"),),
    title="Requests that run",
    source=LITTLE,
    holds="as [waiting_mean](#eq-waiting_mean)",
)
CLOSED_LOOP_S = Formula(
    result=q.system_s,
    expr=lambda: solve(
        symbolic(WAITING_MEAN) + symbolic(RUNNING_MEAN), q.n_clients, q.system_s
    ),
    derived=True,
    title="Latency in a closed loop",
    source="[waiting_mean](#eq-waiting_mean) and [running_mean](#eq-running_mean): all "
    "clients wait or run",
    holds="each client sends its next request when it has its answer, for long enough "
    "that start and end do not count",
)
