"""How large a chunk may be, if no decode is to wait longer than a target.

A budget of rows is not a budget of time: the further the
prompt has come, the more a row of it costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmserve_lab import notation as q
from llmserve_lab.continuous_batching.formulas.chunk_cost import PROMPT_COMPUTE_S
from llmserve_lab.continuous_batching.formulas.mixed_batch import (
    MIXED_COMPUTE_S,
    MIXED_KV_S,
)
from llmserve_lab.formula.derive import at, limit
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline import formulas as roofline

if TYPE_CHECKING:
    import sympy

__all__ = [
    "DECODES_S",
    "NUM_ITERATIONS",
    "ROW_FLOPS",
    "SERVED_CHUNK_FITS",
    "SERVED_SPARE_FLOPS",
]

DECODES_S = Formula(
    result=q.decodes_s,
    expr=lambda: limit(MIXED_COMPUTE_S, q.chunk, 0).collect(
        q.attn_flops_per_pair.sympy
    ),
    derived=True,
    title="Time to compute the decodes alone",
    source="[compute_s-mixed](#eq-compute_s-mixed) without a chunk",
    holds="memory keeps up",
)


def _slope(order: int) -> sympy.Expr:
    """Derivative of ``iteration_flops`` of a chunk after its rows, at no rows."""
    flops = at(roofline.ITERATION_FLOPS, batch=q.one_request)
    return flops.diff(q.chunk.sympy, order).subs(q.chunk.sympy, 0).factor()


ROW_FLOPS = Formula(
    result=q.row_flops,
    expr=lambda: _slope(1),
    derived=True,
    title="FLOPs of one row more",
    source="[iteration_flops](#eq-iteration_flops), its slope",
    holds="after a prefix of ℓ tokens; what the chunk sees of itself comes on top",
)


def _root() -> sympy.Expr:
    """The chunk that uses up what is spare, in the form of the root that is exact.

    The usual form subtracts two numbers that are almost equal when the chunk is small.
    """
    import sympy

    spare, row = q.spare_flops.sympy, q.row_flops.sympy
    return 2 * spare / (row + sympy.sqrt(row**2 + 2 * _slope(2) * spare))


SERVED_SPARE_FLOPS = Formula(
    result=q.spare_flops,
    expr=lambda: (
        q.peak_flops.sympy
        * q.eff_compute.sympy
        * (
            q.tbt_target.sympy
            - q.overhead_s.sympy
            - (1 - q.overlap.sympy) * q.weights_s.sympy
            - q.kv_s.sympy
            - q.decodes_s.sympy
        )
    ),
    derived=True,
    uses=(roofline.WEIGHTS_S, MIXED_KV_S, DECODES_S),
    variant="served",
    title="FLOPs that a target leaves on a served machine",
    source="[served_iteration_s](#eq-served_iteration_s) without the chunk's own work",
    holds="the linear layers outlast the reading of the weights",
)
SERVED_CHUNK_FITS = Formula(
    result=q.chunk_fits,
    expr=lambda: _root(),
    uses=(ROW_FLOPS, SERVED_SPARE_FLOPS),
    derived=True,
    variant="served",
    title="Largest chunk within a target on a served machine",
    source="[iteration_flops](#eq-iteration_flops) solved for the chunk",
    holds="as [spare_flops-served](#eq-spare_flops-served); rounded down",
)
NUM_ITERATIONS = Formula(
    result=q.num_iterations,
    expr=lambda prompt_compute_s, tbt_target, decodes_s: (
        prompt_compute_s / (tbt_target - decodes_s)
    ),
    uses=(PROMPT_COMPUTE_S, DECODES_S),
    title="Iterations of a prompt under a target",
    source="work over what one iteration may do",
    holds="every iteration is filled up to the target; rounded up",
)
