"""The bill in seconds: an iteration lasts as long as the longer of its two halves.

Lower bounds all of them: computing and reading overlap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import at, maximum
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas.limits import ROOFLINE
from llmserve_lab.roofline.formulas.work import (
    ARTICLE,
    ATTN_FLOPS,
    ITERATION_FLOPS,
    KV_READ_BYTES,
    LINEAR_FLOPS,
    WEIGHT_BYTES,
)

if TYPE_CHECKING:
    import sympy

__all__ = [
    "COMPUTE_S",
    "ITERATIONS_PER_S",
    "ITERATION_S",
    "ITERATION_S_APART",
    "ITERATION_S_DECODE",
    "KV_S",
    "LINEAR_S",
    "PAIRS_S",
    "WEIGHTS_S",
]

COMPUTE_S = Formula(
    result=q.compute_s,
    expr=lambda iteration_flops, peak_flops, eff_compute: (
        iteration_flops / (peak_flops * eff_compute)
    ),
    uses=(ITERATION_FLOPS,),
    title="Time to compute",
    source=ROOFLINE,
    holds="memory keeps up",
)
WEIGHTS_S = Formula(
    result=q.weights_s,
    expr=lambda weight_bytes, hbm_bw, eff_mem: weight_bytes / (hbm_bw * eff_mem),
    uses=(WEIGHT_BYTES,),
    title="Time to read the weights",
    source=f"{ARTICLE}, §2",
    holds="compute keeps up",
)
KV_S = Formula(
    result=q.kv_s,
    expr=lambda kv_read_bytes, hbm_bw, eff_mem: kv_read_bytes / (hbm_bw * eff_mem),
    uses=(KV_READ_BYTES,),
    title="Time to read the KV cache",
    source=f"{ARTICLE}, §2",
    holds="compute keeps up",
)
ITERATION_S = Formula(
    result=q.iteration_s,
    expr=lambda compute_s, weights_s, kv_s: maximum(compute_s, weights_s + kv_s),
    uses=(COMPUTE_S, WEIGHTS_S, KV_S),
    title="Time of one iteration",
    source=ROOFLINE,
    holds=(
        "computing and reading overlap completely, across kernels, too; launch "
        "overheads are not counted"
    ),
)
LINEAR_S = Formula(
    result=q.linear_s,
    expr=lambda linear_flops, peak_flops, eff_compute: (
        linear_flops / (peak_flops * eff_compute)
    ),
    uses=(LINEAR_FLOPS,),
    variant="apart",
    title="Time to compute the products",
    source=ROOFLINE,
    holds="memory keeps up",
)
PAIRS_S = Formula(
    result=q.pairs_s,
    expr=lambda attn_flops, peak_flops, eff_compute: (
        attn_flops / (peak_flops * eff_compute)
    ),
    uses=(ATTN_FLOPS,),
    variant="apart",
    title="Time to compute attention",
    source=ROOFLINE,
    holds="memory keeps up",
)
ITERATION_S_APART = Formula(
    result=q.iteration_s,
    expr=lambda linear_s, weights_s, pairs_s, kv_s: (
        maximum(linear_s, weights_s) + maximum(pairs_s, kv_s)
    ),
    uses=(LINEAR_S, WEIGHTS_S, PAIRS_S, KV_S),
    variant="apart",
    title="Time of one iteration, products and attention one after the other",
    source=f"{ROOFLINE}, applied to each of the two kernels",
    holds="computing and reading overlap inside a kernel, kernels do not overlap",
)
ITERATION_S_DECODE = Formula(
    result=q.iteration_s,
    expr=lambda: (
        maximum(_at_full_rate(LINEAR_S), _at_full_rate(WEIGHTS_S)) + _at_full_rate(KV_S)
    ),
    derived=True,
    variant="decode",
    title="Time of a decode iteration, by the datasheet",
    source="[iteration_s-apart](#eq-iteration_s-apart), a new row for each request",
    holds="a dense model whose attention reads its caches longer than it computes",
)
ITERATIONS_PER_S = Formula(
    result=q.iterations_per_s,
    expr=lambda: 1 / WEIGHTS_S.teaching,
    uses=(WEIGHT_BYTES,),
    derived=True,
    title="Upper bound on iterations per second",
    source="scaling chapter, decode bound",
    holds="empty cache, one row: reading the weights is all that takes time",
)


def _at_full_rate(time: Formula) -> sympy.Expr:
    """A time of decode at the datasheet's rates, in a dense model."""
    one_row = at(time, params_active=q.params_read, chunk=q.own_row)
    return at(one_row, eff_compute=1, eff_mem=1)
