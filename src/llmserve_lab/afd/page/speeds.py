"""How the split's lead goes with the network's speed: one still picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from llmserve_lab.afd.page.comparison import DEVICES, TIGHT_S, best, whole
from llmserve_lab.afd.page.panels import quiet
from llmserve_lab.afd.page.verdict import FREE, as_is
from llmserve_lab.page.palette import BLUE, GREY, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style

# Times the rate of today's network, starts of transfers included; the last has no wire.
SPEEDS = {
    "½": 0.5, "¾": 0.75, "1": 1.0, "1½": 1.5, "2": 2.0, "3": 3.0, "4": 4.0, "8": 8.0,
    "no wire": 1 / FREE[1],
}  # fmt: skip


@dataclass(frozen=True)
class AtSpeed:
    """The split's lead on one network, and what either side is there."""

    lead: float
    n_ffn: int
    n_batches: int
    in_halves: bool


@cache
def at_speed(speed: float) -> AtSpeed:
    """Split and group at 50 ms on a network of ``speed`` times the rate."""
    off = (1.0, 1 / speed)
    split = best(DEVICES[0], TIGHT_S, off=off)
    halves = whole(DEVICES[0], TIGHT_S, off=off).overlap != "none"
    return AtSpeed(as_is(off=off).lead, split.n_ffn, split.n_batches, halves)


@figure_style()
def over_speeds() -> StaticFigure:
    """A bar of the split's lead for each speed of the network."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.75, 1.75))
    found = [at_speed(speed) for speed in SPEEDS.values()]
    for at, each in enumerate(found):
        ink, lead = (BLUE if each.in_halves else VERMILLION), 100 * each.lead
        axes.bar([at], [lead], 0.62, color=ink.light)
        words = f"{lead:+.0f}%".replace("-", "−")
        side = "bottom" if lead > 0 else "top"
        gap = 0.8 if lead > 0 else -0.8
        axes.text(at, lead + gap, words, color=ink.light, ha="center", va=side)
    turn = sum(each.in_halves for each in found)
    axes.axhline(0, color=GREY.light, lw=1.4)
    for first, many, ink, words in (
        (1, turn - 1, BLUE, "group in two halves"),
        (turn, len(found) - turn, VERMILLION, "group in one batch"),
    ):
        axes.text(first + (many - 1) / 2, 1.5, words, color=ink.light, ha="center")
    axes.set_xticks(range(len(found)), [*SPEEDS])
    axes.set_yticks([])
    axes.set_ylim(-31, 9)
    axes.set_xlabel("speed of the network, today's is 1")
    axes.set_ylabel("split's lead")
    axes.grid(visible=False)
    quiet(figure)
    return StaticFigure.of(
        figure,
        name="afd.over-speeds",
        title="Only at half the network's speed does the split lead",
        sentence="At 50 ms per token, a row sent 8 times, nothing chosen.",
    )
