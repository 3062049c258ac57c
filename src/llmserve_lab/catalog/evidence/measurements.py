"""What others measured on real deployments, to stand beside what a formula predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from llmserve_lab.catalog.records.cited import Cited

SPLITWISE = "splitwise-sim, perf_model.csv (Patel et al., ISCA 2024)"


@dataclass(frozen=True, kw_only=True)
class SmallBatch:
    """One request alone on ``num_devices`` devices, cut by tensor parallelism.

    ``prompt_s`` is the time of the prefill of ``prompt_tokens`` tokens, ``token_s`` the
    time of one decode iteration after it.
    """

    model: str
    accelerator: str
    num_devices: int
    prompt_tokens: int
    prompt_s: Cited
    token_s: Cited


_s = partial(Cited, unit="s", kind="measured", source=SPLITWISE)

LLAMA_2_70B_A100 = SmallBatch(
    model="llama-2-70b",
    accelerator="a100-80-sxm",
    num_devices=8,
    prompt_tokens=512,
    prompt_s=_s(94e-3),
    token_s=_s(44.9e-3),
)
LLAMA_2_70B_H100 = SmallBatch(
    model="llama-2-70b",
    accelerator="h100-sxm",
    num_devices=8,
    prompt_tokens=512,
    prompt_s=_s(53.4e-3),
    token_s=_s(29.8e-3),
)
SMALL_BATCH: Mapping[str, SmallBatch] = MappingProxyType(
    {record.accelerator: record for record in (LLAMA_2_70B_A100, LLAMA_2_70B_H100)}
)


@dataclass(frozen=True, kw_only=True)
class AllToAll:
    """Dispatch (FP8) and combine (BF16) of one MoE layer among ``ep`` GPUs.

    Every GPU has 128 rows of width 7168, each for 8 experts, and one copy goes to each.
    """

    ep: int
    dispatch_s: Cited
    combine_s: Cited


LOW_LATENCY = "DeepEP README, low-latency kernels, H800, 400 Gb/s InfiniBand, June 2025"
_kernel = partial(Cited, unit="s", kind="measured", source=LOW_LATENCY)
ALL_TO_ALL: tuple[AllToAll, ...] = tuple(
    AllToAll(ep=ep, dispatch_s=_kernel(there), combine_s=_kernel(back))
    for ep, there, back in (
        (8, 77e-6, 114e-6),
        (16, 118e-6, 195e-6),
        (32, 155e-6, 273e-6),
        (64, 173e-6, 314e-6),
        (128, 192e-6, 369e-6),
        (256, 194e-6, 360e-6),
    )
)
ALL_TO_ALL_ROWS = Cited(128, "token", "convention", LOW_LATENCY, "rows of each GPU")
