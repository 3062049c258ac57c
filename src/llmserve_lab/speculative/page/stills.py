"""The chapter's still pictures: the speedup of every chain, two heads measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from llmserve_lab.catalog.evidence.speculation import (
    BATCH_RUNS,
    BATCHES,
    CHAIN,
    DRAFTS,
    HEAD_RUNS,
    PLAIN_TPOT,
)
from llmserve_lab.engine import Acceptance
from llmserve_lab.page.palette import (
    BLUE,
    GOLD,
    GREEN,
    GREY,
    INK,
    PAGE_CSS,
    PURPLE,
    VERMILLION,
)
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


PARTS = (BLUE, VERMILLION, GOLD, GREEN, GREY, PURPLE)  # inks of the parts of a pass
PASSES = ((64, 4), (64, 0), (1, 4), (1, 0))  # requests and drafts, from below


def _label_end(
    axes: Any,
    said: str,
    end: tuple[float, float],
    apart: tuple[float, float] = (5, 0),
    **look: Any,
) -> None:
    """Words so many points from the end of a bar or line."""
    look |= {"textcoords": "offset points", "va": "center"}
    axes.annotate(said, end, apart, **look)


@figure_style()
def passes() -> StaticFigure:
    """Four passes of the target as bars, each of its parts."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(5.6, 2.65))
    found = [m.parts_s(batch, drafts) for batch, drafts in PASSES]
    for part, ink in zip(found[0], PARTS, strict=True):
        lefts, names = [], list(found[0])
        for parts in found:
            before = names[: names.index(part)]
            lefts.append(1e3 * sum(parts[name] for name in before))
        widths = [1e3 * parts[part] for parts in found]
        axes.barh(range(4), widths, 0.62, lefts, color=ink.light, label=part)
    for row, parts in enumerate(found):
        whole = 1e3 * sum(parts.values())
        _label_end(axes, f"{whole:.2f} ms", (whole, row))
    one, many = ("1 request", "64 requests")
    axes.set_yticks(range(4))
    axes.set_yticklabels(
        [
            f"{many if batch > 1 else one},\n{drafts or 'no'} drafts"
            for batch, drafts in PASSES
        ]
    )
    axes.grid(visible=False, axis="y")
    axes.set(xlim=(0, 18.5))
    axes.set_xlabel("time of a pass of the target (ms)")
    axes.legend(
        ncols=2,
        loc="upper center",
        bbox_to_anchor=(0.42, -0.27),
        handlelength=1.0,
        columnspacing=1.2,
        fontsize=8.5,
    )
    plain, checked = m.plain_s(64), m.verify_s(64, 4)
    return StaticFigure.of(
        figure,
        sentence=(
            f"With one request four drafts lengthen the pass by "
            f"{m.verify_s(1, 4) / m.plain_s(1) - 1:.1%}, with 64 requests by "
            f"{checked / plain - 1:.0%}. Predicted."
        ),
        title="Four drafts are checked for nearly nothing at one request, not at 64",
        name="speculative.passes",
    )


@figure_style()
def timeline() -> StaticFigure:
    """Plain passes above one round of three drafts, on one axis of time."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(5.6, 1.75))
    drafts, law = CHAIN, m.usual()
    plain, check = 1e3 * m.plain_s(1), 1e3 * m.verify_s(1, drafts)
    draft = 1e3 * m.drafting_s(1, 1, m.SMALL)
    rows = (
        (1, [(plain, BLUE, "1 token")] * 3),
        (0, [(draft, GOLD, "draft")] * drafts + [(check, BLUE, "check")]),
    )
    for row, blocks in rows:
        left = 0.0
        for wide, ink, said in blocks:
            axes.barh([row], [wide - 0.08], 0.6, [left], color=ink.light)
            axes.text(
                left + wide / 2,
                row,
                said,
                color="#ffffff",
                ha="center",
                va="center",
                fontsize=7.5,
            )
            left += wide
        told = "3 tokens" if row else f"{law.tokens(drafts):.2f} tokens"
        _label_end(axes, f"{told}, {left:.2f} ms", (left, row))
    axes.set_yticks((0, 1))
    axes.set_yticklabels(("one round", "three\nplain passes"))
    axes.grid(visible=False, axis="y")
    axes.set(xlim=(0, 30), ylim=(-0.5, 1.5))
    axes.set_xlabel("time (ms)")
    found = StaticFigure.of(
        figure,
        sentence=(
            f"One request, three drafts of {m.SMALL}, kept as the text assumes: "
            f"{law.tokens(drafts):.2f} tokens on average. Predicted."
        ),
        title="Three short passes and one long one yield what three long ones do",
        name="speculative.timeline",
    )
    return replace(found, svg=found.svg.replace("#ffffff", PAGE_CSS))


@figure_style()
def heads() -> StaticFigure:
    """Time of a round against the drafts, measured and predicted, for two heads."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.75, 2.45))
    for run, ink, mark in zip(HEAD_RUNS, (BLUE, VERMILLION), ("o", "s"), strict=True):
        measured = [round_ms(run, k) for k in DRAFTS]
        predicted = [predicted_round_ms(run, k) for k in DRAFTS]
        axes.plot(DRAFTS, measured, f"{mark}-", color=ink.light)
        axes.plot(DRAFTS, predicted, f"{mark}--", color=ink.light, mfc="none")
        for told, at in (("measured", measured), ("predicted", predicted)):
            end = DRAFTS[-1], at[-1]
            _label_end(axes, f"{run.name}, {told}", end, (7, 0), color=ink.light)
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

    figure, axes = plt.subplots(figsize=(4.75, 2.45))
    near, far = BATCH_RUNS[0], BATCH_RUNS[-1]
    beside = {  # points by which a label is moved up from the end of its line
        (near.task, "measured"): 6,
        (near.task, "predicted"): 18,
        (far.task, "measured"): -6,
        (far.task, "predicted"): -5,
    }
    for run, ink, mark in zip((near, far), (BLUE, VERMILLION), ("o", "s"), strict=True):
        told = {"measured": run.gains, "predicted": predicted_gains(run)}
        for (which, gains), line in zip(told.items(), ("-", "--"), strict=True):
            found = [gains[batch] for batch in BATCHES]
            face = ink.light if line == "-" else "none"
            axes.plot(BATCHES, found, f"{mark}{line}", color=ink.light, mfc=face)
            end, apart = (BATCHES[-1], found[-1]), (7, beside[run.task, which])
            _label_end(axes, f"{run.task}, {which}", end, apart, color=ink.light)
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
            f"off by up to {best:.0%} on {near.task} (chats), by up to {worst:.0%} on "
            f"{far.task} (summaries), the worst of four tasks."
        ),
        title="The larger the batch, the less drafts gain; measured least on summaries",
        name="speculative.batches",
    )
