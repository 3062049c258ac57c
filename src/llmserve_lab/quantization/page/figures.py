"""The chapter's live figure: a decode step in 16 bits and in fewer, part by part."""

from __future__ import annotations

from llmserve_lab.page.banded import BandTable, banded
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout, Value, Verdict
from llmserve_lab.quantization import formulas as f
from llmserve_lab.quantization.page import charts
from llmserve_lab.quantization.page.bands import decode_band
from llmserve_lab.quantization.page.controls import (
    load_controls,
    machine_controls,
    model_controls,
    reached,
)
from llmserve_lab.roofline import formulas as roofline

ENOUGH, MANY = 1.45, 256.0  # the goal: times as fast, with so many requests
ONE: dict[str, Value] = {"chunk": 1.0}
NARROW: dict[str, Value] = {"bytes_quantized": "bytes_quantized", "bytes_weight": 2.0}
SIXTEEN: dict[str, Value] = {"bytes_quantized": 2.0, "bytes_weight": 2.0}
WIDE = "wide_"
CONTROLS = ("batch", "context", "model", "accelerator", "weights")


def parts(prefix: str, **weights: Value) -> dict[str, Bound]:
    """The parts of a decode step as signals, in few bits or, with a prefix, in 16."""
    peak = "peak_flops" if prefix else "low_peak_flops"
    return {
        f"{prefix}weight_bytes": Bound(f.WEIGHT_BYTES, **weights),
        f"{prefix}weights_s": Bound(f.WEIGHTS_S, weight_bytes=f"{prefix}weight_bytes"),
        f"{prefix}linear_s": Bound(f.LINEAR_S, **ONE, low_peak_flops=peak),
        f"{prefix}kv_s": Bound(
            roofline.KV_S, kv_bytes_per_token=f"{prefix}kv_bytes_per_token"
        ),
        f"{prefix}stored_bytes": Bound(
            f.STORED_BYTES, weight_bytes=f"{prefix}weight_bytes", bytes_weight=2.0
        ),
        f"{prefix}held_bytes": Bound(
            f.HELD_BYTES,
            stored_bytes=f"{prefix}stored_bytes",
            kv_bytes_per_token=f"{prefix}kv_bytes_per_token",
        ),
    }


def whole(prefix: str) -> Bound:
    """The step put together from its parts."""
    tied = {name: f"{prefix}{name}" for name in ("linear_s", "weights_s", "kv_s")}
    return Bound(f.FEW_BITS_STEP_S, pairs_s="pairs_s", **tied)


def few_bits() -> LiveFigure:
    """Speed and memory against the bits of weights and of the cache, apart."""
    return LiveFigure(
        name="few-bits",
        title="What fewer bits change: each part of a decode step, beside 16 bits",
        chart=charts.step,
        controls=(
            *load_controls(),
            *model_controls(),
            *machine_controls(),
            *reached(),
        ),
        derived={
            **parts(WIDE, **SIXTEEN),
            **parts("", **NARROW),
            "pairs_s": Bound(f.PAIRS_S, **ONE),
            "wide_few_bits_step_s": whole(WIDE),
            "few_bits_step_s": whole(""),
        },
        readouts=(
            banded(
                Readout("few_bits_step_s", "Decode step as chosen"),
                BandTable(decode_band, CONTROLS),
            ),
            Readout(
                f.FEW_BITS_GAIN,
                "Speedup by fewer bits",
                wide_step_s="wide_few_bits_step_s",
                few_bits_step_s="few_bits_step_s",
            ),
            Verdict(
                "held",
                "On one GPU, weights and cache",
                "hbm_bytes",
                "held_bytes",
                ("do not fit", "fit"),
            ),
            Verdict(
                "multiplied",
                "Layers multiply in",
                "peak_flops",
                "low_peak_flops",
                ("fewer bits", "16 bits"),
            ),
        ),
        sentence=(
            "{model} on {accelerator}, {batch} with {context} in cache each: with "
            "{weights} weights and a cache in {cache} a step takes {few_bits_step_s}, "
            "with 16 bits {wide_few_bits_step_s}; the layers multiply in {multiplied}."
        ),
        goal=Goal(
            "make a step of 256 requests with 1,100 tokens each at least 1.45 times as "
            "fast as 16 bits do, on one GPU that holds them, with layers that multiply "
            "in fewer bits, so that no code has to be unpacked.",
            lambda batch, context, few_bits_gain, held, multiplied: (
                (batch >= MANY)
                & (context >= 1100)
                & (few_bits_gain >= ENOUGH)
                & (held > 0)
                & (multiplied < 1)
            ),
            {"batch": MANY, "weights": "FP8", "cache": "FP8"},
        ),
    )
