"""Tables of the chapter: the best number of drafts, two laws, two heads measured."""

from __future__ import annotations

from llmserve_lab.catalog.evidence.speculation import DRAFTS, HEAD_RUNS
from llmserve_lab.page.table import Table
from llmserve_lab.speculative import machine as m
from llmserve_lab.speculative.measured import off, predicted_ms

BATCHES = (1, 8, 32, 64, 128, 256)


def best_drafts() -> Table:
    """The best number of drafts and its speedup, by batch and source of drafts."""
    rows = []
    for batch in BATCHES:
        cells = [f"{batch}"]
        for source in (m.SMALL, m.HEAD):
            number, gain = m.best(batch, m.usual(), source)
            eight = m.speedup(batch, m.MOST, m.usual(), source)
            ratio = m.drafting_s(batch, 1, source) / m.plain_s(batch)
            cells += [f"{ratio:.2f}", f"{number}", f"{gain:.2f}", f"{eight:.2f}"]
        rows.append(tuple(cells))
    each = ("best", "speedup", "with eight")
    columns = ("batch", "small: cost", *each, "head: cost", *each)
    law = m.usual()
    return Table(
        "The best number of drafts, and its speedup: Llama-3.1-8B on one H100",
        columns,
        rows,
        notes=(
            f"small: {m.SMALL} drafts; head: one layer and the LM head of the target. "
            "cost: a draft pass over a plain pass; best: the number of drafts. "
            f"Acceptance: α = {law.rate}, r = {law.falls}, the medians of the fourteen "
            f"curves; {m.CONTEXT:,} tokens in the cache of each request.",
        ),
    )


def laws() -> Table:
    """Both laws on every published curve: fitted numbers and errors."""
    rows = []
    for fit in m.published():
        flat, falling = fit.errors(fit.constant), fit.errors(fit.falling)
        worst = max(falling, key=abs)
        rows.append(
            (
                fit.curve.name,
                f"{fit.alpha:.2f}",
                f"{fit.falls:.3f}",
                f"{fit.curve.tokens[-1]:.2f}",
                f"{flat[-1]:+.0%}",
                f"{falling[-1]:+.1%}",
                f"{worst:+.1%}",
            )
        )
    ends = ("constant, at 8", "falling, at 8", "falling, worst")
    columns = ("model, drafts", "α", "r", "tokens, 8 drafts", *ends)
    return Table(
        "Tokens of a pass on fourteen published curves: errors of two laws",
        columns,
        rows,
        notes=(m.published()[0].curve.source,),
    )


def heads() -> Table:
    """Time per token with two drafting heads: measured, predicted, off by."""
    rows = []
    for run in HEAD_RUNS:
        for drafts in DRAFTS:
            rows.append(
                (
                    f"{run.name}, {drafts}",
                    f"{run.tokens[drafts]:.2f}",
                    f"{run.tpot_ms[drafts]:.2f} ms",
                    f"{predicted_ms(run, drafts):.2f} ms",
                    f"{off(run, drafts):+.0%}",
                )
            )
    columns = ("head, drafts", "tokens of a pass", "measured", "predicted", "off by")
    return Table(
        "Time per output token, Llama-3.1-8B in vLLM, one request at a time",
        columns,
        rows,
        notes=(
            "Measured: vLLM, issue 20780, MT-bench; its author names no GPU there.",
        ),
    )
