"""Which format to try first: by load and GPU, with what speaks for it.

Beside a measurement stands what the book's machine says of that very run; where nothing
was measured, what it says of a decode step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import median

from llmserve_lab.catalog import ACCELERATORS
from llmserve_lab.catalog.evidence import quantization as papers
from llmserve_lab.page.table import Table
from llmserve_lab.quantization.measured import pairs, rate_gain
from llmserve_lab.quantization.speed import Bits, decode_s, served
from llmserve_lab.quantization.tables import TOKENS

MIDDLE, FULL = (8, 64), 256  # requests at a time


def step_gain(bits: Bits, batch: int, gpu: str = "h100-sxm") -> float:
    """Speed of a step of the book's model over 16 bits on a GPU, by the model."""
    wide, few = (served(each, None, ACCELERATORS[gpu]) for each in (Bits(), bits))
    return decode_s(wide, batch=batch, context=TOKENS) / decode_s(
        few, batch=batch, context=TOKENS
    )


def _times(*gains: float) -> str:
    return ", ".join(f"{gain:.2f}×" for gain in gains) or "none"


def old_gpu_gain(model: str, key: str) -> float:
    """Highest throughput over FP16 on an A100, as published."""
    rates = papers.A100_RATES[model]
    return float(rates[key]) / float(rates["fp16"])


def one_for_two(weights: str, batch: int) -> float:
    """Throughput of a 70B model on one H200 over that on two in BF16."""
    few, wide = (float(papers.LARGE_RATES[key][batch]) for key in (weights, "bf16"))
    return few / wide


@dataclass(frozen=True)
class FormatChoice:
    """What to try first under one load: gains by the formula and as measured.

    ``measured_of`` names what was measured where that is not what is tried.
    """

    load: str
    first: str
    by_formula: tuple[float, ...] = ()
    measured: tuple[float, ...] = ()
    measured_of: str = ""


@cache
def choices() -> tuple[FormatChoice, ...]:
    """The format to try first, by load and GPU, with its evidence."""
    fp4 = pairs("fp8", "fp4", tps=(1,))
    runs = (1, *MIDDLE)
    return (
        FormatChoice(
            "Llama-3.1-8B, one H200, runs of 1, 8, 64",
            "FP8",
            tuple(rate_gain("fp8", batch)[1] for batch in runs),
            tuple(rate_gain("fp8", batch)[0] for batch in runs),
        ),
        FormatChoice(
            "Llama-3.1-8B, one H100, step of 256",
            "FP8, cache too",
            (step_gain(Bits("fp8", "fp8"), FULL),),
        ),
        FormatChoice(
            "Llama-3.1-8B, one H200, run of 1",
            "INT4 weights, to compare",
            (rate_gain("int4", 1)[1],),
            (rate_gain("int4", 1)[0],),
        ),
        FormatChoice(
            "Llama-3.1-8B, one A100 (no FP8), step of 1",
            "INT4 weights; then measure",
            (step_gain(Bits("int4"), 1, "a100-80-sxm"),),
        ),
        *(
            FormatChoice(
                f"{model}, one A100, full",
                "INT8 against 16 bits",
                measured=(old_gpu_gain(model, "w8a8"),),
                measured_of="INT8: ",
            )
            for model in ("Llama-3-8B", "Llama-2-7B")
        ),
        FormatChoice(
            "Llama-3-70B, one B200, over FP8",
            "NVFP4 against FP8",
            (median(p.predicted for p in fp4),),
            (median(p.measured for p in fp4),),
        ),
    )


def decision_table() -> Table:
    """Table of the format to try first, by load and GPU, and its evidence.

    A formula's number stands beside a measurement of the same run, or beside none.
    """
    rows = [
        (
            each.load,
            each.first,
            _times(*each.by_formula),
            each.measured_of + _times(*each.measured),
        )
        for each in choices()
    ]
    columns = ("model, GPU, requests", "try first", "formula", "measured")
    return Table("Which format to try first, and how much faster it is", columns, rows)
