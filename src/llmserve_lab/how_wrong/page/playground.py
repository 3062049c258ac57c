"""The chapter's bench: your own constants against a sample of the measured rows."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.how_wrong.folds import NAMES
from llmserve_lab.how_wrong.page.charts import MODEL_INKS
from llmserve_lab.page.palette import GREY
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.page.widget import Bench, Knob, Turn
from llmserve_lab.validation import (
    ErrorScore,
    Predictor,
    ServingConstants,
    dense_rows,
    errors,
    score,
)
from llmserve_lab.validation.rows import every

SAMPLE = 16  # every sixteenth row
KNOBS = {
    "memory": Turn("memory share (%)", 1, 150, 80),
    "compute": Turn("compute share (%)", 1, 150, 50),
    "link": Turn("link share (%)", 1, 150, 50),
    "layer_us": Turn("time per layer (µs)", 0, 1000, 20),
    "request_us": Turn("time per request (µs)", 0, 1000, 10),
}
START = {name: knob.default for name, knob in KNOBS.items()}


@cache
def sample() -> Predictor:
    """The rows of the bench, counted by the engine once."""
    return Predictor(every(dense_rows(), SAMPLE))


def machine(
    *, memory: int, compute: int, link: int, layer_us: int, request_us: int
) -> ServingConstants:
    """A machine from the knobs: shares in per cent, times in microseconds."""
    return ServingConstants(
        memory=memory / 100,
        compute=compute / 100,
        link=link / 100,
        layer_s=layer_us * 1e-6,
        request_s=request_us * 1e-6,
        client_s=0.025,
    )


def scores(reached: ServingConstants) -> tuple[ErrorScore, ErrorScore]:
    """Errors of TPOT and of TTFT on the rows of the bench."""
    times = sample().predict(reached)
    return score(sample(), times, "tpot"), score(sample(), times, "ttft")


@figure_style()
def picture(reached: ServingConstants) -> StaticFigure:
    """Errors of TPOT against the number of clients, a point a row."""
    from llmserve_lab.extras import pyplot as plt

    rows, times = sample(), sample().predict(reached)
    error = 100 * errors(times, rows.measured, "tpot")
    figure, axes = plt.subplots(figsize=(4.75, 2.6))
    axes.axhline(0, color=GREY.light, linewidth=0.8)
    for model, ink in MODEL_INKS.items():
        own = rows.label("model") == model
        clients = rows.label("clients")[own]
        axes.plot(clients, error[own], "o", color=ink.light, ms=4, label=NAMES[model])
    axes.set(xscale="log", xlabel="clients", ylabel="error of TPOT (%)")
    axes.set_xticks([4, 8, 16, 32, 64, 128], ["4", "8", "16", "32", "64", "128"])
    axes.minorticks_off()
    axes.set_ylim(-max(30, 1.1 * np.abs(error).max()), max(30, 1.1 * error.max()))
    axes.legend(loc="upper center", ncols=3, bbox_to_anchor=(0.5, 1.22))
    tpot, ttft = scores(reached)
    return StaticFigure.of(
        figure,
        sentence=(
            f"With these constants the mean error of TPOT is {tpot.mean:.1%} (bias "
            f"{tpot.bias:+.1%}) on {tpot.n} rows, that of TTFT {ttft.mean:.1%}."
        ),
    )


def bench() -> Bench:
    """Five constants, and what they are worth on every sixteenth row."""
    knobs: dict[str, Knob] = {**KNOBS}
    title = "Bench: your own constants against the rows"
    return Bench(title, knobs, show, picture(machine(**START)))


def show(**settings: int) -> str:
    """The errors at these constants."""
    return picture(machine(**settings)).html()
