"""What the still pictures are made of: curves of rules, and runs with their doubt.

A simulated point is a stroke with round ends, as tall as its confidence interval: a dot
where the seeds agree. All points of a study are one path, so that every ratio has one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.afd.experiments.replications import Study
from llmserve_lab.page.palette import BLUE, GREEN, GREY, VERMILLION, Ink

THOUSANDS = "tokens per 1,000 µs, machine"
RATIO = "Attention machines per FFN machine, r"


def points(axes: Any, one: Study, name: str, ink: Ink, *, unit: float = 1) -> None:
    """A metric at every ratio, in ``unit``, with its 95 % confidence interval."""
    mean, half = one.mean(name) / unit, one.band(name) / unit
    half = np.where(np.isfinite(half), half, 0)
    gap = np.full_like(mean, np.nan)
    x = np.stack([one.ratios, one.ratios, gap], axis=1).ravel()
    y = np.stack([mean - half, mean + half, gap], axis=1).ravel()
    look: dict[str, Any] = {"solid_capstyle": "round", "linestyle": "-", "lw": 3.2}
    axes.plot(x, y, color=ink.light, **look)


def rules(axes: Any, one: Study, ours: Ink, paper: Ink) -> None:
    """Thousand tokens per second and machine by both rules; the paper's dashed."""
    axes.plot(one.ratios, one.paper / 1e3, color=paper.light, dashes=(4, 3), lw=1.2)
    axes.plot(one.ratios, one.ours / 1e3, color=ours.light, linestyle="-", lw=1.2)
    axes.set_ylabel(THOUSANDS)
    axes.locator_params(axis="y", nbins=4)


def rates(axes: Any, one: Study) -> None:
    """Throughput of one study: points on two curves."""
    rules(axes, one, BLUE, GREY)
    points(axes, one, "tokens_per_s", VERMILLION, unit=1e3)
    axes.set_ylim(0, 1.15 * one.paper.max() / 1e3)
    top, last = one.paper.argmax(), one.ratios[-1]
    for name, ink, where, align in (
        ("paper", GREY, (one.ratios[top], one.paper[top] * 1.03), "center"),
        ("our rule", BLUE, (last, one.ours[-1] * 0.8), "right"),
        ("simulated", VERMILLION, (1, one.paper[0] * 0.75), "left"),
    ):
        axes.text(where[0], where[1] / 1e3, name, color=ink.light, ha=align)


def waits(axes: Any, one: Study) -> None:
    """Idle shares of one study."""
    for name, ink, label in (
        ("idle_attn", BLUE, "Attention waits"),
        ("idle_ffn", GREEN, "FFN waits"),
    ):
        points(axes, one, name, ink)
        mean, at = one.mean(name), -1 if name == "idle_attn" else 0
        align = "right" if at else "left"
        axes.text(one.ratios[at], mean[at] + 0.06, label, color=ink.light, ha=align)
    axes.set_ylim(0, 1)
    axes.locator_params(axis="y", nbins=3)
    axes.set_ylabel("share of time")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")


def over_ratio(axes: Any, most: int) -> None:
    """A logarithmic axis of ratios up to the most, labelled at powers of two."""
    axes.set_xscale("log", base=2)
    marks = [2**power for power in range(most.bit_length())]
    axes.set_xticks(marks, [f"{mark}" for mark in marks])
    axes.minorticks_off()
    axes.set_xlabel(RATIO)


def quiet(figure: Any) -> None:
    """The grid says where the numbers are; ticks beside it say nothing more."""
    for axes in figure.axes:
        axes.tick_params(bottom=False, left=False)
        for line in (*axes.get_xgridlines(), *axes.get_ygridlines()):
            line.set_clip_on(False)
