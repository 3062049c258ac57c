"""The chapter's still pictures: masks as they were run, chunks as they were chosen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.article_machine import (
    CONTEXT,
    DECODES,
    article_setting,
)
from llmserve_lab.continuous_batching.chunks import Prefill
from llmserve_lab.continuous_batching.serving import Beat, around_the_stall, beats
from llmserve_lab.engine import Report
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.palette import BLUE, GREY, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.transformer.arithmetic import Mask


@figure_style()
def masks(done: Prefill) -> StaticFigure:
    """The mask of each chunk below the one before: prefix blue, own rows vermillion."""
    from llmserve_lab.extras import pyplot as plt

    heights = [len(mask) for mask in done.masks]
    figure, panels = plt.subplots(
        len(heights), 1, sharex=True, height_ratios=heights, figsize=(4.4, 4.4)
    )
    pairs = zip(np.ravel(panels), done.masks, strict=True)
    for number, (axes, mask) in enumerate(pairs):
        _panel(axes, mask, f"chunk {number}")
    np.ravel(panels)[-1].set_xlabel("keys (tokens of the prompt)")
    np.ravel(panels)[-1].set_xticks([0, *(mask.shape[1] for mask in done.masks)])
    last = done.masks[-1]
    return StaticFigure.of(
        figure,
        name="continuous_batching.masks",
        title="Together the masks of all chunks are the mask of the whole prompt",
        sentence=(
            f"{len(heights)} chunks, executed: each sees all of its prefix (blue) and "
            f"of its own rows those up to itself (vermillion); the last has "
            f"{last.shape[0]} rows and sees up to {last.shape[1]} keys."
        ),
    )


def _panel(axes: Any, mask: Mask, name: str) -> None:
    """One mask, a bar a row: the keys that are let through."""
    rows, keys = mask.shape
    prefix = keys - rows
    own = mask.sum(axis=1) - prefix  # visible keys of the chunk itself
    lines = range(rows)
    axes.barh(lines, [prefix] * rows, 0.88, align="edge", color=BLUE.light)
    axes.barh(lines, own, 0.88, left=prefix, align="edge", color=VERMILLION.light)
    axes.set(ylim=(rows, 0), yticks=[], ylabel=name)
    axes.set_xlim(0, keys)
    axes.grid(visible=False)
    axes.axvline(prefix, color=GREY.light, linewidth=0.8)


@figure_style()
def chosen(report: Report, target_s: float) -> StaticFigure:
    """Rows that a scheduler under a target gave a prompt, and the closed form."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots()
    pieces = [beat.rows for beat in around_the_stall(report) if beat.rows]
    prefixes = [sum(pieces[:number]) for number in range(len(pieces))]
    some = slice(None, None, 10)
    axes.plot(
        prefixes[some],
        pieces[some],
        "o",
        color=VERMILLION.light,
        label="scheduler, every tenth iteration",
    )
    fits = f.CHUNK_FITS.at(
        article_setting(),
        n_decodes=DECODES,
        decode_context=CONTEXT,
        context=prefixes,
        tbt_target=target_s,
    )
    axes.plot(prefixes[some], fits[some], color=BLUE.light, label="closed form")
    axes.set(ylim=(0, None), xlabel="prefix (tokens)", ylabel="chunk (rows)")
    axes.xaxis.set_major_formatter(lambda value, _: plain(value))
    axes.legend()
    return StaticFigure.of(
        figure,
        name="continuous_batching.chosen",
        title="A chunk that keeps the target has to shrink",
        sentence=(
            f"To keep {si(target_s, 's')} the engine takes {len(pieces)} iterations: "
            f"the first carries {si(pieces[0], 'token')} of the prompt, the last full "
            f"one {si(pieces[-2], 'token')}; the closed form runs through the points."
        ),
    )


def _skyline(shown: Sequence[Beat], floor_s: float) -> tuple[list[float], list[float]]:
    """Edges and heights of bars as one line, at the floor where there is no bar."""
    edges, tops = [0.0], list[float]()
    for beat in shown:
        if beat.start_s > edges[-1]:
            edges.append(beat.start_s)
            tops.append(floor_s)
        edges.append(beat.end_s)
        tops.append(beat.gap_s)
    return edges, tops


@lru_cache(maxsize=1)
@figure_style()
def heartbeat(report: Report, title: str) -> StaticFigure:
    """Every iteration of a run as a bar, as wide as it lasts and as high."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots()
    shown = beats(report)
    floor_s = min(beat.gap_s for beat in shown) / 2
    for riding, ink, label in ((False, BLUE, "decodes"), (True, VERMILLION, "prompts")):
        own = [beat for beat in shown if bool(beat.rows) is riding]
        edges, tops = _skyline(own, floor_s)
        look: dict[str, Any] = {"color": ink.light, "label": label}
        axes.stairs(tops, edges, fill=True, baseline=floor_s, **look)
    axes.set(yscale="log", xlabel="time (s)", ylabel="time of the iteration")
    axes.yaxis.set_major_formatter(lambda value, _: si(value, "s"))
    axes.minorticks_off()
    axes.legend()
    longest, ttft = float(report.gaps.longest_s), report.percentile("ttft", 50)
    return StaticFigure.of(
        figure,
        sentence=(
            f"{title}: the longest gap between two tokens is {si(longest, 's')}, the "
            f"median time to a first token {si(ttft, 's')}."
        ),
    )
