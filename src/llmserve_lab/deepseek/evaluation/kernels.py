"""What libraries print of their kernels, each run alone, beside what the twin takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmserve_lab import catalog
from llmserve_lab.catalog.data.efficiencies import (
    DEEP_GEMM_FLOPS,
    FLASH_MLA_BW,
    FLASH_MLA_FLOPS,
)
from llmserve_lab.catalog.evidence.measurements import ALL_TO_ALL, AllToAll
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.calibration.kernel_efficiency import KERNELS_ON, hopper
from llmserve_lab.deepseek.calibration.link_efficiency import (
    far_share,
    layer_wire_bytes,
)
from llmserve_lab.deepseek.evaluation.predictions import beside
from llmserve_lab.deepseek.model.assumptions import Choices
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.formula.text import plain, si

if TYPE_CHECKING:
    from llmserve_lab.page.table import Table


def kernel_s(record: AllToAll, *precisions: str, choices: Choices) -> float:
    """Time of one trip or several in a published all-to-all run, by ``wire_s``."""
    machine = Twin(setup=setup(KERNELS_ON, record.ep), choices=choices)
    shares = choices.shares_on(machine.setup.accelerator)
    return float(
        f.WIRE_S(
            trips_s=len(precisions) * shares.trip_s,
            wire_bytes=layer_wire_bytes(*precisions),
            far_share=far_share(record),
            far_rate=machine.machine["far_rate"],
            near_rate=machine.machine["near_rate"],
        )
    )


def kernels_table(choices: Choices) -> Table:
    """Table of the library's dispatch and combine: by two shares, measured, error."""
    from llmserve_lab.page.table import Table

    rows: list[tuple[str, ...]] = []
    for record in ALL_TO_ALL:
        cells: tuple[str, ...] = (f"EP {record.ep}",)
        for form, seconds in (
            ("fp8", record.dispatch_s),
            ("bf16", record.combine_s),
        ):
            found = kernel_s(record, form, choices=choices)
            times = f"{plain(1e6 * found)} / {plain(1e6 * float(seconds))}"
            cells += (times, beside(found, float(seconds)))
        rows.append(cells)
    columns = ("group", "dispatch", "error", "combine", "its error")
    started = choices.shares_on(catalog.accelerator(KERNELS_ON)).trip_s
    by = f"two shares and {si(started, 's')} a trip" if started else "two shares"
    caption = f"All-to-all of the communication library, by {by} / measured, in µs"
    return Table(caption, columns, rows)


def headlines_table() -> Table:
    """Table of the best that two libraries print, and what the twin takes instead."""
    from llmserve_lab.page.table import Table

    device, used = catalog.accelerator(KERNELS_ON), hopper()
    rows = [
        (what, si(float(best), best.unit), _per_cent(float(best) / peak), _per_cent(of))
        for what, best, peak, of in (
            ("attention", FLASH_MLA_FLOPS, float(device.peak("bf16")), used.attention),
            ("memory", FLASH_MLA_BW, float(device.hbm_bw), used.memory),
            ("products", DEEP_GEMM_FLOPS, float(device.peak("fp8")), used.products),
        )
    ]
    columns = ("what", "headline", "of the peak", "the twin takes")
    return Table(f"Two libraries' headlines on an {device.name}", columns, rows)


def _per_cent(share: float) -> str:
    return f"{100 * share:.0f} %"
