"""What of a served checkpoint has how many bits, and what each device holds in whole.

Facts, without a constant: of a checkpoint "in four bits" often only the experts have
four, and the rest is read and multiplied in sixteen. Latent attention has projections
that tensor parallelism does not cut: every device reads and computes all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from llmserve_lab.validation.constants import ServingConstants
from llmserve_lab.validation.on_devices import OnDevices
from llmserve_lab.validation.unit_work import bytes_per_weight, speedup

# What has four bits, by the model's key and the precision of its checkpoint. Sources:
# config.json or hf_quant_config.json (ignore, exclude_modules, modules_to_not_convert)
# of openai/gpt-oss-120b; nvidia/MiniMax-M2.5-NVFP4, Kimi-K2.5-NVFP4, GLM-5-NVFP4,
# Qwen3.5-397B-A17B-NVFP4; moonshotai/Kimi-K2.5, whose form K2.6 has; and, for
# DeepSeek-R1-0528-FP4-V2, of DeepSeek-V3.1-NVFP4 by the same maker, in which of the
# attention only the output's projection has four.
_ROUTED, _FFN = ("experts.",), ("experts.", "shared_experts.", "dense.")
FOUR_BITS: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {
        ("gpt-oss-120b", "fp4"): _ROUTED,
        ("minimax-m2.5", "fp4"): _ROUTED,
        ("deepseek-r1", "fp4"): (*_FFN, "o_proj"),
        ("kimi-k2.5", "fp4"): _FFN,
        ("kimi-k2.5", "int4"): _ROUTED,
        ("kimi-k2.6", "int4"): _ROUTED,
        ("glm-5", "fp4"): _FFN,
        ("qwen3.5-397b-a17b", "fp4"): _ROUTED,
    }
)
# The first projections of latent attention, and all of an indexer: vLLM, SGLang and
# TensorRT-LLM give each device the whole of them.
NOT_CUT = ("q_a_proj", "kv_a_proj_with_mqa", "indexer.")
HEAD, TABLE, ROUTED = "lm_head", "embed_tokens", "experts."


class DevicePart(NamedTuple):
    """Some parameters of one device, those that a token meets, and their precision."""

    params: float
    active: float
    precision: str
    routed: bool


def parts(row: OnDevices) -> Iterator[DevicePart]:
    """What each device of the row's group reads, tensor by tensor, in its precision.

    The embedding table is not among them, unless it is the LM head as well. That is
    read, in 16 bits; a row of a prompt is not multiplied with it.
    """
    few = FOUR_BITS.get((row.shape.key, row.precision))
    for tensor in row.shape.tensors():
        if tensor.name == TABLE and not row.shape.tied:
            continue
        head = tensor.name in (HEAD, TABLE)
        kept = head or (few is not None and not tensor.name.startswith(few))
        share = 1.0 if tensor.name.startswith(NOT_CUT) else 1 / row.tp
        yield DevicePart(
            params=tensor.params * share,
            active=0.0 if head else tensor.params_active * share,
            precision="bf16" if kept else row.precision,
            routed=tensor.name.startswith(ROUTED),
        )


def read_bytes(row: OnDevices, *, routed: bool) -> float:
    """Bytes that a device holds and may read: of the routed experts, or of the rest."""
    return sum(
        each.params * bytes_per_weight(each.precision)
        for each in parts(row)
        if each.routed == routed
    )


def row_s(row: OnDevices, reached: ServingConstants, *, routed: bool) -> float:
    """Seconds of a row's products on a device: with its experts, or with the rest."""
    flops_16 = float(row.accelerator.peak("bf16")) * reached.compute
    seconds = 0.0
    for each in parts(row):
        if each.routed == routed:
            faster = speedup(row.accelerator, each.precision) ** reached.exponent
            seconds += 2 * each.active / (flops_16 * float(faster))
    return seconds
