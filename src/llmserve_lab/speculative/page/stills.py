"""The chapter's still pictures: the speedup of every chain, two heads measured."""

from __future__ import annotations

from llmserve_lab.catalog.evidence.speculation import DRAFTS, HEAD_RUNS, PLAIN_TPOT
from llmserve_lab.engine import Acceptance
from llmserve_lab.page.palette import BLUE, GREY, INK, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.speculative import machine as m
from llmserve_lab.speculative.measured import off, plain_off, predicted_ms


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
    axes.set_xlabel("drafts of a pass")
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
    """Time per token against the drafts, measured and predicted, for two heads."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.9, 3.0))
    axes.axhline(1e3 * float(PLAIN_TPOT), color=GREY.light, lw=1)
    axes.text(7, 1e3 * float(PLAIN_TPOT) + 0.1, "without drafts", ha="right")
    for run, ink in zip(HEAD_RUNS, (BLUE, VERMILLION), strict=True):
        measured = [run.tpot_ms[k] for k in DRAFTS]
        predicted = [predicted_ms(run, k) for k in DRAFTS]
        axes.plot(DRAFTS, measured, "o-", color=ink.light)
        axes.plot(DRAFTS, predicted, "--", color=ink.light)
        above = 8 if run is HEAD_RUNS[0] else -15
        axes.annotate(
            f"{run.name}, measured",
            (DRAFTS[-1], measured[-1]),
            (0, above),
            textcoords="offset points",
            ha="right",
            color=ink.light,
        )
    axes.text(2, 2.35, "dashed: predicted", color=INK.light)
    axes.set(ylim=(2, 7.7))
    axes.set_xlabel("drafts of a pass")
    axes.set_ylabel("time per token (ms)")
    worst = max(abs(off(run, k)) for run in HEAD_RUNS for k in DRAFTS)
    return StaticFigure.of(
        figure,
        sentence=(
            f"Without drafts the prediction is off by {plain_off():+.0%}, with drafts "
            f"by up to {-worst:+.0%}; dashed lines are predictions."
        ),
        title="Measured, the best chain is short: three drafts, or four",
        name="speculative.heads",
    )
