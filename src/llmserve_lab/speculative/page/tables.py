"""Tables of the chapter: the best number of drafts, two laws, two heads measured."""

from __future__ import annotations

from llmserve_lab import running_example
from llmserve_lab.catalog.evidence.speculation import DRAFTS, HEAD_RUNS, PLAIN_TPOT
from llmserve_lab.page.table import Table
from llmserve_lab.speculative import machine as m
from llmserve_lab.speculative.measured import (
    measured_best,
    measured_gain,
    off,
    predicted_gain,
    predicted_ms,
)

BATCHES = (1, 8, 32, 64, 128, 256)
PASSES = ((1, 0), (1, 4), (64, 0), (64, 4))  # requests and drafts of a worked pass


def pass_parts() -> Table:
    """Milliseconds of four passes, part by part, with the constants of each part."""
    cost = running_example.cost()
    read_gb = 2 * running_example.model().params_read / 1e9
    prices = (
        f"Prices: a row {1e3 * cost.row_s:.4f} ms; the weights, {read_gb:.1f} GB, "
        f"{1e3 * cost.weights_s:.3f} ms; 1 − o = {1 - cost.overlap:g}; a query–key "
        f"pair {1e9 * cost.pair_s:.3f} ns; a token of cache "
        f"{1e6 * cost.kv_token_s:.4f} µs; the fixed time {cost.n_layers} layers of "
        f"{1e6 * cost.overhead_s / cost.n_layers:.1f} µs; the host "
        f"{1e6 * cost.request_s:.1f} µs a request. {m.CONTEXT:,} tokens in the cache "
        "of each request."
    )
    found = [m.parts_s(batch, drafts) for batch, drafts in PASSES]
    rows = [("rows, B·(γ + 1)", *(f"{b * (k + 1)}" for b, k in PASSES))]
    rows += [(part, *(f"{1e3 * s[part]:.3f}" for s in found)) for part in found[0]]
    rows.append(("in all (ms)", *(f"{1e3 * sum(s.values()):.3f}" for s in found)))
    named = [f"B = {b}, γ = {k}" for b, k in PASSES]
    return Table(
        "Four passes of Llama-3.1-8B on one H100, part by part, in milliseconds",
        ("part", *named),
        rows,
        notes=(
            prices,
            "Longer of both: computing the rows, or reading the weights. Each number "
            "is rounded by itself, so a sum may differ by 0.001.",
        ),
        band=m.UNSEEN,
    )


def gains() -> Table:
    """Speedups of two heads at their best chain: measured, and from measured tokens."""
    rows = []
    for run in HEAD_RUNS:
        drafts = measured_best(run)
        rows.append(
            (
                run.name,
                f"{drafts}",
                f"{run.tokens[drafts]:.2f}",
                f"{run.tpot_ms[drafts]:.2f} ms",
                f"{measured_gain(run, drafts):.2f}",
                f"{predicted_gain(run, drafts):.2f}",
            )
        )
    return Table(
        "Speedup of one request at the best measured chain: measured, and predicted",
        ("head", "drafts", "tokens", "a token", "measured", "predicted"),
        rows,
        notes=(
            f"Without drafts a token took {1e3 * float(PLAIN_TPOT):.2f} ms (measured), "
            f"{1e3 * m.plain_s(1):.2f} ms (predicted). The predictions take the "
            "measured tokens of a pass. Measured: vLLM, issue 20780, MT-bench.",
        ),
    )


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
        "Predicted best number of drafts and its speedup: Llama-3.1-8B on one H100",
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
