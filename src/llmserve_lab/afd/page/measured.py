"""What was measured of built splits beside one group of as good GPUs or dies."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.catalog.evidence import afd_servers as seen
from llmserve_lab.page.table import Table


@dataclass(frozen=True)
class Built:
    """Tokens/s of a GPU, or of a die, of a built split and of a group without one."""

    what: str
    group: float
    split: float

    @property
    def lead(self) -> float:
        """How much more the split makes; negative: less."""
        return self.split / self.group - 1


def built() -> tuple[Built, ...]:
    """Published pairs; the first are two sizes of a split at two lengths."""
    dies = {"48A–16F": "", "64A–16F": " (on more dies)"}
    found = [
        Built(
            f"DeepSeek-V3.2, prompts of {kilo}K: {name}{more}",
            float(seen.ASCEND[kilo, "EP64"]),
            float(seen.ASCEND[kilo, name]),
        )
        for kilo in (16, 32)
        for name, more in dies.items()
    ]
    rates = [float(seen.QWEN[name]) / seen.QWEN_GPUS for name in ("EP8", "4A–4F")]
    return (*found, Built("Qwen3.5-122B, 8 GPUs: 4A–4F", *rates))


def built_table() -> Table:
    """Table of built splits beside groups: tokens/s of a GPU or die."""
    rows = [
        (
            each.what,
            f"{each.group:,.1f}",
            f"{each.split:,.1f}",
            f"{100 * each.lead:+.1f}%".replace("-", "−"),
        )
        for each in built()
    ]
    columns = ("model and split", "group", "split", "lead")
    return Table(
        "Built splits, measured: tokens/s of a die of Ascend, or of a GPU",
        columns,
        rows,
    )
