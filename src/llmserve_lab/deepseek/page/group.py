"""Tokens per second of a GPU against the size of its group, for several targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from math import prod
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.catalog.evidence.deployments import SGLANG_DECODE
from llmserve_lab.catalog.selection import one_of_each_domain
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.bands import DecodeSetting, band
from llmserve_lab.deepseek.evaluation.group_size import (
    WAYS,
    ServedGroup,
    fits_as_served,
    served,
)
from llmserve_lab.deepseek.evaluation.worked_example import CONTEXT, MANY
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.deepseek.page import bands
from llmserve_lab.deepseek.page.controls import DEVICES as KNOWN
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
from llmserve_lab.page.table import Table

MS = 1e-3
HALF: Any = 0.5  # between no and yes
DEVICES = {each.name: each.key for each in one_of_each_domain(KNOWN)}
TOKENS = 4000.0  # in each cache
HELD = {"32 redundant, BF16": False, "fewest redundant, FP8": True}  # experts, caches
TARGETS = {f"{ms} ms": ms * MS for ms in (33, 50, 100)}
GROUPS = {f"{ep}": ep for ep in (8, 16, 32, 72, 96, 144, 256)}
TIES = [*GROUPS].index("32")  # the smallest that ties at the target that opens
INKS = dict(zip(TARGETS, (SERIES[1], SERIES[0], SERIES[2]), strict=True))
OPENS = "32 redundant, BF16"
BY = ("device", "held", "target", "ep_at")
EP = QuantityAxis(
    q.ep,
    words="ranks in the group (GPUs, log scale)",
    domain=(7, 290),
    log=True,
    ticks={"values": [8, 16, 32, 72, 96, 144, 256]},
)
PLAIN: Any = {"tickCount": 6}
RATE = QuantityAxis(q.gpu_tokens_per_s, words="tokens/s of a GPU", ticks=PLAIN)


@cache
def at(device: str, held: str, target: str, ep_at: str) -> ServedGroup | None:
    """What a setting of the menus serves."""
    where = {"context": TOKENS, "tpot_s": TARGETS[target]}
    return served(DEVICES[device], GROUPS[ep_at], **where, lean=HELD[held])


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
    return _between(found.tokens_per_s, found.band)


def _between(made: float, off: ErrorBand) -> str:
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

    return below((DEVICES, HELD, TARGETS, GROUPS))


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
        title="Beyond 32 H100s, larger groups pay at 33 ms, hardly at 50 ms",
        chart=chart,
        controls=(
            Choice("target", "Target: at most (TPOT)", tuple(TARGETS), "50 ms"),
            Choice("ep_at", "GPUs in the group", tuple(GROUPS), "72"),
            Choice("device", "GPU", tuple(DEVICES), "H100 SXM"),
            Choice("held", "Redundant experts, caches", tuple(HELD), OPENS),
            *tables(),
        ),
        readouts=(
            banded(
                Readout("gpu_tokens_per_s", "A GPU makes"),
                bands.truth(best_of("h100-sxm", 72, 50).band),
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
            f"DeepSeek-V3, {TOKENS:,.0f} tokens in each cache, on groups of {{device}} "
            "({held}; 256 GPUs divide only the 256 experts, so none is redundant "
            "there): where every user gets a token at least every {target}, a GPU in "
            "a group of {ep_at} makes {gpu_tokens_per_s} with {gpu_requests}, limited "
            "by {limit}, in {schedule}. Bar: where the measured rate of this group "
            "would lie, if its steps err as on the measured runs. Squares: memory is "
            "full first. No point: the weights do not fit, or by the twin no batch "
            "keeps the target."
        ),
        goal=Goal(
            "keep a target of 50 ms on H100s with 32 redundant experts, and find the "
            "smallest group predicted to make nine tenths of any larger one's rate.",
            lambda target, device, held, ep_at: (
                (target > 0)
                & (target < 2)
                & (device + held < 1)
                & (ep_at > TIES - 1)
                & (ep_at < TIES + 1)
            ),
            {"ep_at": "32"},
        ),
    )


ASKED = (32, 72, 144)  # GPUs of the groups that the chapter opens with


def fixed_batch(ep: int) -> tuple[float, int, str]:
    """A user's tokens/s, requests that fit on a GPU, its tokens/s with their range."""
    context, found = float(CONTEXT), []
    for way in WAYS:
        assumed = replace(book_assumptions(), overlap=way)
        twin = Twin(setup=setup("h100-sxm", ep), assumptions=assumed)
        n = min(MANY, fits_as_served(twin, context))
        found.append((float(twin.user_tokens_per_s(batch=n, context=context)), n))
    user, batch = max(found, key=prod)
    at = DecodeSetting(accelerator="h100-sxm", ep=ep, batch=batch, context=context)
    made, off = batch * user, band("gpu_tokens_per_s", at)
    return user, batch, f"{three_digits(made)} ({_between(made, off)})"


