"""One iteration, two kinds of rows: a chunk of one prompt, and a row of every decode.

The times are those of the roofline, from ``compute_s`` to ``iteration_s``, with
rows, pairs and cache bytes of the mixture put in.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import at, symbolic
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline import formulas as roofline

__all__ = [
    "IDLE_SLOTS",
    "MFU",
    "MIXED_COMPUTE_S",
    "MIXED_ITERATION_S",
    "MIXED_KV_BYTES",
    "MIXED_KV_S",
    "MIXED_PAIRS",
    "MIXED_ROWS",
]
ARTICLE = "article 05"

IDLE_SLOTS = Formula(
    result=q.idle_slots,
    expr=lambda longest_answer, mean_answer: (
        (longest_answer - mean_answer) / longest_answer
    ),
    title="Wasted slots of a static batch",
    source=f"{ARTICLE}, §1",
    holds="the batch runs until its longest answer is done; prefill is not counted",
)
MIXED_ROWS = Formula(
    result=q.n_rows,
    expr=lambda one_request, chunk, own_row, n_decodes: (
        one_request * chunk + own_row * n_decodes
    ),
    variant="mixed",
    title="Rows of a mixed iteration",
    source=f"{ARTICLE}, §2 and §5",
    holds="one prompt brings a chunk, every other request a row",
)
MIXED_PAIRS = Formula(
    result=q.attn_pairs,
    expr=lambda: (
        at(roofline.ATTN_PAIRS, batch=q.one_request).factor()
        + at(
            roofline.ATTN_PAIRS,
            batch=q.n_decodes,
            chunk=q.own_row,
            context=q.decode_context,
        )
    ),
    derived=True,
    variant="mixed",
    title="Query–key pairs of a mixed iteration",
    source=(
        "[attn_pairs](#eq-attn_pairs) for the chunk and, with one row each, for the "
        "decodes"
    ),
    holds="the chunk has a prefix of ℓ tokens; no request sees another",
)
MIXED_KV_BYTES = Formula(
    result=q.kv_read_bytes,
    expr=lambda: (
        at(roofline.KV_READ_BYTES, batch=q.one_request)
        + at(roofline.KV_READ_BYTES, batch=q.n_decodes, context=q.decode_context)
    ).factor(),
    derived=True,
    variant="mixed",
    title="KV bytes read in a mixed iteration",
    source="[kv_read_bytes](#eq-kv_read_bytes) for the chunk and for the decodes",
    holds="every cache is read once; the chunk's own keys are still on the chip",
)
MIXED_COMPUTE_S = Formula(
    result=q.compute_s,
    expr=lambda: symbolic(roofline.COMPUTE_S, (q.n_rows, q.attn_pairs)),
    uses=(MIXED_ROWS, MIXED_PAIRS),
    derived=True,
    variant="mixed",
    title="Time to compute a mixed iteration",
    source=(
        "[compute_s](#eq-compute_s) with the rows and pairs of "
        "[n_rows-mixed](#eq-n_rows-mixed) and "
        "[attn_pairs-mixed](#eq-attn_pairs-mixed)"
    ),
    holds="memory keeps up",
)
MIXED_KV_S = Formula(
    result=q.kv_s,
    expr=lambda: roofline.KV_S.teaching,
    uses=(MIXED_KV_BYTES,),
    derived=True,
    variant="mixed",
    title="Time to read the caches of a mixed iteration",
    source=(
        "[kv_s](#eq-kv_s) with the bytes of "
        "[kv_read_bytes-mixed](#eq-kv_read_bytes-mixed)"
    ),
    holds="compute keeps up",
)
MIXED_ITERATION_S = Formula(
    result=q.iteration_s,
    expr=lambda: roofline.ITERATION_S.teaching,
    uses=(MIXED_COMPUTE_S, roofline.WEIGHTS_S, MIXED_KV_S),
    derived=True,
    variant="mixed",
    title="Time of a mixed iteration",
    source=(
        "[iteration_s](#eq-iteration_s) with the times of "
        "[compute_s-mixed](#eq-compute_s-mixed) and [kv_s-mixed](#eq-kv_s-mixed)"
    ),
    holds="computing and reading overlap completely; launch overheads are not counted",
)
MFU = Formula(
    result=q.mfu,
    expr=lambda eff_compute, compute_s, iteration_s: (
        eff_compute * compute_s / iteration_s
    ),
    uses=(MIXED_COMPUTE_S, MIXED_ITERATION_S),
    title="Model FLOPs utilisation",
    source=f"{ARTICLE}, §6",
    holds=(
        "as [iteration_s-mixed](#eq-iteration_s-mixed); FLOPs of attention counted "
        "as useful"
    ),
)
