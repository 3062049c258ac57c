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
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.catalog.records.link import Link
from llmserve_lab.catalog.records.shape import ModelShape
from llmserve_lab.formula.origin import Sourced
from llmserve_lab.formula.text import plain, said
from llmserve_lab.page.table import Cell, Table

NONE = "–"
SIZE_DIGITS = 4  # of a count of parameters; makers print two to five
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

    def scaled(self, cited: Cited | None, one: float, *, digits: int = 5) -> str:
        """Value in multiples of ``one``, and the number of its note."""
        if cited is None:
            return NONE
        return self._noted(plain(cited.value / one, digits), cited)

    def _noted(self, text: str, cited: Cited) -> str:
        number = self.number(f"{cited.kind}: {cited.source}")
        return Sourced(f"{text} [{number}]", cited)

    def number(self, note: str) -> int:
        """Number of ``note``, added to the list where it is new."""
        if note not in self.notes:
            self.notes.append(note)
        return self.notes.index(note) + 1


def accelerator_table() -> Table:
    """Dense peaks and memory bandwidth of every accelerator, per device."""
    sources = Sources()
    rows = [_accelerator_row(each, sources) for each in ACCELERATORS.values()]
    return Table(
        "Accelerators: dense datasheet peaks in TFLOP/s, and memory bandwidth",
        ("accelerator", "BF16", "FP8", "FP4", "bandwidth"),
        rows,
        sources.notes,
        sortable=True,
    )


def _accelerator_row(device: Accelerator, sources: Sources) -> tuple[Cell, ...]:
    if not device.disclosed:
        fitted = sources.number("undisclosed: a paper prints only fitted coefficients")
        return (f"{device.name} [{fitted}]", *(NONE,) * 4)
    peaks = (device.peak_flops.get(key) for key in ("bf16", "fp8", "fp4"))
    return (
        device.name,
        *(sources.scaled(peak, 1e12) for peak in peaks),
        sources.cell(device.hbm_bw),
    )


def capacity_table() -> Table:
    """Memory of every accelerator as printed and as its driver shows it; its link."""
    sources = Sources()
    size = sources.number(GB_NOTE)
    disclosed = [each for each in ACCELERATORS.values() if each.disclosed]
    rows = [
        (
            device.name,
            sources.cell(device.hbm_bytes, digits=3),
            sources.cell(device.usable_bytes, digits=3),
            LINKS[device.scale_up].name,
            device.num_devices,
        )
        for device in disclosed
    ]
    columns = ("accelerator", f"memory [{size}]", "driver shows", "link", "joins")
    return Table(
        "Memory of a device, its link, and how many devices that joins",
        columns,
        rows,
        sources.notes,
        sortable=True,
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
        sortable=True,
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
    """Shape of every model, and what a token leaves in its cache, in 16 bits."""
    sources = Sources()
    rows = [
        (
            f"{model.name} [{sources.number(f'shape: {model.source}')}]",
            model.attention.kind,
            model.n_layers,
            _experts(model),
            said(model.kv_bytes_per_token(BF16.bytes_kv), "byte", 4),
        )
        for model in MODELS.values()
    ]
    return Table(
        "Models: shapes, and the cache of a token in 16 bits",
        ("model", "attention", "layers", "experts", "cache a token"),
        rows,
        sources.notes,
        sortable=True,
    )


def size_table() -> Table:
    """Sizes of every model as counted from its shape, beside what is published."""
    sources = Sources()
    rows = [
        (
            model.name,
            plain(model.params_total / 1e9, SIZE_DIGITS),
            plain(model.params_active / 1e9, SIZE_DIGITS),
            sources.scaled(model.published.get("params_total"), 1e9),
        )
        for model in MODELS.values()
    ]
    return Table(
        "Models: parameters in billions, counted from the shapes",
        ("model", "parameters", "active", "published"),
        rows,
        sources.notes,
        sortable=True,
    )


def _experts(model: ModelShape) -> str:
    """Experts that a token meets, of those that there are, and shared ones."""
    if not isinstance(model.ffn, MoeFfn):
        return NONE
    shared = f" + {model.ffn.n_shared}" if model.ffn.n_shared else ""
    return f"{model.ffn.top_k} of {model.ffn.n_experts}{shared}"


def efficiency_table() -> Table:
    """Named shares of the datasheet peaks, where each was found."""
    sources = Sources()
    rows = [_efficiency_row(each, sources) for each in EFFICIENCIES.values()]
    return Table(
        "Efficiencies: share of the datasheet peak that was reached or assumed",
        ("name", "compute", "memory", "link", "device", "precision"),
        rows,
        sources.notes,
        sortable=True,
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
        (
            level.name,
            sources.cell(level.bytes, digits=3),
            sources.cell(level.bandwidth, digits=3),
        )
        for level in levels
    ]
    return Table(title, (what, "size", "bandwidth"), rows, sources.notes)
