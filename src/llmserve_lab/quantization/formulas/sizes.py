"""What a scale is, how far rounding may be off, and how many bytes are left."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import maximum
from llmserve_lab.formula.formula import Formula

__all__ = [
    "EFFECTIVE_BITS",
    "GROUP_SCALE",
    "HELD_BYTES",
    "QUANTIZED_BYTES",
    "ROUNDING_BOUND",
    "STORED_BYTES",
    "WEIGHT_BYTES",
]
COUNTED = "counted"


def _held_bytes(
    stored_bytes: Any,
    token_space_bytes: Any,
    library_bytes: Any,
    slot_bytes: Any,
    batch: Any,
    context: Any,
    kv_bytes_per_token: Any,
) -> Any:
    space = maximum(token_space_bytes, library_bytes + slot_bytes * batch)
    return stored_bytes + space + batch * context * kv_bytes_per_token


GROUP_SCALE = Formula(
    result=q.group_scale,
    expr=lambda group_max, largest_code: group_max / largest_code,
    title="Scale of a group",
    source="symmetric quantization, without a zero point",
    holds="the group is not all zeros; before the scale itself is rounded",
)
ROUNDING_BOUND = Formula(
    result=q.rounding_bound,
    expr=lambda group_scale: group_scale / 2,
    uses=(GROUP_SCALE,),
    title="Largest rounding error",
    source=COUNTED,
    holds="integer codes; neighbours of a float format lie at unlike distances",
)
EFFECTIVE_BITS = Formula(
    result=q.eff_bits,
    expr=lambda code_bits, scale_bits, group_size: code_bits + scale_bits / group_size,
    title="Bits of a number, scale included",
    source=COUNTED,
    holds="one scale a group; the one scale of an NVFP4 tensor is left out",
)
QUANTIZED_BYTES = Formula(
    result=q.bytes_quantized,
    expr=lambda byte_a_bit, eff_bits: byte_a_bit * eff_bits,
    uses=(EFFECTIVE_BITS,),
    title="Bytes of a quantized parameter",
    source=COUNTED,
    holds="codes are packed without gaps",
)
WEIGHT_BYTES = Formula(
    result=q.weight_bytes,
    expr=lambda bytes_quantized, params_read, params_head, bytes_weight: (
        bytes_quantized * (params_read - params_head) + bytes_weight * params_head
    ),
    uses=(QUANTIZED_BYTES,),
    variant="quantized",
    title="Weight bytes read, quantized",
    source=COUNTED,
    holds="the blocks are quantized, the LM head keeps its 16 bits",
)
STORED_BYTES = Formula(
    result=q.stored_bytes,
    expr=lambda weight_bytes, bytes_weight, params_total, params_read: (
        weight_bytes + bytes_weight * (params_total - params_read)
    ),
    uses=(WEIGHT_BYTES,),
    variant="quantized",
    title="Weight bytes stored, quantized",
    source=COUNTED,
    holds="the embedding table keeps its 16 bits",
)
HELD_BYTES = Formula(
    result=q.held_bytes,
    expr=_held_bytes,
    uses=(STORED_BYTES,),
    variant="quantized",
    title="Memory of a batch: weights, working space, caches",
    source="vLLM 0.33.0, Worker.determine_available_memory; sizes from published logs",
    holds="a slot for each request; CUDA graphs and half-empty blocks are left out",
)
