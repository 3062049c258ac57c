"""One step of the page's replica, as a bar: what it takes with a prompt and without."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.capacity import by_hand, datasheet, pools
from llmserve_lab.page.palette import BLUE, GOLD, GREEN, GREY, Ink
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.running_example import PROMPT


@dataclass(frozen=True)
class StepPart:
    """A part of a step, in seconds."""

    name: str
    seconds: float
    ink: Ink


def stretches() -> tuple[StepPart, ...]:
    """Parts of the step with a prompt; without it the last two are missing."""
    fixed, prompt, _ = datasheet.parts()
    times = by_hand.times_of(pools.H100)
    answers_s = by_hand.ANSWERS * times.answer_s / by_hand.STEPS
    unhidden_s = prompt.arithmetic_s + prompt.memory_s  # the latter is time saved
    return (
        StepPart("weights", fixed.memory_s, BLUE),
        StepPart("CPU", fixed.cpu_s, GREY),
        StepPart(f"{by_hand.ANSWERS} answers", answers_s, GREEN),
        StepPart("prompt, less hidden", unhidden_s, GOLD),
        StepPart("CPU", prompt.cpu_s, GREY),
    )


@figure_style()
def one_step() -> StaticFigure:
    """A step of answers, and the same step with a prompt in it, part after part."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.7, 1.9))
    parts = stretches()
    rows = {
        f"{by_hand.ANSWERS} answers alone": parts[:3],
        f"with a prompt of {PROMPT:,} tokens": parts,
    }
    totals = []
    for place, (name, shown) in enumerate(rows.items()):
        begin = 0.0
        for each in shown:
            ms = 1e3 * each.seconds
            new = each.name not in axes.get_legend_handles_labels()[1]
            axes.barh(
                place,
                ms,
                0.42,
                left=begin,
                color=each.ink.light,
                label=each.name if new else None,
            )
            axes.annotate(
                f"{ms:.2f}",
                (begin + ms / 2, place),
                ha="center",
                va="center",
                color="white",
                fontsize=8,
            )
            begin += ms
        totals.append(begin)
        axes.annotate(
            f"{name}: {begin:.2f} ms", (0, place - 0.27), va="bottom", fontsize=9
        )
    axes.set(ylim=(1.35, -0.62), xlim=(0, 37), xlabel="milliseconds")
    axes.set_yticks([])
    axes.grid(visible=False, axis="y")
    axes.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=4,
        columnspacing=1,
        handlelength=1,
    )
    alone, shared = totals
    return StaticFigure.of(
        figure,
        sentence=(
            f"The step takes {alone:.2f} ms without the prompt and {shared:.2f} ms "
            f"with it. The prompt is charged the {shared - alone:.2f} ms between. "
            "The CPU's parts are fitted, never timed alone."
        ),
        title=(
            f"One prompt makes a step of {by_hand.ANSWERS} answers "
            f"{shared / alone:.1f} times as long"
        ),
        name="capacity.one-step",
    )
