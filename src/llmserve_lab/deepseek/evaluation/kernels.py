"""What libraries print of their kernels, each run alone, beside what the twin takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import median
from types import MappingProxyType

from llmserve_lab import catalog
from llmserve_lab.catalog.data.efficiencies import (
    DEEP_GEMM_FLOPS,
    FLASH_MLA_BW,
    FLASH_MLA_FLOPS,
)
from llmserve_lab.catalog.evidence.measurements import ALL_TO_ALL, AllToAll
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.calibration.kernel_efficiency import KERNELS_ON, hopper
from llmserve_lab.deepseek.calibration.link_efficiency import (
    NODE,
    far_share,
    layer_bytes,
    link_times,
    seconds_of,
)
from llmserve_lab.deepseek.model.assumptions import Assumptions, KernelEfficiency
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.model.step_model import Twin

KINDS: Mapping[str, str] = MappingProxyType({"fp8": "dispatch", "bf16": "combine"})


@dataclass(frozen=True)
class Transfer:
    """One dispatch or combine of the library: seconds by the twin, and as published."""

    ep: int
    kind: str
    predicted_s: float
    measured_s: float

    @property
    def error(self) -> float:
        """How far the prediction is above the measurement, as a share of it."""
        return self.predicted_s / self.measured_s - 1


def transfer_s(record: AllToAll, precision: str, assumed: Assumptions) -> float:
    """Time of one transfer in one published all-to-all run, by ``all_to_all_s``."""
    place = Twin(setup=setup(KERNELS_ON, record.ep), assumptions=assumed)
    rates = place.machine
    return float(
        f.ALL_TO_ALL_S(
            transfer_starts_s=assumed.kernels_on(
                place.setup.accelerator
            ).transfer_start_s,
            all_to_all_bytes=layer_bytes(precision),
            far_share=far_share(record),
            far_rate=rates["far_rate"],
            near_rate=rates["near_rate"],
        )
    )


def transfers(assumed: Assumptions) -> tuple[Transfer, ...]:
    """The library's twelve transfers."""
    return tuple(
        Transfer(record.ep, KINDS[form], transfer_s(record, form, assumed), seconds)
        for record in ALL_TO_ALL
        for form, seconds in seconds_of(record)
    )


def without_starts(assumed: Assumptions) -> Assumptions:
    """The same with transfers that start at once, at the rates both trips came to.

    Links' shares are then medians of bytes over seconds, as the paper takes them.
    """

    def share(inside: bool) -> float:
        return median(
            sum(max(link_times(run, form)) for form, _ in seconds_of(run))
            / sum(seconds for _, seconds in seconds_of(run))
            for run in ALL_TO_ALL
            if (run.ep == NODE) is inside
        )

    def started(kernels: KernelEfficiency) -> KernelEfficiency:
        return replace(
            kernels, transfer_start_s=0.0, far=share(False), near=share(True)
        )

    found = {name: started(kernels) for name, kernels in assumed.kernels.items()}
    return replace(assumed, kernels=MappingProxyType(found))


@dataclass(frozen=True)
class Headline:
    """A library's best, its share of the peak, and the share that the twin takes."""

    what: str
    best: Cited
    of_peak: float
    taken: float


def headlines() -> tuple[Headline, ...]:
    """The best that two libraries print, and what the twin takes instead."""
    device, used = catalog.accelerator(KERNELS_ON), hopper()
    return tuple(
        Headline(what, best, float(best) / float(peak), taken)
        for what, best, peak, taken in (
            ("attention", FLASH_MLA_FLOPS, device.peak("bf16"), used.attention),
            ("the cache's reads", FLASH_MLA_BW, device.hbm_bw, used.cache),
            ("GEMMs", DEEP_GEMM_FLOPS, device.peak("fp8"), used.gemm),
            ("GEMMs' reads", FLASH_MLA_BW, device.hbm_bw, used.memory),
        )
    )
