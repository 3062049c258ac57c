"""What a decode step costs with few bits, on a machine as measured servers reach it.

The form is that of :mod:`llmserve_lab.validation`: half hidden, attention apart,
launches and requests on top, and a higher peak that is reached by a power.
"""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.formula.formula import Formula
from llmserve_lab.quantization.formulas.sizes import WEIGHT_BYTES
from llmserve_lab.roofline import formulas as roofline

__all__ = [
    "FEW_BITS_GAIN",
    "FEW_BITS_STEP_S",
    "LINEAR_S",
    "PAIRS_S",
    "PRODUCTS_S",
    "WEIGHTS_S",
]
FITTED = "llmserve_lab.validation: the form that measured rows were fitted with"


def in_few_bits(
    linear_flops: Any,
    peak_flops: Any,
    eff_compute: Any,
    low_peak_flops: Any,
    peak_exponent: Any,
    params_head: Any,
    params_active: Any,
) -> Any:
    """Time of the linear layers; the LM head's share of them runs in 16 bits."""
    head = params_head / params_active
    faster = (low_peak_flops / peak_flops) ** peak_exponent
    return linear_flops / (peak_flops * eff_compute) * (head + (1 - head) / faster)


LINEAR_S = Formula(
    result=q.linear_s,
    expr=in_few_bits,
    uses=(roofline.LINEAR_FLOPS,),
    variant="quantized",
    title="Time of the linear layers, in few bits",
    source=FITTED,
    holds="weight-only formats multiply in 16 bits: both peaks are the same; so does "
    "the LM head, always",
)
WEIGHTS_S = Formula(
    result=q.weights_s,
    expr=lambda weight_bytes, hbm_bw, eff_mem: weight_bytes / (hbm_bw * eff_mem),
    uses=(WEIGHT_BYTES,),
    variant="quantized",
    title="Time to read quantized weights",
    source="[weights_s](roofline.ipynb#eq-weights_s) with fewer bytes",
    holds="codes are unpacked on the way, at no cost",
)
PAIRS_S = Formula(
    result=q.pairs_s,
    expr=lambda attn_flops, peak_flops, eff_compute: (
        attn_flops / (peak_flops * eff_compute)
    ),
    uses=(roofline.ATTN_FLOPS,),
    variant="decode",
    title="Time of attention's arithmetic in a decode step",
    source=FITTED,
    holds="attention computes in 16 bits, whatever the cache is stored in",
)
PRODUCTS_S = Formula(
    result=q.products_s,
    expr=lambda linear_s, weights_s, overlap: roofline.partly_hidden(
        linear_s, weights_s, overlap
    ),
    uses=(LINEAR_S, WEIGHTS_S),
    title="Time of the linear layers, reading partly hidden",
    source=FITTED,
    holds="one GPU; codes are unpacked at no cost",
)
FEW_BITS_STEP_S = Formula(
    result=q.few_bits_step_s,
    expr=lambda products_s, pairs_s, kv_s, overhead_s, request_s, batch: (
        products_s + pairs_s + kv_s + overhead_s + request_s * batch
    ),
    uses=(PRODUCTS_S, PAIRS_S, roofline.KV_S),
    title="Time of a decode step with few bits",
    source=FITTED,
    holds="attention computes and reads after the products, hidden behind nothing",
)
FEW_BITS_GAIN = Formula(
    result=q.few_bits_gain,
    expr=lambda wide_step_s, few_bits_step_s: wide_step_s / few_bits_step_s,
    uses=(FEW_BITS_STEP_S,),
    title="Speedup by fewer bits",
    source="counted",
    holds="the same batch and context with both",
)
