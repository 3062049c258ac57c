"""An all-reduce over several servers: a level inside each, and one between them."""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.collectives.formulas import ALL_REDUCE_S
from llmserve_lab.formula.derive import at
from llmserve_lab.formula.formula import Formula

__all__ = ["BETWEEN_S", "INSIDE_S", "TWO_LEVEL_S"]

INSIDE_S = Formula(
    result=q.inside_s,
    expr=lambda: at(ALL_REDUCE_S, n_ranks=q.server_ranks),
    derived=True,
    title="All-reduce over servers: inside them",
    source="[all_reduce_s](tensor_parallel.ipynb#eq-all_reduce_s) of a server's ranks",
    holds="a reduce-scatter before the level between servers, an all-gather after it",
)
BETWEEN_S = Formula(
    result=q.between_s,
    expr=lambda n_servers, nic_latency, tensor_bytes, server_nics, nic_bw: (
        2
        * (n_servers - 1)
        * (nic_latency + tensor_bytes / (n_servers * server_nics * nic_bw))
    ),
    title="All-reduce over servers: between them",
    source="counted: each rank adds up its share with its like in the other servers, "
    "in a ring; all shares of a server leave by all its ports",
    holds="the ports are shared equally; two servers or more",
)
TWO_LEVEL_S = Formula(
    result=q.two_level_s,
    expr=lambda inside_s, between_s: inside_s + between_s,
    uses=(INSIDE_S, BETWEEN_S),
    title="All-reduce over servers: time",
    source="[inside_s](#eq-inside_s), then [between_s](#eq-between_s)",
    holds="one level after the other, nothing overlaps",
)
