"""The accelerators of the book, by key, in the order in which pages offer them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from llmserve_lab.catalog.data.nvidia_ampere_to_hopper import (
    A100_80,
    H20,
    H100,
    H200,
    H800,
    L40S,
)
from llmserve_lab.catalog.data.nvidia_blackwell import B200, B300, GB200, RTX_PRO_6000
from llmserve_lab.catalog.data.other_makers import (
    ASCEND_910C,
    MI300X,
    MI325X,
    MI355X,
    TPU_V6E,
    TRAINIUM2,
)
from llmserve_lab.catalog.records.accelerator import Accelerator

ACCELERATORS: Mapping[str, Accelerator] = MappingProxyType(
    {
        each.key: each
        for each in (
            A100_80,
            H100,
            H200,
            H800,
            B200,
            GB200,
            MI300X,
            MI325X,
            H20,
            B300,
            L40S,
            RTX_PRO_6000,
            MI355X,
            TRAINIUM2,
            TPU_V6E,
            ASCEND_910C,
        )
    }
)
