"""Kernel efficiency: which share of each peak kernels reach, and what a start costs.

Plain data. Where the numbers come from is the business of the calibration room, which
stands above the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

import numpy as np

from llmserve_lab.catalog import Accelerator

SHARES = ("attention", "cache", "gemm", "memory", "far", "near")
STARTS = ("launch_s", "transfer_start_s")


@dataclass(frozen=True, kw_only=True)
class KernelEfficiency:
    """Shares in (0, 1] of the peaks that kernels reach, and what their starts cost.

    ``attention`` and ``cache`` are of compute and of memory, reached by the attention
    kernel as a whole, its reads overlapped; ``gemm`` and ``memory`` are those of GEMMs
    under the law that both times add up as squares; ``far`` and ``near`` are of the
    links. ``launch_s`` is what a kernel costs before its first byte, in seconds,
    ``transfer_start_s`` what a dispatch or a combine costs before its first.
    ``prompts`` are the shares of attention's compute in prefill by the length of the
    prompt; where there are none, it is ``attention``.

    Raises:
        ValueError: a share is not in (0, 1], or a start is negative or infinite.
    """

    name: str
    attention: float
    cache: float
    gemm: float
    memory: float
    far: float
    near: float
    launch_s: float = 0.0
    transfer_start_s: float = 0.0
    prompts: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in fields(self):
            value, is_share = getattr(self, each.name), each.name in SHARES
            if is_share and not 0 < value <= 1:
                raise ValueError(f"{each.name} must be a share in (0, 1], got {value}")
        for name in STARTS:
            if not 0 <= (seconds := getattr(self, name)) < np.inf:
                raise ValueError(f"{name} must be at least 0 s, got {seconds}")

    def attention_in(self, prompt: Any) -> Any:
        """Share of attention's compute in prefill of ``prompt`` tokens, or of each.

        Shorter and longer prompts than were measured are taken to reach as much as
        the shortest and the longest.
        """
        if not self.prompts:
            return self.attention
        return np.interp(prompt, [*self.prompts], [*self.prompts.values()])


Kernels = Mapping[str, KernelEfficiency]  # by the architecture they are written for


def on_every(efficiency: KernelEfficiency, *architectures: str) -> Kernels:
    """The same shares for each of these architectures, as a what-if assumes."""
    return MappingProxyType(dict.fromkeys(architectures, efficiency))


def kernels_on(kernels: Kernels, device: Accelerator) -> KernelEfficiency:
    """Those of the device's architecture.

    Raises:
        LookupError: nothing is known of kernels for this architecture; no other's are
            taken in their place.
    """
    if device.architecture not in kernels:
        raise LookupError(
            f"kernels must be known for the architecture of {device.name}, "
            f"{device.architecture}; they are for {', '.join(kernels) or 'none'}"
        )
    return kernels[device.architecture]
