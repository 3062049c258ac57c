"""FP8 weights on one H100 by itself: how much faster an iteration is and is priced."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.catalog.evidence import one_h100
from llmserve_lab.page.table import Table
from llmserve_lab.quantization.speed import Bits, served
from llmserve_lab.validation.one_gpu import load_of


@dataclass(frozen=True, kw_only=True)
class Gain:
    """How many times as fast FP8 weights and activations were, measured and priced."""

    run: one_h100.TimedPass
    measured: float
    formula: float


def gains() -> tuple[Gain, ...]:
    """Every iteration that was timed with weights of 16 bits and of 8."""
    seconds = one_h100.mean_seconds()
    wide, narrow = served(Bits("bf16")), served(Bits("fp8"))
    return tuple(
        Gain(
            run=run,
            measured=seconds[run.size] / float(run.seconds),
            formula=wide.seconds(load_of(run.size)) / narrow.seconds(load_of(run.size)),
        )
        for run in one_h100.passes()
        if run.precision == "fp8" and run.size in seconds
    )


def gains_table() -> Table:
    """Table of decode steps and whole prompts; a chunk beside decodes is left out."""
    rows = []
    for each in gains():
        run = each.run
        if run.chunk and run.decodes:
            continue
        what = f"prompt of {run.chunk:,}" if run.chunk else f"decode, {run.decodes}"
        rows.append((what, f"{each.measured:.2f}", f"{each.formula:.2f}"))
    return Table(
        "How many times as fast FP8 made an iteration on one H100 by itself",
        ("iteration", "measured", "formula"),
        rows,
        notes=(
            f"{one_h100.as_note()}. Decode: requests of 1,100 tokens. Weights and "
            "what they multiply in FP8 with one scale, cache and head in BF16; the "
            "rounding that precedes the product is done by the kernels before it.",
        ),
    )
