"""Which format to try first: by load and GPU, with what speaks for it.

Speedups are a decode step's over 16 bits unless a row says otherwise; beside what the
book's machine says stands what was measured, if anything was.
"""

from __future__ import annotations

from statistics import median

from llmserve_lab.catalog import ACCELERATORS, MODELS
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
    return ",\N{NO-BREAK SPACE}".join(f"{gain:.2f}×" for gain in gains)


def old_gpu_gain(model: str, key: str) -> float:
    """Highest throughput over FP16 on an A100, as published."""
    rates = papers.A100_RATES[model]
    return float(rates[key]) / float(rates["fp16"])


def one_for_two(weights: str, batch: int) -> float:
    """Throughput of a 70B model on one H200 over that on two in BF16."""
    few, wide = (float(papers.LARGE_RATES[key][batch]) for key in (weights, "bf16"))
    return few / wide


def decision_table() -> Table:
    """Table of the format to try first, by load and GPU, and its evidence."""
    int4, fp8, both = Bits("int4"), Bits("fp8"), Bits("fp8", "fp8")
    fp4 = pairs("fp8", "fp4", tps=(1,))
    old = [old_gpu_gain(model, "w8a8") for model in papers.A100_RATES]
    rows = [
        (
            "1 request, any of these GPUs",
            "INT4 weights",
            _times(step_gain(int4, 1)),
            _times(rate_gain("int4", 1)[0]),
        ),
        (
            "8, 64 requests or long prompts; H100, H200",
            "FP8",
            _times(*(step_gain(fp8, batch) for batch in MIDDLE)),
            _times(*(rate_gain("fp8", batch)[0] for batch in MIDDLE)),
        ),
        (
            "256 requests; H100, H200",
            "FP8, cache too",
            _times(step_gain(both, FULL)),
            "none",
        ),
        (
            "64 requests; A100",
            "INT8,\N{NO-BREAK SPACE}smoothed",
            _times(step_gain(Bits("int8"), 64, "a100-80-sxm")),
            _times(*old),
        ),
        (
            "Llama-3-70B on one B200, over FP8",
            "NVFP4",
            _times(median(p.predicted for p in fp4)),
            _times(median(p.measured for p in fp4)),
        ),
        *(
            (
                f"Llama-3.1-70B on one {gpu}; 1, 64 requests",
                name,
                f"{served(Bits(key), MODELS['llama-3.1-70b']).weight_bytes / 1e9:.0f} "
                "GB fit",
                _times(*(one_for_two(key, batch) for batch in (1, 64))),
            )
            for gpu, key, name in (
                ("H200", "fp8", "FP8"),
                ("H100", "int4", "INT4 weights"),
            )
        ),
    ]
    columns = ("load and GPU", "try first", "model", "measured")
    return Table("Which format to try first", columns, rows)
