"""Bottleneck regimes: three straight lines, the longest of them, and the best ratio.

The paper's model. The crossings and the peak are solved.
"""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.afd.formulas.load import PAPER, TOKEN_LOAD, root
from llmserve_lab.formula.derive import at, maximum, solve
from llmserve_lab.formula.formula import Formula

PERFECT = "communication hidden, loads equal at every step and on every instance"

__all__ = [
    "ATTN_S",
    "COMM_S",
    "CYCLE_S",
    "FFN_S",
    "INSTANCE_TOKENS_PER_S",
    "RATIO_ATTN",
    "RATIO_BEST",
    "RATIO_COMM",
    "RATIO_PEAK",
    "peak_of",
]


def peak_of(rate: Any) -> Any:
    """The positive ratio at which ``rate`` (a SymPy expression) stops growing."""
    import sympy

    ratio = q.af_ratio.sympy
    slope = sympy.numer(sympy.together(sympy.diff(rate, ratio)))
    (found,) = sympy.solve(slope, ratio)  # the symbol is positive, and so is the peak
    return root(sympy.simplify(found**2))


ATTN_S = Formula(
    result=q.attn_s,
    expr=lambda a_attn, token_load, b_attn: a_attn * token_load + b_attn,
    uses=(TOKEN_LOAD,),
    title="Attention time",
    source=f"{PAPER}, equation 2",
    holds="reading the cache is what takes time",
)
FFN_S = Formula(
    result=q.ffn_s,
    expr=lambda a_ffn, af_ratio, batch, b_ffn: a_ffn * af_ratio * batch + b_ffn,
    title="FFN time",
    source=f"{PAPER}, equation 3",
    holds="the aggregated batch is large enough to be compute-bound",
)
COMM_S = Formula(
    result=q.comm_s,
    expr=lambda a_comm, batch, b_comm: a_comm * batch + b_comm,
    title="Time on the wire, there and back",
    source=f"{PAPER}, equation 4",
    holds="each instance has a wire of its own",
)
CYCLE_S = Formula(
    result=q.cycle_s,
    expr=lambda attn_s, comm_s, ffn_s: maximum(attn_s, comm_s, ffn_s),
    uses=(ATTN_S, COMM_S, FFN_S),
    title="Time between two steps",
    source=f"{PAPER}, equation 5",
    holds=PERFECT,
)
INSTANCE_TOKENS_PER_S = Formula(
    result=q.instance_tokens_per_s,
    expr=lambda token_a_step, af_ratio, batch, cycle_s: (
        token_a_step * af_ratio * batch / ((af_ratio + 1) * cycle_s)
    ),
    uses=(CYCLE_S,),
    title="Tokens per second and instance",
    source=f"{PAPER}, equation 6",
    holds="r Attention instances and one FFN instance share the credit",
)
RATIO_ATTN = Formula(
    result=q.ratio_attn,
    expr=lambda: solve(FFN_S, q.attn_s, q.af_ratio),
    uses=(ATTN_S,),
    derived=True,
    title="Attention and FFN balance",
    source=(
        f"{PAPER}, equation 15; solved from [attn_s](#eq-attn_s) and [ffn_s](#eq-ffn_s)"
    ),
    holds="negative where the FFN is the slower one at any ratio",
)
RATIO_COMM = Formula(
    result=q.ratio_comm,
    expr=lambda: solve(FFN_S, q.comm_s, q.af_ratio),
    uses=(COMM_S,),
    derived=True,
    title="Wire and FFN balance",
    source=(
        f"{PAPER}, equation 16; solved from [ffn_s](#eq-ffn_s) and [comm_s](#eq-comm_s)"
    ),
    holds="negative where the FFN is the slower one at any ratio",
)
RATIO_PEAK = Formula(
    result=q.ratio_peak,
    expr=lambda: peak_of(at(INSTANCE_TOKENS_PER_S.teaching, cycle_s=FFN_S)),
    derived=True,
    title="Where more Attention stops paying, FFN alone",
    source=(
        f"{PAPER}, equation 18; from the derivative of "
        "[instance_tokens_per_s](#eq-instance_tokens_per_s)"
    ),
    holds="the FFN is the slowest",
)
RATIO_BEST = Formula(
    result=q.ratio_best,
    expr=lambda ratio_attn, ratio_comm, ratio_peak: maximum(
        ratio_attn, ratio_comm, ratio_peak
    ),
    uses=(RATIO_ATTN, RATIO_COMM, RATIO_PEAK),
    title="The best ratio",
    source=f"{PAPER}, theorem 4.4",
    holds=PERFECT,
)
