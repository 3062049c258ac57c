"""From how many requests on two halves make more than one batch, in many settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.catalog.selection import one_of_each_domain
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.bands import DecodeSetting, band
from llmserve_lab.deepseek.evaluation.group_size import WAYS
from llmserve_lab.deepseek.evaluation.worked_example import CONTEXT, MANY, step_ms
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.deepseek.page.controls import DEVICES as KNOWN
from llmserve_lab.page.banded import banded
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.live.controls import Choice, Lookup
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.marks import by_ink
from llmserve_lab.page.live.readout import Readout
from llmserve_lab.page.palette import SERIES

DEVICES = {each.name: each.key for each in one_of_each_domain(KNOWN)}
CONTEXTS = {f"{tokens:,} tokens": float(tokens) for tokens in (1000, 2000, 4000)}
GROUPS = {f"{ep}": ep for ep in (32, 72, 144)}
REQUESTS = {f"{n}": n for n in (8, 16, 32, 64, 96, 128, 192, 256)}
TWO, ONE = "two halves", "one batch"
INKS = {TWO: SERIES[1], ONE: SERIES[0]}
BY = ("device", "context", "ep_at", "requests")
LOADS = QuantityAxis(
    q.gpu_requests, words="requests on a GPU", domain=(0, 260), ticks={"tickCount": 7}
)
RATE = QuantityAxis(
    q.gpu_tokens_per_s, words="tokens/s of a GPU", ticks={"tickCount": 6}
)


@cache
def rates(
    device: str, context: str, ep_at: str, requests: str
) -> tuple[float, float] | None:
    """What a GPU makes in two halves and in one batch; None where it does not fit."""
    place = setup(DEVICES[device], GROUPS[ep_at])
    size = {"batch": REQUESTS[requests], "context": CONTEXTS[context]}
    found = []
    for way in WAYS:
        twin = Twin(setup=place, assumptions=replace(book_assumptions(), overlap=way))
        if float(twin.batch_fits(size["context"])) < size["batch"]:
            return None
        found.append(float(twin.gpu_tokens_per_s(**size, in_memory=False)))
    halves, turn = found
    return halves, turn


def fewest() -> int:
    """Requests from which two halves are faster, on the standing example's group."""
    return next(n for n in range(1, MANY) if step_ms(n, "halves") < step_ms(n, "none"))


def _table(of: Callable[[tuple[float, float]], float]) -> Any:
    def entry(*names: str) -> float | None:
        made = rates(*names)
        return None if made is None else round(of(made), 1)

    return tuple(
        tuple(
            tuple(tuple(entry(d, c, e, n) for n in REQUESTS) for e in GROUPS)
            for c in CONTEXTS
        )
        for d in DEVICES
    )


def _reached(
    device: Any,
    context: Any,
    ep_at: Any,
    requests: Any,
    two_halves_gpu_tokens_per_s: Any,
    one_batch_gpu_tokens_per_s: Any,
) -> Any:
    """Whether the setting is the first of the list in which two halves are faster."""
    opens = (device < 1) & (context > 0) & (context < 2) & (ep_at > 0) & (ep_at < 2)
    return (
        opens
        & (requests < 5)
        & (two_halves_gpu_tokens_per_s > one_batch_gpu_tokens_per_s)
    )


def halves_pay() -> LiveFigure:
    """What a GPU makes in either schedule, against the requests on it."""
    opens = DecodeSetting(
        accelerator="h100-sxm", ep=72, batch=MANY, context=float(CONTEXT)
    )
    off = band("gpu_tokens_per_s", opens)
    return LiveFigure(
        name="halves-pay",
        title="Two halves pay where many requests have to be sent between nodes",
        chart=chart,
        controls=(
            Choice("requests", "Requests on a GPU", tuple(REQUESTS), f"{MANY}"),
            Choice("ep_at", "GPUs in the group", tuple(GROUPS), "72"),
            Choice("device", "GPU", tuple(DEVICES), "H100 SXM"),
            Choice("context", "Context", tuple(CONTEXTS), f"{CONTEXT:,} tokens"),
            Lookup(
                "two_halves_gpu_tokens_per_s", BY, _table(lambda m: m[0]), "token/s"
            ),
            Lookup("one_batch_gpu_tokens_per_s", BY, _table(lambda m: m[1]), "token/s"),
        ),
        readouts=(
            banded(
                Readout("two_halves_gpu_tokens_per_s", "Two halves: a GPU makes"), off
            ),
            banded(
                Readout("one_batch_gpu_tokens_per_s", "One batch: a GPU makes"), off
            ),
        ),
        sentence=(
            "DeepSeek-V3 on {ep_at} × {device}, {context} in each cache, {requests} "
            "requests on a GPU: in two halves a GPU makes "
            "{two_halves_gpu_tokens_per_s}, in one batch "
            "{one_batch_gpu_tokens_per_s}. A line ends where memory is full."
        ),
        goal=Goal(
            "find the fewest of these requests with which two halves are the faster "
            "way, with everything else as it opens.",
            _reached,
            {"requests": "96"},
        ),
    )


def csv_lines() -> list[str]:
    """A point for each setting that fits, both rates, as CSV."""
    found = ["d,c,e,b,h,t"]
    menus = [list[str](menu) for menu in (DEVICES, CONTEXTS, GROUPS, REQUESTS)]
    for options in product(*menus):
        made = rates(*options)
        if made is not None:
            index = [m.index(n) for m, n in zip(menus[:3], options[:3], strict=True)]
            row = (*index, REQUESTS[options[3]], *(round(each) for each in made))
            found.append(",".join(map(str, row)))
    return found


def chart() -> Any:
    """A line for each schedule, and the chosen number of requests on both."""
    from llmserve_lab.extras import altair as alt

    csv = alt.CsvDataFormat(type="csv", parse=dict.fromkeys("dcebht", "number"))
    data = alt.Data(values="\n".join(csv_lines()), format=csv)
    here = (
        alt.Chart(data)
        .transform_filter(
            "datum.d === device && datum.c === context && datum.e === ep_at"
        )
        .transform_fold(["h", "t"], as_=["way", "made"])
        .transform_calculate(name=f"datum.way === 'h' ? {TWO!r} : {ONE!r}")
    )
    x, y = LOADS.on("x", "b"), RATE.on("y", "made")
    look = by_ink("name", INKS)
    point = (
        here.transform_filter(f"datum.b === {[*REQUESTS.values()]}[requests]")
        .mark_point(size=160, opacity=1, filled=False, strokeWidth=2.5)
        .encode(x=x, y=y, color=look["color"])
    )
    lines = here.mark_line(strokeWidth=2.25).encode(x=x, y=y, **look)
    return alt.layer(lines, point, height=230)
