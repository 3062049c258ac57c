"""What others measured on real deployments, to stand beside what a formula predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from llmserve_lab.catalog.cited import Cited

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
