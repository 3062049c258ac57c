"""Every split of 96 GPUs beside one group of them, at a target of the reader's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.afd import deployment
from llmserve_lab.afd.page.comparison import CONTEXTS as LENGTHS
from llmserve_lab.afd.page.comparison import (
    COPIES,
    DEVICES,
    GPUS,
    OVERLAPS,
    SHOWN_MS,
    halves_band,
    whole,
)
from llmserve_lab.afd.page.tables import NEVER
from llmserve_lab.catalog import accelerator
from llmserve_lab.formula.band import ErrorBand, Unmeasured
from llmserve_lab.page.banded import banded
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.live.controls import Choice, Lookup
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Readout
from llmserve_lab.page.palette import BLUE, GREEN, INK

MACHINES = {accelerator(key).name: key for key in DEVICES}
CONTEXTS = {f"{tokens:,.0f} tokens": tokens for tokens in LENGTHS}
TARGETS = {f"{ms} ms": ms / 1e3 for ms in SHOWN_MS}
OPENS = ("free", "H100 SXM", "4,096 tokens", "50 ms")
BY = ("overlap", "device", "context", "target")
MENUS = (OVERLAPS, tuple(MACHINES), tuple(CONTEXTS), tuple(TARGETS))
ELSE = Unmeasured("no group in two halves was measured on these GPUs or contexts")
RATE = QuantityAxis(
    q.gpu_tokens_per_s, words="tokens/s of a GPU", ticks={"tickCount": 5}
)


@dataclass(frozen=True)
class AtTarget:
    """Rates of a GPU, tokens/s: by Attention GPUs of the split, and of one group."""

    splits: dict[int, float]
    group: float
    off: ErrorBand

    @property
    def best(self) -> int:
        """Attention GPUs of the best split."""
        return max(self.splits, key=lambda n_attn: self.splits[n_attn])


@cache
def beside(overlap: str, device: str, context: str, target: str) -> AtTarget:
    """Every split at a target, and one group at the same, overlap charged alike."""
    gpu, tpot_s = MACHINES[device], TARGETS[target]
    known: dict[str, Any] = {"context": CONTEXTS[context], "overlap": overlap}
    found: dict[int, float] = {}
    for one in deployment.splits(gpu, GPUS, copies=COPIES, **known):
        rate = one.gpu_tokens_per_s(tpot_s)
        found[one.n_attn] = max(found.get(one.n_attn, 0.0), rate)
    group = whole(gpu, tpot_s, **known)
    here = group.overlap != "none" and (device, context) == OPENS[1:3]
    off = halves_band(known["overlap"]) if here else ELSE
    return AtTarget(dict(sorted(found.items())), group.gpu_tokens_per_s, off)


def _table(of: Callable[[AtTarget], float]) -> Any:
    def rounded(*at: str) -> Any:
        if len(at) == len(MENUS):
            return round(of(beside(*at)), 2)
        return tuple(rounded(*at, option) for option in MENUS[len(at)])

    return rounded()


def every_split() -> LiveFigure:
    """A bar for every split, and one group as a line."""
    return LiveFigure(
        name="every-split",
        title="With the group's own layout, no split is ahead of one group",
        chart=chart,
        controls=(
            Choice("target", "Target: at most (TPOT)", tuple(TARGETS), OPENS[3]),
            Choice("overlap", "Overlap, on both sides", OVERLAPS, OPENS[0]),
            Choice("device", "GPU", tuple(MACHINES), OPENS[1]),
            Choice("context", "Context", tuple(CONTEXTS), OPENS[2]),
            Lookup(
                "split_gpu_tokens_per_s",
                BY,
                _table(lambda b: b.splits[b.best]),
                "token/s",
            ),
            Lookup("group_gpu_tokens_per_s", BY, _table(lambda b: b.group), "token/s"),
            Lookup(
                "af_ratio",
                BY,
                _table(lambda b: b.best / (GPUS - b.best)),
                "dimensionless",
            ),
            Lookup("best_attn", BY, _table(lambda b: b.best)),
        ),
        readouts=(
            banded(Readout("split_gpu_tokens_per_s", "Best split: a GPU makes"), NEVER),
            banded(
                Readout("group_gpu_tokens_per_s", "One group: a GPU makes"),
                beside(*OPENS).off,
            ),
            Readout("af_ratio", "Attention per FFN GPU, r"),
        ),
        sentence=(
            "DeepSeek-V3 on 96 × {device}, {context} in each cache, at most {target} "
            "per token, overlap {overlap} on both sides: the best split, at "
            "a ratio of {af_ratio}, makes "
            "{split_gpu_tokens_per_s} on each GPU, one group "
            "{group_gpu_tokens_per_s}."
        ),
        goal=Goal(
            "find a setting in which the best split comes within ten per cent of one "
            "group.",
            _reached,
            {"context": "8,192 tokens", "target": "40 ms"},
        ),
    )


def _reached(split_gpu_tokens_per_s: Any, group_gpu_tokens_per_s: Any) -> Any:
    """Whether the split makes at least 90% of what the group makes."""
    return split_gpu_tokens_per_s >= 0.9 * group_gpu_tokens_per_s


def csv_lines() -> list[str]:
    """A row for each split at each setting; Attention GPUs 0 stand for one group."""
    found = ["o,d,c,t,a,r"]
    for options in product(*MENUS):
        at = [m.index(name) for m, name in zip(MENUS, options, strict=True)]
        here = beside(*options)
        rows = [[0, round(here.group)]]
        rows += [[n_attn, round(rate)] for n_attn, rate in here.splits.items()]
        found += [",".join(map(str, (*at, *row))) for row in rows]
    return found


def chart() -> Any:
    """The bars, the group's line, and the name of the best split."""
    from llmserve_lab.extras import altair as alt

    csv = alt.CsvDataFormat(type="csv", parse=dict.fromkeys("odctar", "number"))
    data = alt.Data(values="\n".join(csv_lines()), format=csv)
    here = alt.Chart(data).transform_filter(
        "datum.o === overlap && datum.d === device && datum.c === context && "
        "datum.t === target"
    )
    ticks = alt.Axis(values=[*range(8, 88, 8)], grid=False)
    scale = alt.Scale(domain=[0, GPUS])
    x = alt.X("a", type="quantitative", scale=scale, axis=ticks).title(
        f"Attention GPUs (of {GPUS})"
    )
    y = RATE.on("y", "r")
    splits = here.transform_filter("datum.a > 0")
    bars = splits.mark_bar(size=18, color=BLUE.css).encode(x=x, y=y)
    words = f"datum.a + 'A–' + ({GPUS} - datum.a) + 'F'"
    name = (
        splits.transform_filter("datum.a === best_attn")
        .transform_calculate(name=words)
        .mark_text(dy=-8, fontWeight="bold", color=INK.css)
        .encode(x=x, y=y, text="name:N")
    )
    group = here.transform_filter("datum.a === 0")
    line = group.mark_rule(color=GREEN.css, strokeWidth=2.25).encode(y=y)
    said = group.mark_text(
        align="left", dx=4, dy=-8, fontWeight="bold", color=GREEN.css, text="one group"
    ).encode(x=alt.value(0), y=y)
    return alt.layer(bars, line, said, name, height=195)
