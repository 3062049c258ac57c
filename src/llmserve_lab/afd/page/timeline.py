"""One layer after another on real GPUs: a split with three batches, a group in halves.

Both are played from the times of the table of one layer: a machine, or a port, takes
what comes next, and a batch starts its next layer when it has come back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from llmserve_lab.afd.page import comparison, inputs
from llmserve_lab.afd.page.arrangements import by_night
from llmserve_lab.afd.page.panels import quiet
from llmserve_lab.page.palette import BLUE, GREEN, INK, PURPLE, Ink
from llmserve_lab.page.still import StaticFigure, figure_style

GPU = "h100-sxm"
LAYERS, FIRST = 12, 6  # played, and the first that is drawn
SPAN = 780.0  # microseconds that are drawn
LEAST = 60.0  # of a bar that has room for its batch's number
STAGES = ("attention", "there", "FFN", "back")
INKS: dict[str, Ink] = {
    "attention": BLUE,
    "FFN": GREEN,
    "there": PURPLE,
    "back": PURPLE,
}


@dataclass(frozen=True)
class BatchAtStage:
    """A batch at a stage, in microseconds."""

    stage: str
    batch: int
    start: float
    end: float


@cache
def played(*, split: bool) -> tuple[BatchAtStage, ...]:
    """Every stay of every batch: of a split each stage is a place of its own.

    A GPU of a group does attention and FFN; each way of the wire is one place in both.
    """
    column = [each.split_s if split else each.half_s for each in inputs.sides(GPU)]
    attn, ffn, there, back = (1e6 * each for each in column)
    took = dict(zip(STAGES, (attn, there, ffn, back), strict=True))
    n_batches = comparison.best(GPU, comparison.TIGHT_S).n_batches if split else 2
    place = {s: s if split or s in ("there", "back") else "GPU" for s in STAGES}
    free, ready = dict.fromkeys(place.values(), 0.0), [0.0] * n_batches
    found = []
    for _ in range(LAYERS):
        for pair in (STAGES[:2], STAGES[2:]):
            for batch in range(n_batches):
                for stage in pair:
                    start = max(free[place[stage]], ready[batch])
                    free[place[stage]] = ready[batch] = start + took[stage]
                    found.append(BatchAtStage(stage, batch, start, ready[batch]))
    return tuple(found)


def busy(stages: tuple[str, ...], *, split: bool) -> float:
    """Share of a steady period in which the place of these stages works."""
    stays = played(split=split)
    starts = [s.start for s in stays if s.stage == "attention" and s.batch == 0]
    begin, end = starts[FIRST], starts[FIRST + 3]
    spent = (min(s.end, end) - max(s.start, begin) for s in stays if s.stage in stages)
    return sum(each for each in spent if each > 0) / (end - begin)


LANES: dict[tuple[bool, str], tuple[str, ...]] = {
    (True, "Attention GPUs"): ("attention",),
    (True, "wire, there"): ("there",),
    (True, "FFN GPUs"): ("FFN",),
    (True, "wire, back"): ("back",),
    (False, "every GPU"): ("attention", "FFN"),
    (False, "wire, there "): ("there",),
    (False, "wire, back "): ("back",),
}


@figure_style()
def both_ways() -> StaticFigure:
    """Lanes of GPUs and wire over time: the best split, and below it one group."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.4, 2.25))
    names = []
    for lane, ((split, name), stages) in enumerate(LANES.items()):
        y = lane + 0.7 * (not split)
        names.append((y, name.strip()))
        _lane(axes, y, stages, split=split)
        if "GPU" in name:
            words = f"busy {busy(stages, split=split):.0%}"
            axes.text(SPAN + 12, y, words, va="center", size=9, color=INK.light)
    axes.set_yticks([y for y, _ in names], [name for _, name in names])
    axes.set_xlim(0, SPAN)
    axes.set_ylim(len(LANES) + 0.35, -1.05)
    for y, words in ((-0.72, "best split, three batches in flight"),
                     (3.98, "one group in two halves")):  # fmt: skip
        axes.text(0, y, words, va="center", weight="bold", size=9.5, color=INK.light)
    axes.set_xlabel("time (µs)")
    axes.grid(visible=False)
    quiet(figure)
    ffn, group = busy(("FFN",), split=True), busy(("attention", "FFN"), split=False)
    drawn = StaticFigure.of(
        figure,
        name="afd.both-ways",
        title=f"In layers with experts the split's FFN GPUs wait for {1 - ffn:.0%} of "
        f"the time, GPUs of the group for {1 - group:.0%}",
        sentence=(
            "Played from the times in the fold above. Blue: attention. Green: FFN. "
            "Purple: rows on the wire. A number is a batch, or a half; white is "
            "waiting."
        ),
    )
    return replace(drawn, svg=by_night(drawn.svg))


def _lane(axes: Any, y: float, stages: tuple[str, ...], *, split: bool) -> None:
    """What is at a place, over the time that is drawn."""
    stays = played(split=split)
    begins = [s.start for s in stays if s.stage == "attention" and s.batch == 0]
    for stay in stays:
        start = max(stay.start - begins[FIRST], 0.0)
        end = min(stay.end - begins[FIRST], SPAN)
        if stay.stage not in stages or end - start < 1e-6:
            continue
        ink = INKS[stay.stage]
        look: dict[str, Any] = {"height": 0.78, "color": ink.light, "lw": 0}
        axes.barh(y, end - start - 4, left=start + 2, **look)
        if end - start > LEAST:
            word = {"ha": "center", "va": "center", "color": "white", "size": 8.5}
            axes.text((start + end) / 2, y, f"{stay.batch + 1}", **word)
