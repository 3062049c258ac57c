"""The chapter's still pictures: the speedup of every chain, two heads measured."""

from __future__ import annotations

from llmserve_lab.catalog.evidence.speculation import (
    BATCH_RUNS,
    BATCHES,
    DRAFTS,
    HEAD_RUNS,
    PLAIN_TPOT,
)
from llmserve_lab.engine import Acceptance
from llmserve_lab.page.palette import BLUE, INK, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.speculative import machine as m
from llmserve_lab.speculative.measured import (
    batch_off,
    off,
    plain_off,
    predicted_gains,
    predicted_round_ms,
    round_ms,
)


@figure_style()
def gains(batch: int, law: Acceptance, source: str) -> StaticFigure:
    """Speedup of chains of one to eight drafts, a bar each."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.7, 2.4))
    chains = range(1, m.MOST + 1)
    found = [m.speedup(batch, k, law, source) for k in chains]
    axes.bar(list(chains), found, color=BLUE.light)
    axes.axhline(1, color=INK.light, lw=1)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("drafts of a request")
    axes.set_ylabel("speedup")
    number, gain = m.best(batch, law, source)
    said = f"{number} drafts are best, {gain:.2f} times" if number else "no chain gains"
    title = f"A batch of {batch}, drafts from {source}: {said}"
    sentence = (
        f"The first draft is kept with chance {law.rate:.2f}; one draft gives "
        f"{found[0]:.2f}, eight give {found[-1]:.2f}."
    )
    return StaticFigure.of(
        figure, sentence=sentence, title=title, name="speculative.gains"
    )


@figure_style()
def heads() -> StaticFigure:
    """Time of a round against the drafts, measured and predicted, for two heads."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.9, 2.8))
    for run, ink, mark in zip(HEAD_RUNS, (BLUE, VERMILLION), ("o", "s"), strict=True):
        measured = [round_ms(run, k) for k in DRAFTS]
        predicted = [predicted_round_ms(run, k) for k in DRAFTS]
        axes.plot(DRAFTS, measured, f"{mark}-", color=ink.light)
        axes.plot(DRAFTS, predicted, f"{mark}--", color=ink.light, mfc="none")
        for told, at in (("measured", measured), ("predicted", predicted)):
            axes.annotate(
                f"{run.name}, {told}",
                (DRAFTS[-1], at[-1]),
                (7, 0),
                textcoords="offset points",
                va="center",
                color=ink.light,
            )
    axes.plot([0], [1e3 * float(PLAIN_TPOT)], "D", color=INK.light)
    axes.annotate(
        "without drafts",
        (0, 1e3 * float(PLAIN_TPOT)),
        (0, -13),
        textcoords="offset points",
        color=INK.light,
    )
    axes.set(xlim=(-0.3, 9.9), ylim=(0, 16.5))
    axes.set_xticks((0, *DRAFTS))
    axes.set_xlabel("drafts of a request")
    axes.set_ylabel("time of a round (ms)")
    worst = max(abs(off(run, k)) for run in HEAD_RUNS for k in DRAFTS)
    return StaticFigure.of(
        figure,
        sentence=(
            "One request. Without drafts the prediction is off by "
            f"{plain_off():+.0%}, with drafts by up to {-worst:+.0%}: open marks and "
            "dashed lines are predictions."
        ),
        title="Measured rounds take longer than predicted, and each draft adds more",
        name="speculative.heads",
    )


@figure_style()
def batches() -> StaticFigure:
    """Speedup of EAGLE against the batch, measured and predicted, on two tasks."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.9, 2.8))
    near, far = BATCH_RUNS[0], BATCH_RUNS[-1]
    for run, ink, mark in zip((near, far), (BLUE, VERMILLION), ("o", "s"), strict=True):
        told = {"measured": run.gains, "predicted": predicted_gains(run)}
        for (which, gains), line in zip(told.items(), ("-", "--"), strict=True):
            found = [gains[batch] for batch in BATCHES]
            face = ink.light if line == "-" else "none"
            axes.plot(BATCHES, found, f"{mark}{line}", color=ink.light, mfc=face)
            axes.annotate(
                f"{run.task}, {which}",
                (BATCHES[-1], found[-1]),
                (7, 5 if line == "--" else -5),
                textcoords="offset points",
                va="center",
                color=ink.light,
            )
    axes.axhline(1, color=INK.light, lw=1)
    axes.set(xlim=(-4, 222), ylim=(0.9, 2.0))
    axes.set_xticks(BATCHES)
    axes.set_xlabel("requests in one batch")
    axes.set_ylabel("speedup")
    best, worst = (
        max(abs(batch_off(run, batch)) for batch in BATCHES) for run in (near, far)
    )
    return StaticFigure.of(
        figure,
        sentence=(
            "EAGLE, three drafts, Llama-3.1-8B in vLLM on one H100. The prediction is "
            f"off by up to {best:.0%} on {near.task}, by up to {worst:.0%} on "
            f"{far.task}, the worst of four tasks."
        ),
        title="Measured: the larger the batch, the less three drafts gain",
        name="speculative.batches",
    )
