"""FLOPs over bytes against the ridge, and what it takes to cross it.

The intensity, the roof, and what follows from the two by
limits and solutions. The derived ones are worked out by SymPy and were never typed.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import at, leading, limit, minimum, solve
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas.work import (
    ARTICLE,
    ITERATION_BYTES,
    ITERATION_FLOPS,
    KV_READ_BYTES,
    LINEAR_FLOPS,
    N_ROWS,
    STORED_BYTES,
    WEIGHT_BYTES,
)

ROOFLINE = "Williams et al. 2009"

__all__ = [
    "ATTAINABLE_FLOPS",
    "ATTAINABLE_FLOPS_DATASHEET",
    "ATTN_INTENSITY",
    "BATCH_FITS",
    "CONTEXT_FITS",
    "CROSSOVER_CONTEXT",
    "CROSSOVER_TOKENS",
    "ENDLESS_INTENSITY",
    "INTENSITY",
    "INTENSITY_DECODE",
    "LINEAR_INTENSITY",
    "LONG_INTENSITY",
    "PREFILL_REACH",
    "RIDGE",
    "RIDGE_BATCH",
    "RIDGE_CONTEXT",
    "RIDGE_DATASHEET",
    "RIDGE_ROWS",
    "SHORT_INTENSITY",
]

INTENSITY = Formula(
    result=q.intensity,
    expr=lambda iteration_flops, iteration_bytes: iteration_flops / iteration_bytes,
    uses=(ITERATION_FLOPS, ITERATION_BYTES),
    title="Arithmetic intensity",
    source=f"{ROOFLINE}; {ARTICLE}, §1",
    holds="perfect reuse on chip: each byte is read once",
)
INTENSITY_DECODE = Formula(
    result=q.intensity,
    expr=lambda: at(INTENSITY, chunk=q.own_row, params_active=q.params_read),
    derived=True,
    variant="decode",
    title="Arithmetic intensity of decode",
    source="[intensity](#eq-intensity) with one new row for each request",
    holds="a dense model; every request holds the same context",
)
LINEAR_INTENSITY = Formula(
    result=q.linear_intensity,
    expr=lambda linear_flops, iteration_bytes: linear_flops / iteration_bytes,
    uses=(LINEAR_FLOPS, ITERATION_BYTES),
    title="Intensity as the article writes it",
    source=f"{ARTICLE}, §2",
    holds="the FLOPs of attention are left out, its bytes are not",
)
RIDGE = Formula(
    result=q.ridge,
    expr=lambda peak_flops, eff_compute, hbm_bw, eff_mem: (
        peak_flops * eff_compute / (hbm_bw * eff_mem)
    ),
    title="Ridge point",
    source=f"{ROOFLINE}; {ARTICLE}, §1",
    holds="one memory level, one kind of arithmetic",
)
ATTAINABLE_FLOPS = Formula(
    result=q.attainable_flops,
    expr=lambda peak_flops, eff_compute, hbm_bw, eff_mem, intensity: minimum(
        peak_flops * eff_compute, hbm_bw * eff_mem * intensity
    ),
    title="The roofline",
    source=ROOFLINE,
    holds="computing and reading overlap completely",
)
RIDGE_DATASHEET = Formula(
    result=q.ridge,
    expr=lambda: at(RIDGE, eff_compute=1, eff_mem=1),
    derived=True,
    variant="datasheet",
    title="Ridge point of the datasheet",
    source=f"{ROOFLINE}; {ARTICLE}, §1",
    holds="one memory level, one kind of arithmetic, each at its full rate",
)
ATTAINABLE_FLOPS_DATASHEET = Formula(
    result=q.attainable_flops,
    expr=lambda: at(ATTAINABLE_FLOPS, eff_compute=1, eff_mem=1),
    derived=True,
    variant="datasheet",
    title="The roofline of the datasheet",
    source=ROOFLINE,
    holds="computing and reading overlap completely, each at its full rate",
)
SHORT_INTENSITY = Formula(
    result=q.short_intensity,
    expr=lambda: limit(LINEAR_INTENSITY, q.context, 0, keep=(q.n_rows,)),
    uses=(N_ROWS,),
    derived=True,
    title="Intensity, KV term off",
    source=f"{ARTICLE}, §2, part 1",
    holds="nothing in the cache",
)
CROSSOVER_CONTEXT = Formula(
    result=q.crossover_context,
    expr=lambda: solve(KV_READ_BYTES, q.weight_bytes, q.context),
    uses=(WEIGHT_BYTES,),
    derived=True,
    title="Context where KV equals weights",
    source=f"{ARTICLE}, §2, part 2",
    holds="every request holds the same context",
)
CROSSOVER_TOKENS = Formula(
    result=q.crossover_tokens,
    expr=lambda: CROSSOVER_CONTEXT.teaching * q.batch.sympy,
    uses=(WEIGHT_BYTES,),
    derived=True,
    title="Cached tokens whose KV equals the weights",
    source=f"{ARTICLE}, §2, part 2",
    holds="any mix of contexts: only their sum counts",
)
LONG_INTENSITY = Formula(
    result=q.long_intensity,
    expr=lambda: leading(LINEAR_INTENSITY, q.context),
    derived=True,
    title="Intensity, cache dominating",
    source=f"{ARTICLE}, §2, part 2",
    holds="context far past the crossover; the FLOPs of attention left out",
)
ATTN_INTENSITY = Formula(
    result=q.attn_intensity,
    expr=lambda: limit(INTENSITY, q.context, "oo"),
    derived=True,
    title="Where the intensity really ends",
    source="limit of [intensity](#eq-intensity)",
    holds="context without end, the FLOPs of attention counted",
)
ENDLESS_INTENSITY = Formula(
    result=q.endless_intensity,
    expr=lambda: limit(LINEAR_INTENSITY, q.batch, "oo") + q.attn_intensity.sympy,
    uses=(ATTN_INTENSITY,),
    derived=True,
    title="Intensity in a batch without end",
    source="limit of [intensity](#eq-intensity)",
    holds="memory for any number of caches; what a new row sees of itself left out",
)
RIDGE_ROWS = Formula(
    result=q.ridge_rows,
    expr=lambda: solve(SHORT_INTENSITY, q.ridge, q.n_rows, keep=(q.n_rows,)),
    uses=(RIDGE,),
    derived=True,
    title="Rows that reach the ridge",
    source=f"{ARTICLE}, §2, part 1",
    holds="nothing in the cache",
)
RIDGE_BATCH = Formula(
    result=q.ridge_batch,
    expr=lambda: solve(LINEAR_INTENSITY, q.ridge, q.batch),
    uses=(RIDGE,),
    derived=True,
    title="Batch that reaches the ridge",
    source="solved from [linear_intensity](#eq-linear_intensity)",
    holds=(
        "context below the ridge context [ridge_context](#eq-ridge_context); beyond "
        "it no batch does"
    ),
)
RIDGE_CONTEXT = Formula(
    result=q.ridge_context,
    expr=lambda: solve(limit(LINEAR_INTENSITY, q.batch, "oo"), q.ridge, q.context),
    uses=(RIDGE,),
    derived=True,
    title="Context beyond which batching cannot help",
    source="limit of [linear_intensity](#eq-linear_intensity), solved",
    holds="the FLOPs of attention left out",
)
PREFILL_REACH = Formula(
    result=q.prefill_reach,
    expr=lambda: solve(
        at(LINEAR_INTENSITY, keep=(q.weight_bytes,), batch=q.one_request),
        q.ridge,
        q.context,
    ),
    uses=(WEIGHT_BYTES, RIDGE),
    derived=True,
    title="Prefix up to which a chunk is compute-bound",
    source=f"{ARTICLE}, §3, solved",
    holds="one request; chunk above the ridge rows; the FLOPs of attention left out",
)
BATCH_FITS = Formula(
    result=q.batch_fits,
    expr=lambda hbm_bytes, stored_bytes, kv_bytes_per_token, context: (
        (hbm_bytes - stored_bytes) / (kv_bytes_per_token * context)
    ),
    uses=(STORED_BYTES,),
    title="Requests that fit in memory",
    source=f"{ARTICLE}, §3",
    holds="the weights fit, with nothing else in memory; fractions stay fractions",
)
CONTEXT_FITS = Formula(
    result=q.context_fits,
    expr=lambda: solve(BATCH_FITS, q.batch, q.context, keep=(q.stored_bytes,)),
    uses=(STORED_BYTES,),
    derived=True,
    title="Context that fits in memory",
    source=f"{ARTICLE}, §3",
    holds="the weights fit, with nothing else in memory",
)
