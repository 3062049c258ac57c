"""Tokens per second of a GPU against the size of its group, for several targets."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.deepseek.evaluation.decisions import scattered
from llmserve_lab.deepseek.evaluation.group_size import (
    ServedGroup,
    served,
)
from llmserve_lab.deepseek.page import bands
from llmserve_lab.formula.band import Band, ErrorBand
from llmserve_lab.formula.origin import Sourced
from llmserve_lab.page.banded import banded
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.live.controls import Choice, Lookup
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.marks import by_ink
from llmserve_lab.page.live.readout import Readout, Verdict
from llmserve_lab.page.palette import SERIES

MS = 1e-3
HALF: Any = 0.5  # between no and yes
DEVICE = "h100-sxm"
TOKENS = 4000.0  # in each cache
HELD = {"32 redundant, BF16": False, "fewest redundant, FP8": True}  # experts, caches
TARGETS = {f"{ms} ms": ms * MS for ms in (33, 50, 100)}
GROUPS = {f"{ep}": ep for ep in (16, 32, 72, 144, 256)}
TIES = [*GROUPS].index("32")  # the smallest that ties at the target that opens
INKS = dict(zip(TARGETS, (SERIES[1], SERIES[0], SERIES[2]), strict=True))
OPENS = "32 redundant, BF16"
SCATTERED = "scattered"  # short, for a phone
BY = ("held", "target", "ep_at")
EP = QuantityAxis(
    q.ep,
    words="ranks in the group (GPUs, log scale)",
    domain=(14, 700),
    log=True,
    ticks={"values": [16, 32, 72, 144, 256]},
)
PLAIN: Any = {"tickCount": 6}
RATE = QuantityAxis(q.gpu_tokens_per_s, words="tokens/s of a GPU", ticks=PLAIN)


@cache
def at(held: str, target: str, ep_at: str) -> ServedGroup | None:
    """What a setting of the menus serves."""
    where = {"context": TOKENS, "tpot_s": TARGETS[target]}
    return served(DEVICE, GROUPS[ep_at], **where, lean=HELD[held])


def scattered_at(held: str, target: str, ep_at: str) -> float:
    """Tokens/s of a GPU at a setting of the menus, if loads of experts scatter."""
    where = {"context": TOKENS, "tpot_s": TARGETS[target]}
    return scattered(DEVICE, GROUPS[ep_at], **where, lean=HELD[held])


def best_of(device: str, ep: int, target_ms: int, *, lean: bool = False) -> ServedGroup:
    """What a group serves with the caches of the figure.

    Raises:
        ValueError: no batch keeps the target in this group.
    """
    where = {"context": TOKENS, "tpot_s": target_ms * MS}
    found = served(device, ep, **where, lean=lean)
    if found is None:
        raise ValueError(f"ep must keep {target_ms} ms on {device}, got {ep}")
    return found


def rate(found: ServedGroup) -> Sourced:
    """Tokens per second of a GPU, with the error band."""
    return banded(f"{three_digits(found.tokens_per_s)} tokens/s", found.band)


def three_digits(value: float) -> str:
    """A whole number of three digits that count, and zeros."""
    return f"{float(f'{value:.3g}'):,.0f}"


def measured(found: ServedGroup) -> str:
    """Where the measured rate would lie, from one number to another."""
    return between(found.tokens_per_s, found.band)


def between(made: float, off: ErrorBand) -> str:
    """Where a measured rate would lie, to three digits.

    Raises:
        ValueError: nothing measured is like it.
    """
    if not isinstance(off, Band):
        raise ValueError(f"off must be a band, got {off}")
    return " to ".join(three_digits(end) for end in off.around(made))


def _table(of: Callable[[ServedGroup], float]) -> Any:
    def below(menus: tuple[Any, ...], *names: str) -> Any:
        if menus:
            return tuple(below(menus[1:], *names, each) for each in menus[0])
        found = at(*names)
        return None if found is None else of(found)

    return below((HELD, TARGETS, GROUPS))


def tables() -> tuple[Lookup, ...]:
    """Rate, requests, requests that fit, and the schedule, at every setting."""
    return (
        Lookup(
            "gpu_tokens_per_s",
            BY,
            _table(lambda s: round(s.tokens_per_s)),
            "token/s",
        ),
        Lookup("gpu_requests", BY, _table(lambda s: s.batch), "request"),
        Lookup("batch_fits", BY, _table(lambda s: s.fits), "request"),
        Lookup("one_batch", BY, _table(lambda s: int(not s.halves))),
        Lookup("half", (), HALF),
    )


def group_size() -> LiveFigure:
    """What a GPU makes in groups of every size, where each user keeps a target."""
    return LiveFigure(
        name="group-size",
        title="At 50 ms, more than 32 H100s hardly pay, and not if loads scatter",
        chart=chart,
        controls=(
            Choice("target", "Target: at most (TPOT)", tuple(TARGETS), "50 ms"),
            Choice("ep_at", "GPUs in the group", tuple(GROUPS), "72"),
            Choice("held", "Redundant experts, caches", tuple(HELD), OPENS),
            *tables(),
        ),
        readouts=(
            banded(
                Readout("gpu_tokens_per_s", "A GPU makes"),
                bands.truth(best_of(DEVICE, 72, 50).band),
            ),
            Readout("gpu_requests", "Requests on a GPU"),
            Verdict(
                "limit",
                "What limits them",
                "gpu_requests",
                "batch_fits",
                ("the target", "memory"),
            ),
            Verdict(
                "schedule",
                "Faster schedule",
                "one_batch",
                "half",
                ("two halves", "one batch"),
            ),
        ),
        sentence=(
            f"DeepSeek-V3, {TOKENS:,.0f} tokens in each cache, on groups of H100s "
            "({held}; on 256 GPUs none is redundant): where every user gets a token at "
            "least every {target}, a GPU in a group of {ep_at} makes "
            "{gpu_tokens_per_s} with {gpu_requests}, limited by {limit}, in "
            "{schedule}. Solid: one balancedness for all groups. Dashed: loads of "
            "experts scatter (below). Bars: where measured rates would lie, if steps "
            "err as on the measured runs. Squares: memory is full first."
        ),
        goal=Goal(
            "keep a target of 50 ms on H100s with 32 redundant experts, and find the "
            "smallest group predicted to make nine tenths of any larger one's rate.",
            lambda target, held, ep_at: (
                (target > 0)
                & (target < 2)
                & (held < 1)
                & (ep_at > TIES - 1)
                & (ep_at < TIES + 1)
            ),
            {"ep_at": "32"},
        ),
    )


def csv_lines() -> list[str]:
    """A point for each setting that is served, with both ends of its band, as CSV."""
    found = ["c,t,e,g,f,m,s,l,h"]
    menus = [list[str](menu) for menu in (HELD, TARGETS, GROUPS)]
    for options in product(*menus):
        here = at(*options)
        if here is not None:
            index = [m.index(name) for m, name in zip(menus, options, strict=True)]
            size = (here.ep, int(here.full))
            rates = (round(here.tokens_per_s), round(scattered_at(*options)))
            row = (*index, *size, *rates, *_ends(here))
            found.append(",".join(map(str, row)))
    return found


def _ends(here: ServedGroup) -> tuple[int | str, ...]:
    if not isinstance(here.band, Band):
        return "", ""
    low, high = here.band.around(here.tokens_per_s)
    return round(low), round(high)


def chart() -> Any:
    """A line for each target, and the chosen group with its error."""
    from llmserve_lab.extras import altair as alt

    numbers = dict.fromkeys("ctegfmslh", "number")
    csv = alt.CsvDataFormat(type="csv", parse=numbers)
    data = alt.Data(values="\n".join(csv_lines()), format=csv)
    here = (
        alt.Chart(data)
        .transform_filter("datum.c === held")
        .transform_calculate(name=f"{list(TARGETS)}[datum.t]")
    )
    chosen = here.transform_filter("datum.t === target")
    look = by_ink("name", INKS, legend=False)
    color = look["color"]
    x = EP.on("x", "g")
    whiskers = (
        chosen.transform_filter("datum.l > 0")
        .mark_errorbar(ticks={"width": 10}, opacity=0.5)
        .encode(x=x, y=RATE.on("y", "l"), y2="h:Q", color=color)
    )
    faint = alt.condition("datum.t === target", alt.value(1), alt.value(0.3))
    solid = here.mark_line(strokeWidth=2.25).encode(
        x=x, y=RATE.on("y", "m"), opacity=faint, color=color
    )
    dashed = chosen.mark_line(strokeWidth=2.25, strokeDash=[5, 4]).encode(
        x=x, y=RATE.on("y", "s"), color=color
    )
    places = [
        here.transform_filter(f"datum.f === {full}")
        .mark_point(shape=shape, size=size, filled=True, opacity=1)
        .encode(x=x, y=RATE.on("y", "m"), color=color)
        for full, shape, size in ((0, "circle", 28), (1, "square", 85))
    ]
    point = (
        chosen.transform_filter("datum.e === ep_at")
        .mark_point(size=330, opacity=1, filled=False, strokeWidth=2.5)
        .encode(x=x, y=RATE.on("y", "m"), color=color)
    )
    words = (
        here.transform_filter(f"datum.g === {max(GROUPS.values())}")
        .mark_text(align="left", dx=7, dy=6, fontWeight="bold")
        .encode(x=x, y=RATE.on("y", "m"), color=color, text="name:N")
    )
    apart = (
        chosen.transform_filter(f"datum.g === {max(GROUPS.values())}")
        .mark_text(align="left", dx=7, dy=-5)
        .encode(x=x, y=RATE.on("y", "s"), color=color, text=alt.value(SCATTERED))
    )
    return alt.layer(whiskers, solid, dashed, *places, point, words, apart, height=220)
