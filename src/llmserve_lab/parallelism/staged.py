"""Prompts of published pipelines: the chapter's timeline, beside what was measured.

The time of one stage is the report's own, so what is tested is the timeline alone: how
much sooner more stages are done, with chunks that grow dearer one by one.
"""

from __future__ import annotations

from functools import cache

from llmserve_lab import catalog
from llmserve_lab.catalog.evidence.pipelines import (
    STAGED_PREFILLS,
    STAGED_TOKENS,
    STAGED_TP,
    StagedPrefill,
)
from llmserve_lab.page.table import Table

SHAPE, GPU = "qwen3-235b-a22b", "h20-sxm"


@cache
def attention_s() -> float:
    """Least seconds of the prompt's attention in one stage, at the GPUs' peak."""
    pairs = STAGED_TOKENS * (STAGED_TOKENS + 1) / 2
    peak = STAGED_TP * float(catalog.accelerator(GPU).peak("bf16"))
    return catalog.model(SHAPE).attn_flops_per_pair() * pairs / peak


def alone_s(chunk: int) -> float:
    """Measured seconds of the prompt in one stage, in chunks of this size."""
    (run,) = (r for r in STAGED_PREFILLS if (r.chunk, r.stages) == (chunk, 1))
    return float(run.seconds)


def chunk_times(chunk: int) -> list[float]:
    """Seconds of each chunk in one stage: attention by its pairs, the rest by rows."""
    rest_s = alone_s(chunk) - attention_s()
    times = []
    for done in range(0, STAGED_TOKENS, chunk):
        end = min(done + chunk, STAGED_TOKENS)
        pairs = (end**2 - done**2) / STAGED_TOKENS**2
        times.append(pairs * attention_s() + (end - done) / STAGED_TOKENS * rest_s)
    return times


def predicted_s(run: StagedPrefill) -> float:
    """All chunks pass stage 1; the dearest also passes each of the other stages."""
    times = chunk_times(run.chunk)
    return (sum(times) + (run.stages - 1) * max(times)) / run.stages


def ratios() -> list[float]:
    """Measured over predicted, of each pipeline of two stages or more."""
    return [
        float(run.seconds) / predicted_s(run)
        for run in STAGED_PREFILLS
        if run.stages > 1
    ]


def table() -> Table:
    """Seconds measured and predicted, a line a size of chunk, a column a pipeline."""
    chunks = sorted({run.chunk for run in STAGED_PREFILLS})
    lines = [
        (f"{chunk:,}", *(_cell(run) for run in STAGED_PREFILLS if run.chunk == chunk))
        for chunk in chunks
    ]
    notes = [
        "Seconds for a prompt of 128K tokens: measured (read off a chart, to 5%) / "
        "predicted."
    ]
    columns = ("chunk, tokens", "one stage", "two", "four", "eight")
    return Table("Qwen3-235B-A22B in SGLang's pipelines", columns, lines, notes)


def _cell(run: StagedPrefill) -> str:
    if run.stages == 1:
        return f"{float(run.seconds):.1f}"
    return f"{float(run.seconds):.1f} / {predicted_s(run):.1f}"
