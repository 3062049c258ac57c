"""Split against group at the same speed, overlap and stragglers charged alike."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

from llmserve_lab.afd import coupled, deployment
from llmserve_lab.catalog import accelerator
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.predictions import points
from llmserve_lab.formula.band import Band
from llmserve_lab.page.table import Table

DEVICES = ("h100-sxm", "h200-sxm", "b200-sxm")
GPUS, TIGHT_S, LOOSE_S = 96, 0.05, 0.1
SHOWN_MS, CONTEXTS = (30, 40, 45, 50, 60, 70), (4096.0, 8192.0)
OVERLAPS: tuple[coupled.Overlap, ...] = ("free", "charged")
WAYS = ("one batch", "two halves", "split")
SPREAD = 0.5  # standard deviation of contexts over their mean, where they differ
HALVES_ON = ("h100-sxm", "h800-sxm")  # measured groups in halves, of this model
HOW = "deployments of DeepSeek-V3, in view while the model was made"


@cache
def best(gpu: str, tpot_s: float, **options: Any) -> deployment.Split:
    """The best split of 96 GPUs at a target, with a copy of a row for each node."""
    return deployment.best_split(gpu, GPUS, tpot_s, copies="node", **options)


@cache
def whole(gpu: str, tpot_s: float, **options: Any) -> coupled.Together:
    """The same GPUs as one group: the better of one batch and two halves."""
    return coupled.together(gpu, GPUS, tpot_s, copies="node", **options)


@cache
def beside(gpu: str, tpot_s: float, **options: Any) -> dict[str, float]:
    """Tokens/s of a GPU: one batch, two halves, and the best split."""
    rates = [
        coupled.arranged(
            gpu, GPUS, tpot_s, halves=halves, copies="node", **options
        ).gpu_tokens_per_s
        for halves in (False, True)
    ]
    split = best(gpu, tpot_s, **options).gpu_tokens_per_s(tpot_s)
    return dict(zip(WAYS, (*rates, split), strict=True))


def lead(gpu: str, tpot_s: float, **options: Any) -> float:
    """How much more the best split makes than the better group; negative: less."""
    *groups, split = beside(gpu, tpot_s, **options).values()
    return split / max(groups) - 1


@cache
def halves_band(overlap: coupled.Overlap) -> Band:
    """Errors of the twin, overlap read so, on published runs in two halves.

    Of DeepSeek-V3 on H100 and H800: errors of the tokens per second of a GPU.
    """
    how: Any = coupled.HALVES[overlap]
    found = [
        point
        for point in points(replace(book_assumptions(), overlap=how))
        if point.batch is not None and point.record.accelerator in HALVES_ON
    ]
    errors = [point.error for point in found]
    runs = "groups in two halves on H100 and H800"
    return Band(min(errors), max(errors), runs, len(errors), HOW, whole=True)


def band_words(overlap: coupled.Overlap) -> str:
    """``9 to 19% too low``: how the twin did on the published runs."""
    off = halves_band(overlap)
    near, far = sorted((abs(off.low), abs(off.high)))
    side = "low" if off.high < 0 else "high"
    return f"{100 * near:.0f} to {far:.0%} too {side}"


def beside_table(gpu: str = DEVICES[0], tpot_s: float = TIGHT_S) -> Table:
    """Table of group and split at one target, charged alike, contexts equal or not."""
    rows: list[tuple[str, ...]] = []
    for spread, overlap in product((0.0, SPREAD), OVERLAPS):
        rates = beside(gpu, tpot_s, overlap=overlap, spread=spread)
        behind = lead(gpu, tpot_s, overlap=overlap, spread=spread)
        loads = "contexts differ" if spread else "contexts alike"
        rows.append(
            (
                f"{overlap}, {loads}",
                *(f"{rate:,.0f}" for rate in rates.values()),
                f"{behind:+.0%}".replace("-", "−"),
            )
        )
    notes = (
        f"Tokens/s of a GPU, DeepSeek-V3 on {GPUS} {accelerator(gpu).name} at "
        f"{1e3 * tpot_s:.0f} ms per token, contexts of 4,096 tokens on average; where "
        f"they differ, by a standard deviation of {SPREAD:.0%} of that. Last column: "
        "the split against the better group.",
    )
    columns = ("overlap", *WAYS, "split")
    caption = "One group and the best split, charged alike"
    return Table(caption, columns, rows, notes=notes)


@cache
def every_lead() -> dict[tuple[str, int, str, float], float]:
    """The split's lead wherever the figure of all splits can be turned to."""
    return {
        (gpu, ms, overlap, context): lead(
            gpu, ms / 1e3, overlap=overlap, context=context
        )
        for gpu, ms, overlap, context in product(DEVICES, SHOWN_MS, OVERLAPS, CONTEXTS)
    }
