"""Tables of the chapter: rows and parts of a pass, the best chain, runs measured."""

from __future__ import annotations

from llmserve_lab import running_example
from llmserve_lab.catalog.evidence.speculation import (
    BATCH_RUNS,
    BATCHES,
    CHAIN,
    DRAFTS,
    EAGLE_CURVES,
    HEAD_RUNS,
    TEXT_CURVES,
)
from llmserve_lab.engine import Acceptance
from llmserve_lab.page.table import Table
from llmserve_lab.speculative import machine as m
from llmserve_lab.speculative import toy
from llmserve_lab.speculative.measured import (
    batch_gain,
    batch_off,
    measured_line,
    off,
    predicted_ms,
)
from llmserve_lab.speculative.page.rounds import REJECTED, first_pass

SIZES = (1, 16, 64, 128, 256)  # requests of a batch
PASSES = ((1, 0), (1, 4), (64, 0), (64, 4))  # requests and drafts of a worked pass


def rows_of_a_pass() -> Table:
    """What each row of the figure's verification pass sees, tells and decides."""
    done = first_pass(REJECTED)
    drafts = [toy.WORDS[token] for token in done.drafts.tokens]
    newest = toy.WORDS[done.text[-1]]
    rows = []
    for place, word in enumerate((newest, *drafts)):
        seen = " ".join((newest, *drafts[:place]))
        judged = drafts[place] if place < len(drafts) else "bonus word"
        kept = "right" if place <= len(done.verdict.kept) else "wrong"
        rows.append((f"{place + 1}: {word}", f"… {seen}", judged, kept))
    return Table(
        "One verification pass: five rows, of which each sees only the words up to it",
        ("row", "what it sees", "its p decides on", "its keys and values"),
        rows,
    )


def pass_parts() -> Table:
    """Milliseconds of passes of target and draft model, part by part."""
    cost, draft = running_example.cost(), m.draft_cost(m.SMALL)
    assert draft is not None, "a small model runs passes"
    read_gb = 2 * running_example.model().params_read / 1e9
    prices = (
        f"Prices of the target: a row {1e3 * cost.row_s:.5f} ms; the weights, "
        f"{read_gb:.1f} GB, {1e3 * cost.weights_s:.3f} ms; a query–key pair "
        f"{1e9 * cost.pair_s:.3f} ns; a token of cache {1e6 * cost.kv_token_s:.5f} µs; "
        f"starting {cost.n_layers} layers, {1e6 * cost.overhead_s / cost.n_layers:.1f} "
        f"µs each; the CPU {1e6 * cost.request_s:.2f} µs a request. {m.CONTEXT:,} "
        "tokens in the cache of each request."
    )
    drafts = (
        f"Of Llama-3.2-1B: a row {1e3 * draft.row_s:.5f} ms; the weights "
        f"{1e3 * draft.weights_s:.3f} ms; {draft.n_layers} layers; a token of cache "
        f"{1e6 * draft.kv_token_s:.5f} µs. The CPU's time is spent once a round."
    )
    found = [m.parts_s(b, k) for b, k in PASSES]
    found += [m.parts_s(b, 0, source=m.SMALL) for b in (1, 64)]
    rows = [("rows", *(f"{b * (k + 1)}" for b, k in PASSES), "1", "64")]
    rows += [(part, *(f"{1e3 * s[part]:.3f}" for s in found)) for part in found[0]]
    rows.append(("in all (ms)", *(f"{1e3 * sum(s.values()):.3f}" for s in found)))
    named = [f"B={b}, γ={k}" for b, k in PASSES]
    return Table(
        "Passes of Llama-3.1-8B on one H100, part by part, in milliseconds; at the "
        "right the passes of Llama-3.2-1B that make one draft a request",
        ("part", *named, "draft, B=1", "draft, B=64"),
        rows,
        notes=(
            "Computing the rows and reading the weights go on at once; half of the "
            f"shorter of the two is not hidden by the longer. {prices}",
            drafts,
        ),
        band=m.UNSEEN,
    )


