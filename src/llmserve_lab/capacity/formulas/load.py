"""Replicas for a load, the queue before them, and scaling with a cold start."""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import ceiling
from llmserve_lab.formula.formula import Formula

__all__ = [
    "BACKLOG",
    "DRAIN_S",
    "FIXED_QUEUE_S",
    "N_REPLICAS",
    "QUEUE_S",
    "SERVER_BUSY",
    "WANTED_REPLICAS",
]

N_REPLICAS = Formula(
    result=q.n_replicas,
    expr=lambda peak_rate, replica_rate: ceiling(peak_rate / replica_rate),
    title="Replicas for a rate",
    source="rate over goodput; half a replica is not for sale",
    holds="arrivals are spread evenly over the replicas",
)
SERVER_BUSY = Formula(
    result=q.server_busy,
    expr=lambda arrival_rate, service_s: arrival_rate * service_s,
    title="Share of the time in which a server is busy",
    source="Little 1961: rate times time",
    holds="one server that keeps up",
)
QUEUE_S = Formula(
    result=q.mean_wait_s,
    expr=lambda arrival_rate, service_square, server_busy: (
        arrival_rate * service_square / (2 * (1 - server_busy))
    ),
    uses=(SERVER_BUSY,),
    title="Mean wait in a queue",
    source="M/G/1, Pollaczek 1930 and Khinchine 1932",
    holds="Poisson arrivals, one server, served in order of arrival, one at a time",
)
FIXED_QUEUE_S = Formula(
    result=q.fixed_queue_s,
    expr=lambda server_busy, service_s: (
        server_busy * service_s / (2 * (1 - server_busy))
    ),
    uses=(SERVER_BUSY,),
    title="Mean wait where all take equally long",
    source="[mean_wait_s](#eq-mean_wait_s) with the square of the mean: M/D/1",
    holds="as [mean_wait_s](#eq-mean_wait_s); all service times alike",
)
WANTED_REPLICAS = Formula(
    result=q.wanted_replicas,
    expr=lambda signal_sum, signal_target: ceiling(signal_sum / signal_target),
    title="Replicas that an autoscaler asks for",
    source="Kubernetes documentation, Horizontal Pod Autoscaling",
    holds="the sum differs by more than a tenth from what the replicas should show",
)
BACKLOG = Formula(
    result=q.backlog,
    expr=lambda arrival_rate, ready_rate, cold_s: (arrival_rate - ready_rate) * cold_s,
    title="Backlog of a cold start",
    source="what arrives less what is worked off",
    holds="the rate has risen at once, beyond what the ready replicas work off",
)
DRAIN_S = Formula(
    result=q.drain_s,
    expr=lambda backlog, ready_rate: backlog / ready_rate,
    uses=(BACKLOG,),
    title="Time until the backlog is gone",
    source="the backlog over what the old replicas work off",
    holds="requests do not move; what arrives now goes to the new replicas",
)
