"""The catalog as the book prints it: every number with its kind and its source.

A cell ends in ``[n]``; note n below the table says what kind of number it is and
names its source.
"""

from __future__ import annotations

from collections.abc import Iterable

from llmserve_lab.catalog.data.accelerators import ACCELERATORS
from llmserve_lab.catalog.data.efficiencies import EFFICIENCIES, Efficiency
from llmserve_lab.catalog.data.links import LINKS
from llmserve_lab.catalog.data.models import MODELS
from llmserve_lab.catalog.data.precisions import PRECISIONS
from llmserve_lab.catalog.records.accelerator import Accelerator, MemoryLevel
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.records.link import Link
from llmserve_lab.catalog.records.shape import ModelShape
from llmserve_lab.formula.origin import Sourced
from llmserve_lab.formula.text import plain
from llmserve_lab.page.table import Cell, Table

NONE = "–"
GB_NOTE = (
    "GB is 1e9 bytes. The stacks of an 80 GB device hold 80 GiB (85.9 GB), and its "
    "driver shows a little less: read the column as a floor."
)
BF16 = PRECISIONS["bf16"]


class Sources:
    """The numbered notes of one table, each kind and source once."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def cell(self, cited: Cited | None, *, digits: int = 5) -> str:
        """Value, unit and the number of its note; a dash where there is no value."""
        return NONE if cited is None else self._noted(cited.shown(digits), cited)

    def scaled(self, cited: Cited | None, one: float) -> str:
        """Value in multiples of ``one``, and the number of its note."""
        return (
            NONE if cited is None else self._noted(plain(cited.value / one, 5), cited)
        )

    def _noted(self, text: str, cited: Cited) -> str:
        number = self.number(f"{cited.kind}: {cited.source}")
        return Sourced(f"{text} [{number}]", cited)

    def number(self, note: str) -> int:
        """Number of ``note``, added to the list where it is new."""
        if note not in self.notes:
            self.notes.append(note)
        return self.notes.index(note) + 1


def accelerator_table() -> Table:
    """Dense peaks, memory and link of every accelerator, per device."""
    sources = Sources()
    size = sources.number(GB_NOTE)
    rows = [_accelerator_row(each, sources) for each in ACCELERATORS.values()]
    return Table(
        "Accelerators: dense datasheet peaks in TFLOP/s, and memory, per device",
        (
            "accelerator",
            "BF16",
            "FP8",
            "FP4",
            f"memory [{size}]",
            "bandwidth",
            "link",
            "devices",
        ),
        rows,
        sources.notes,
    )


def _accelerator_row(device: Accelerator, sources: Sources) -> tuple[Cell, ...]:
    if not device.disclosed:
        fitted = sources.number("undisclosed: a paper prints only fitted coefficients")
        return (f"{device.name} [{fitted}]", *(NONE,) * 7)
    peaks = (device.peak_flops.get(key) for key in ("bf16", "fp8", "fp4"))
    return (
        device.name,
        *(sources.scaled(peak, 1e12) for peak in peaks),
        sources.cell(device.hbm_bytes),
        sources.cell(device.hbm_bw),
        LINKS[device.scale_up].name,
        device.num_devices,
    )


def link_table() -> Table:
    """Bandwidth one way and both ways, and latency, of every link."""
    sources = Sources()
    rows = [_link_row(each, sources) for each in LINKS.values()]
    return Table(
        "Links: what one device can send (one way), and the headline (both ways)",
        ("link", "scope", "one way", "both ways", "latency", "devices joined"),
        rows,
        sources.notes,
    )


def _link_row(link: Link, sources: Sources) -> tuple[Cell, ...]:
    return (
        link.name,
        link.scope,
        sources.cell(link.bandwidth),
        sources.cell(link.bidirectional),
        sources.cell(link.latency),
        link.num_devices,
    )


def model_table() -> Table:
    """Shape of every model, and its sizes as counted from the shape, in 16 bits."""
    sources = Sources()
    rows = [_model_row(each, sources) for each in MODELS.values()]
    return Table(
        "Models: shapes, and sizes counted from them, parameters in billions",
        (
            "model",
            "attention",
            "n_l",
            "d",
            "h",
            "parameters",
            "active",
            "published",
            "KV bytes per token, 16 bits",
        ),
        rows,
        sources.notes,
    )


def _model_row(model: ModelShape, sources: Sources) -> tuple[Cell, ...]:
    shape = sources.number(f"shape: {model.source}")
    return (
        f"{model.name} [{shape}]",
        model.attention.kind,
        model.n_layers,
        model.d_model,
        model.attention.n_heads,
        plain(model.params_total / 1e9, 5),
        plain(model.params_active / 1e9, 5),
        sources.scaled(model.published.get("params_total"), 1e9),
        f"{model.kv_bytes_per_token(BF16.bytes_kv):,.0f}",
    )


def efficiency_table() -> Table:
    """Named shares of the datasheet peaks, where each was found."""
    sources = Sources()
    rows = [_efficiency_row(each, sources) for each in EFFICIENCIES.values()]
    return Table(
        "Efficiencies: share of the datasheet peak that was reached or assumed",
        ("name", "compute", "memory", "link", "device", "precision"),
        rows,
        sources.notes,
    )


def _efficiency_row(share: Efficiency, sources: Sources) -> tuple[Cell, ...]:
    parts = (share.compute, share.memory, share.link)
    shown = (sources.cell(part, digits=3) for part in parts)
    return (share.name, *shown, share.device, share.precision)


def memory_table(device: Accelerator) -> Table:
    """The memory hierarchy of one device, whole chip, from the fastest level down.

    Raises:
        LookupError: the catalog has no hierarchy for this device.
    """
    title = f"{device.name}: memory hierarchy, whole chip"
    return level_table(title, "level", device.levels())


def level_table(title: str, what: str, levels: Iterable[MemoryLevel]) -> Table:
    """Size and bandwidth of some levels of memory, a ``what`` each."""
    sources = Sources()
    rows = [
        (level.name, sources.cell(level.bytes), sources.cell(level.bandwidth))
        for level in levels
    ]
    return Table(title, (what, "size", "bandwidth"), rows, sources.notes)
