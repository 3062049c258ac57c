"""Every split of 96 GPUs beside one group of them, at a target of the reader's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.afd import deployment
from llmserve_lab.afd.page.tables import DEVICES, GPUS, NEVER
from llmserve_lab.catalog import accelerator
from llmserve_lab.deepseek.evaluation.bands import DecodeSetting, band
from llmserve_lab.formula.band import Band, ErrorBand
from llmserve_lab.page.banded import banded
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.live.controls import Choice, Lookup
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Readout
from llmserve_lab.page.palette import BLUE, GREEN, INK

MACHINES = {accelerator(key).name: key for key in DEVICES}
CONTEXTS = {f"{tokens:,} tokens": float(tokens) for tokens in (4096, 8192)}
TARGETS = {f"{ms} ms": ms / 1e3 for ms in (30, 40, 45, 50, 60, 70)}
OPENS = ("H100 SXM", "4,096 tokens", "50 ms")
BY = ("device", "context", "target")
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
def beside(device: str, context: str, target: str) -> AtTarget:
    """Every split at a target, and one group at the same."""
    gpu, size = MACHINES[device], {"context": CONTEXTS[context]}
    found: dict[int, float] = {}
    for one in deployment.splits(gpu, GPUS, copies="node", **size):
        rate = one.gpu_tokens_per_s(TARGETS[target])
        found[one.n_attn] = max(found.get(one.n_attn, 0.0), rate)
    whole = deployment.together(gpu, GPUS, TARGETS[target], copies="node", **size)
    at = DecodeSetting(accelerator=gpu, ep=GPUS, batch=whole.batch, **size)
    off = band("gpu_tokens_per_s", at)
    return AtTarget(dict(sorted(found.items())), whole.gpu_tokens_per_s, off)


def _table(of: Callable[[AtTarget], float]) -> Any:
    return tuple(
        tuple(tuple(round(of(beside(d, c, t)), 2) for t in TARGETS) for c in CONTEXTS)
        for d in MACHINES
    )


def every_split() -> LiveFigure:
    """A bar for every split, and one group as a line with its band."""
    return LiveFigure(
        name="every-split",
        title="Whether a split beats one group hangs on target, GPU and context",
        chart=chart,
        controls=(
            Choice("target", "Target: at most (TPOT)", tuple(TARGETS), OPENS[2]),
            Choice("device", "GPU", tuple(MACHINES), OPENS[0]),
            Choice("context", "Context", tuple(CONTEXTS), OPENS[1]),
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
            "DeepSeek-V3 on 96 × {device}, {context} in each cache, a token at least "
            "every {target}: the best split, with {af_ratio} Attention GPUs for each "
            "FFN GPU, makes {split_gpu_tokens_per_s} on each GPU, one group "
            "{group_gpu_tokens_per_s} (strip: where it would be measured)."
        ),
        goal=Goal(
            "on H100s with 4,096 tokens each, find the strictest of these targets at "
            "which a split leads.",
            _reached,
            {"target": "45 ms"},
        ),
    )


def _reached(
    device: Any,
    context: Any,
    target: Any,
    split_gpu_tokens_per_s: Any,
    group_gpu_tokens_per_s: Any,
) -> Any:
    """Whether the target is 45 ms, at which a split leads, on the page's machine."""
    leads = split_gpu_tokens_per_s > group_gpu_tokens_per_s
    return (device < 1) & (context < 1) & (target < 3) & leads


def csv_lines() -> list[str]:
    """A row for each split at each setting; Attention GPUs 0 stand for one group."""
    found = ["d,c,t,a,r,l,h"]
    menus = [list[str](menu) for menu in (MACHINES, CONTEXTS, TARGETS)]
    for options in product(*menus):
        at = [m.index(name) for m, name in zip(menus, options, strict=True)]
        here = beside(options[0], options[1], options[2])
        off = here.off.around(here.group) if isinstance(here.off, Band) else ()
        ends: list[int | str] = [round(end) for end in off] or ["", ""]
        rows: list[list[int | str]] = [[0, round(here.group), *ends]]
        rows += [[n_attn, round(rate), "", ""] for n_attn, rate in here.splits.items()]
        found += [",".join(map(str, (*at, *row))) for row in rows]
    return found


def chart() -> Any:
    """The bars, the group's line and strip, and the name of the best split."""
    from llmserve_lab.extras import altair as alt

    csv = alt.CsvDataFormat(type="csv", parse=dict.fromkeys("dctarlh", "number"))
    data = alt.Data(values="\n".join(csv_lines()), format=csv)
    here = alt.Chart(data).transform_filter(
        "datum.d === device && datum.c === context && datum.t === target"
    )
    ticks = alt.Axis(values=[8, 24, 40, 56, 72, 88], grid=False)
    scale = alt.Scale(domain=[0, GPUS])
    x = alt.X("a", type="quantitative", scale=scale, axis=ticks).title(
        f"Attention GPUs of {GPUS}; the others are FFN GPUs"
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
    strip = (
        group.transform_filter("datum.l > 0")
        .mark_rect(opacity=0.22, color=GREEN.css)
        .encode(y=RATE.on("y", "l"), y2="h:Q")
    )
    line = group.mark_rule(color=GREEN.css, strokeWidth=2.25).encode(y=y)
    said = group.mark_text(
        align="left", dx=4, dy=-8, fontWeight="bold", color=GREEN.css, text="one group"
    ).encode(x=alt.value(0), y=y)
    return alt.layer(bars, strip, line, said, name, height=195)