def best_drafts() -> Table:
    """The best chain of the small model by batch, and eight drafts, by its guesses."""
    falling, rows = m.usual(), []
    rates = (falling.rate, *m.POORER)
    for batch in SIZES:
        ratio = m.drafting_s(batch, 1, m.SMALL) / m.plain_s(batch)
        cells = [f"{batch}", f"{ratio:.2f}"]
        for rate in rates:
            law = Acceptance(rate, falling.falls)
            number, gain = m.best(batch, law, m.SMALL)
            eight = m.speedup(batch, m.MOST, law, m.SMALL)
            cells += [f"{gain:.2f} ({number})", f"{eight:.2f}"]
        rows.append(tuple(cells))
    named = [(f"α = {rate}: best", "with eight") for rate in rates]
    return Table(
        f"Predicted speedup: {m.SMALL} drafts for Llama-3.1-8B on one H100",
        (
            "batch",
            "draft cost",
            *(column for pair in named for column in pair),
        ),
        rows,
        notes=(
            "Draft cost: a draft pass over a plain pass. Best: the largest speedup, "
            "and in brackets the number of drafts that gives it. α: chance that the "
            f"first draft is kept; r = {falling.falls}; {m.CONTEXT:,} tokens in the "
            "cache of each request.",
        ),
    )


def batches() -> Table:
    """EAGLE's speedup by batch on four tasks: measured, predicted, off by."""
    rows = []
    for run in BATCH_RUNS:
        for batch in BATCHES:
            rows.append(
                (
                    f"{run.task}, {batch}",
                    f"{run.tokens:.2f}",
                    f"{run.gains[batch]:.2f}",
                    f"{batch_gain(run, batch):.2f}",
                    f"{batch_off(run, batch):+.0%}",
                )
            )
    return Table(
        f"Speedup of EAGLE with {CHAIN} drafts, Llama-3.1-8B in vLLM on one H100",
        ("task, batch", "tokens of a pass", "measured", "predicted", "off by"),
        rows,
        notes=(
            "Measured speedups are read off the vectors of the paper's first figure, "
            "tokens are counted on its published acceptance. Both times hold reading "
            "the prompts; predicted, they are read in one pass before decoding.",
        ),
    )


def sources() -> Table:
    """Four sources of drafts: what a draft costs here, and how many are kept."""
    first, last = DRAFTS[0], DRAFTS[-1]
    spent = {
        source: 1e3
        * (m.round_s(1, last, source) - m.round_s(1, first, source))
        / (last - first)
        for source in (m.SMALL, m.HEAD, m.HEAD_3, m.LOOKUP)
    }
    lines = {run.name: measured_line(run)[1] for run in HEAD_RUNS}
    eagle, text = (
        {curve.name: curve.tokens[CHAIN - 1] for curve in curves}
        for curves in (EAGLE_CURVES, TEXT_CURVES)
    )
    chats, _, edits, summaries = (run.task for run in BATCH_RUNS)
    asked = (chats, summaries, edits)
    none = ("–",) * len(asked)
    runs = {run.name: f"{run.tokens[CHAIN]:.2f}" for run in HEAD_RUNS}
    rows = [
        ("Llama-3.2-1B", f"{spent[m.SMALL]:.2f}", "–", *none, "–"),
        (
            "EAGLE",
            f"{spent[m.HEAD]:.2f}",
            f"{lines['EAGLE']:.2f}",
            *(f"{eagle[task]:.2f}" for task in asked),
            runs["EAGLE"],
        ),
        (
            "EAGLE-3",
            f"{spent[m.HEAD_3]:.2f}",
            f"{lines['EAGLE-3']:.2f}",
            *none,
            runs["EAGLE-3"],
        ),
        (
            "text",
            f"{spent[m.LOOKUP]:.2f}",
            "–",
            *(f"{text[task]:.2f}" for task in asked),
            "–",
        ),
    ]
    return Table(
        "Llama-3.1-8B, one request: milliseconds that one more draft adds to a round, "
        f"and tokens that a pass with {CHAIN} drafts yields",
        (
            "source",
            "ms, predicted",
            "ms, measured",
            "tokens: chats",
            "summaries",
            "code edits",
            "task unnamed",
        ),
        rows,
        notes=(
            "Predicted: one H100. Measured milliseconds (slopes of the lines under "
            "“Beside a measurement”) and the last column: vLLM, issue 20780, which "
            "names neither its GPU nor its task. Other tokens are counted on published "
            f"acceptance: {', '.join(asked)}. –: the book knows no measurement.",
        ),
    )


def laws() -> Table:
    """Both formulas on every published curve: fitted numbers and errors."""
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
        "Tokens of a pass on fourteen published curves: errors of two formulas",
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
            "Measured: vLLM, issue 20780, which names neither its GPU nor its task. "
            "Predicted: one H100.",
        ),
    )