def twice_s() -> float:
    """Seconds per token if each user saw twice what the opening run gave."""
    return MANY / (2 * float(SGLANG_DECODE.gpu_tokens_per_s))


def opening() -> Table:
    """The chapter's first question: three groups, as many users, then twice as fast."""
    rows = []
    for ep in ASKED:
        user, batch, made = fixed_batch(ep)
        fast = served("h100-sxm", ep, context=float(CONTEXT), tpot_s=twice_s())
        if fast is None:
            raise ValueError(f"ep must keep {twice_s()} s per token, got {ep}")
        twice = f"{three_digits(fast.tokens_per_s)} ({measured(fast)})"
        rows.append((f"{ep}", f"{batch}", f"{user:.1f}", made, twice))
    twice = "GPU makes at twice the speed"
    columns = ("GPUs", "requests", "user sees", "GPU makes", twice)
    caption = (
        f"Tokens/s with {MANY} requests on a GPU, or as many as fit; last column: as "
        "many as let each user see twice the opening's speed"
    )
    notes = (f"H100s, caches of {CONTEXT:,} tokens; in brackets by the error band",)
    return Table(caption, columns, rows, notes)


def csv_lines() -> list[str]:
    """A point for each setting that is served, with both ends of its band, as CSV."""
    found = ["d,c,t,e,g,f,m,l,h"]
    menus = [list[str](menu) for menu in (DEVICES, HELD, TARGETS, GROUPS)]
    for options in product(*menus):
        here = at(*options)
        if here is not None:
            index = [m.index(name) for m, name in zip(menus, options, strict=True)]
            size = (here.ep, int(here.full))
            found.append(",".join(map(str, (*index, *size, *_point(here)))))
    return found


def _point(here: ServedGroup) -> tuple[int | str, ...]:
    made = round(here.tokens_per_s)
    if not isinstance(here.band, Band):
        return made, "", ""
    low, high = here.band.around(here.tokens_per_s)
    return made, round(low), round(high)


def chart() -> Any:
    """A line for each target, and the chosen group with its error."""
    from llmserve_lab.extras import altair as alt

    numbers = dict.fromkeys("dctegfmlh", "number")
    csv = alt.CsvDataFormat(type="csv", parse=numbers)
    data = alt.Data(values="\n".join(csv_lines()), format=csv)
    here = (
        alt.Chart(data)
        .transform_filter("datum.d === device && datum.c === held")
        .transform_calculate(name=f"{list(TARGETS)}[datum.t]")
    )
    chosen = here.transform_filter("datum.t === target")
    look = by_ink("name", INKS, legend=False)
    color = look["color"]
    x = EP.on("x", "g")
    whiskers = (
        chosen.transform_filter("datum.l > 0 && datum.e === ep_at")
        .mark_errorbar(ticks={"width": 14}, thickness=2, opacity=0.6)
        .encode(x=x, y=RATE.on("y", "l"), y2="h:Q", color=color)
    )
    faint = alt.condition("datum.t === target", alt.value(1), alt.value(0.3))
    lines = here.mark_line(strokeWidth=2.25).encode(
        x=x, y=RATE.on("y", "m"), opacity=faint, **look
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
        .mark_text(align="right", dx=8, dy=14, fontWeight="bold")
        .encode(x=x, y=RATE.on("y", "m"), color=color, text="name:N")
    )
    return alt.layer(whiskers, lines, *places, point, words, height=220)
