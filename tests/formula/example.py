"""A live figure, two questions and a drawing that several tests share."""

import math
from functools import partial
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.formula.formula import Formula
from llmserve_lab.page.live.controls import Choice, Lookup, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.readout import Bound, Readout, Verdict
from llmserve_lab.page.palette import VERMILLION, decades
from llmserve_lab.page.question.question import Hint, Question
from llmserve_lab.page.still import StaticFigure, figure_style

make = partial(Formula, title="an example", source="none", holds="always")


def smaller(a: Any, b: Any) -> Any:
    import sympy

    return sympy.Min(a, b)


RIDGE = make(q.ridge, lambda peak_flops, hbm_bw: peak_flops / hbm_bw)
ROOF = make(
    q.attainable_flops,
    lambda intensity, peak_flops, hbm_bw: smaller(peak_flops, intensity * hbm_bw),
)
INTENSITY = make(
    q.intensity,
    lambda batch, params_active, bytes_weight, context, kv_bytes_per_token: (
        2
        * params_active
        * batch
        / (params_active * bytes_weight + batch * context * kv_bytes_per_token)
    ),
)
SENTENCE = "At batch {batch}, {model} on {device} does {intensity:2}: {bound}."
BATCHES = tuple(2.0**power for power in range(9))
CONTEXTS = (1.0, 256.0, 4096.0, 131072.0)
MODELS = {"params_active": (6.74e9, 70.6e9), "kv_bytes_per_token": (524288.0, 327680.0)}


def chart() -> Any:
    import altair as alt

    x = alt.X("intensity:Q").scale(type="log", domain=[1, 1e4])
    x = x.axis(values=decades(0, 4), format="~s").title("intensity (FLOP/byte)")
    y = alt.Y("roof:Q").scale(type="log", domain=[1e12, 1e16])
    y = y.axis(values=decades(12, 16), format="~s").title("compute (FLOP/s)")
    steps = alt.Chart(alt.sequence(0, 81, as_="i"))
    roof = ROOF.browser({"intensity": "datum.intensity"})
    line = steps.transform_calculate(intensity="pow(10, datum.i/20)")
    line = line.transform_calculate(roof=roof).mark_line().encode(x=x, y=y)
    one = alt.Chart(alt.InlineData([{"one": 1}]))
    point = one.transform_calculate(intensity="intensity", roof="attainable_flops")
    return line + point.mark_point(color=VERMILLION.css, opacity=1).encode(x=x, y=y)


def example(**changes: Any) -> LiveFigure:
    """The figure, with some of its parts replaced."""
    parts: dict[str, Any] = {
        "name": "example",
        "title": "Decode climbs the slope, until the cache pulls it back",
        "chart": chart,
        "controls": (
            Slider(q.batch, BATCHES, 32.0),
            Slider(q.context, CONTEXTS, 4096.0),
            Choice("model", "model", ("small", "large"), "small", sets=MODELS),
            Choice("device", "device", ("old", "new"), "new"),
            Choice(
                "precision",
                "precision",
                ("16 bit", "8 bit"),
                "16 bit",
                sets={"bytes_weight": (2.0, 1.0)},
            ),
            Lookup(
                "peak_flops",
                ("device", "precision"),
                ((312e12, None), (989e12, 1979e12)),
            ),
            Lookup("hbm_bw", ("device",), (2.04e12, 3.35e12)),
        ),
        "derived": {"intensity": INTENSITY},
        "readouts": (
            Readout("intensity", "intensity"),
            Readout(RIDGE, "ridge point"),
            Readout(INTENSITY, "with an empty cache", name="empty", context=1.0),
            Readout(Bound(ROOF).formula, "under the roof"),
            Verdict(
                "bound",
                "decode is",
                less="intensity",
                than="ridge",
                cases=("memory-bound", "compute-bound"),
            ),
        ),
        "sentence": SENTENCE,
    }
    return LiveFigure(**{**parts, **changes})


WEIGHTS = Question(
    name="example-weights",
    prompt=r"How many bytes do \(7\times10^9\) parameters of `BF16` take?",
    answer=lambda: 14e9,
    unit="byte",
    asked_in="GB",
    hints=(Hint(lambda: 7e9, "One byte a parameter? BF16 has two."),),
    why=lambda: r"Two bytes each, \(P w_b\): the result is 14.0 GB.",
)
READ = Question(
    name="example-read",
    prompt="How long does it take to read 14 GB at 3.35 TB/s?",
    answer=lambda: 14e9 / 3.35e12,
    unit="s",
    asked_in="ms",
    hints=(Hint(lambda: 14e9 / 2.04e12, "That is the older device."),),
    why="14 GB over 3.35 TB/s are 4.18 ms.",
    kind="predict",
)
BOUND = Question(
    name="example-bound",
    prompt="Which roof limits decode at batch 1?",
    answer=lambda: 0,
    choices=("memory", "compute"),
    hints=(Hint(lambda: 1, "How many FLOP does it do for each byte?"),),
    why="One FLOP per byte is far below the ridge.",
    kind="predict",
)


@figure_style()
def drawing() -> StaticFigure:
    """Two lines, drawn by matplotlib."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    axes.plot([0, 1, 2], [0, math.pi, 1], label="up and down 3.14159")
    axes.plot([0, 1, 2], [1, 1, 2], label="up")
    axes.legend()
    return StaticFigure.of(
        figure,
        name="example.lines",
        sentence="Two lines, the higher at π.",
        title="Lines",
    )
