"""All wait for the busiest rank: what is lost when choices are not spread evenly.

A share of all choices is drawn to the experts of one rank;
the rest is spread over all ranks, that one included.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import symbolic
from llmserve_lab.formula.formula import Formula
from llmserve_lab.moe.formulas.active_experts import ROWS_PER_EXPERT
from llmserve_lab.moe.formulas.moe_params import ARTICLE

ONE_HOT = "one rank is hot and the others are alike; a copy for each expert"

__all__ = [
    "BALANCEDNESS",
    "BUSIEST_ROWS",
    "COLD_BYTES",
    "EXPERT_CAPACITY",
    "HOT_BYTES",
]

BUSIEST_ROWS = Formula(
    result=q.busiest_rows,
    expr=lambda n_rows, top_k, hot_share, ep: (
        n_rows * top_k * (hot_share + (1 - hot_share) / ep)
    ),
    title="Rows that the busiest rank is sent",
    source=f"{ARTICLE}, §5, last paragraph",
    holds=ONE_HOT,
)
BALANCEDNESS = Formula(
    result=q.balancedness,
    expr=lambda: (
        q.n_rows.sympy * q.top_k.sympy / q.ep.sympy / symbolic(BUSIEST_ROWS)
    ).simplify(),
    derived=True,
    title="Balancedness",
    source="mean load over [busiest_rows](#eq-busiest_rows), the largest",
    holds=ONE_HOT,
)
HOT_BYTES = Formula(
    result=q.hot_bytes,
    expr=lambda bytes_act, d_model, busiest_rows, ep: (
        bytes_act * d_model * busiest_rows / ep
    ),
    uses=(BUSIEST_ROWS,),
    title="Bytes from one rank to the hot one",
    source="[busiest_rows](#eq-busiest_rows), from one of its senders",
    holds=f"{ONE_HOT}; every rank has equally many rows",
)
COLD_BYTES = Formula(
    result=q.cold_bytes,
    expr=lambda bytes_act, d_model, n_rows, top_k, hot_share, ep: (
        bytes_act * d_model * (n_rows / ep) * top_k * (1 - hot_share) / ep
    ),
    title="Bytes from one rank to any other",
    source="what is left",
    holds=f"{ONE_HOT}; every rank has equally many rows",
)
EXPERT_CAPACITY = Formula(
    result=q.expert_capacity,
    expr=lambda capacity_factor, rows_per_expert: capacity_factor * rows_per_expert,
    uses=(ROWS_PER_EXPERT,),
    title="Rows that an expert accepts",
    source="Lepikhin et al. 2020, arXiv 2006.16668, section 2.2",
    holds="training with a capacity; serving usually drops nothing",
)
