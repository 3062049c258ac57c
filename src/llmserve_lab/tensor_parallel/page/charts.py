"""What the live figures draw: bars of an iteration, all-reduces by size, the gain."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.catalog.evidence.collectives import ENGINE_RUNS
from llmserve_lab.cluster import calibration
from llmserve_lab.cluster import formulas as wires
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.live.bound import BoundMark, Landmark, Marks, landmarks
from llmserve_lab.page.live.controls import number
from llmserve_lab.page.live.marks import by_ink
from llmserve_lab.page.live.readout import Bound
from llmserve_lab.page.palette import GREY, INK, MEANINGS, SERIES
from llmserve_lab.tensor_parallel import formulas as f

DEGREES = (1, 2, 4, 8)
KINDS = Marks(
    BoundMark("work of each GPU", f.RANK_S, MEANINGS["compute"]),
    BoundMark("all-reduces", f.LINK_S, MEANINGS["communication"]),
    BoundMark("the rest", f.REST_S, MEANINGS["other"]),
    BoundMark("more, if by rings", f.RING_MORE_S, MEANINGS["empty"]),
)
TIME = QuantityAxis(q.tp_s, "ms", words="time of one iteration")
BATCH = QuantityAxis(q.batch, words="requests in the batch", domain=(1, 256), log=True)
GAIN = QuantityAxis(q.tp_speedup, words="times faster than one GPU", domain=(0.5, 8.5))
SIZE = QuantityAxis(
    q.tensor_bytes,
    words="tensor that every GPU holds",
    domain=(4096, 2.7e8),
    log=True,
)
REDUCE = QuantityAxis(
    q.fastest_s, "µs", words="time of one all-reduce", domain=(3, 2000), log=True
)


def ways(n_ranks: str, tensor_bytes: str) -> dict[str, Bound]:
    """One all-reduce by each way, by the name of its result; constants as fitted."""
    size = {"n_ranks": n_ranks, "tensor_bytes": tensor_bytes}
    return {
        formula.name: Bound.tied(formula, {**kind.known(), **size})
        for formula, kind in (
            (wires.ALL_REDUCE_S, calibration.ring()),
            (wires.ONE_SHOT_S, calibration.one_shot()),
            (wires.IN_SWITCH_S, calibration.in_switch()),
        )
    }


def tp_time() -> Any:
    """For each degree a bar: work, all-reduces, the rest, and what rings would add."""
    from llmserve_lab.extras import altair as alt

    names = [kind.name for kind in KINDS]
    rows = [
        {"n_ranks": g, "kind": i, "name": name}
        for g in DEGREES
        for i, name in enumerate(names)
    ]
    bars = (
        alt.Chart(alt.Data(values=rows))
        .transform_calculate(**_parts())
        .transform_calculate(
            both="datum.work + datum.reduced", most="datum.whole + datum.more"
        )
        .transform_calculate(
            start="[0, datum.work, datum.both, datum.whole][datum.kind]",
            end="[datum.work, datum.both, datum.whole, datum.most][datum.kind]",
            shade="datum.room < 1 ? 0.2 : datum.n_ranks == n_ranks ? 1 : 0.6",
        )
    )
    ranks = QuantityAxis(q.n_ranks, words="GPUs in the group", ticks={"labelAngle": 0})
    across = ranks.on("x", "n_ranks", "ordinal")
    drawn = bars.mark_bar(size=34).encode(
        x=across,
        y=TIME.on("y", "start"),
        y2="end",
        color=by_ink("name", KINDS.inks)["color"],
        opacity=alt.Opacity("shade", type="quantitative", scale=None, legend=None),
    )
    last = bars.transform_filter("datum.kind == 3")
    words = last.transform_calculate(
        said="datum.room < 1 ? 'no room' : format(datum.whole, '.3~r') + ' ms'",
        top="datum.most",
    ).mark_text(dy=-8, fontWeight="bold", color=INK.css, fontSize=12)
    return alt.layer(
        drawn, words.encode(x=across, y=TIME.on("y", "top"), text="said:N")
    )


def _parts() -> dict[str, str]:
    """Vega expressions of the parts of a bar in ms, and whether the GPUs have room."""
    at = {"n_ranks": "datum.n_ranks"}
    made = ways(**at, tensor_bytes="hidden_bytes")
    each = {name: f"({bound.expression()})" for name, bound in made.items()}
    fastest = f"({wires.FASTEST_S.browser(each)})"
    alone = "datum.n_ranks == 1 ? 0 : "
    work, reduced, _, more = KINDS
    ring = each["all_reduce_s"]
    return {
        "work": work.draw(TIME, **at),
        "reduced": alone + reduced.draw(TIME, fastest_s=fastest),
        "whole": TIME.draws(f.TP_S, **at),
        "more": alone + more.draw(TIME, fastest_s=fastest, all_reduce_s=ring),
        "room": f"({f.RANK_BYTES.browser(at)}) < hbm_bytes ? 1 : 0",
    }


def all_reduce() -> Any:
    """Three ways to add up, by the size of the tensor, and what an engine's took."""
    from llmserve_lab.extras import altair as alt

    made = ways("n_ranks", "datum.tensor_bytes")
    inks = dict(zip(made, (SERIES[1], SERIES[0], SERIES[2]), strict=True))
    names = {
        "all_reduce_s": "ring",
        "one_shot_s": "one-shot",
        "in_switch_s": "in-switch",
    }
    places = {"all_reduce_s": 0.97, "one_shot_s": 0.62, "in_switch_s": 0.3}
    lines = [
        Drawn(
            names[name],
            bound.formula,
            inks[name],
            {n: v if isinstance(v, str) else number(v) for n, v in bound.at.items()},
            label_at=places[name],
            dash=inks[name].dash,
            rising=True,
        )
        for name, bound in made.items()
    ]
    rows = [
        {
            "g": run.n_gpus,
            "tensor_bytes": run.nbytes,
            "value": REDUCE.value(float(run.seconds)),
        }
        for run in ENGINE_RUNS
        if run.nbytes >= 4096
    ]
    dots = (
        alt.Chart(alt.Data(values=rows))
        .transform_filter("datum.g == n_ranks")
        .mark_point(filled=True, size=45, color=INK.css, opacity=0.9)
        .encode(x=SIZE.on("x", "tensor_bytes"), y=REDUCE.on("y", "value"))
    )
    here = Landmark("the rows chosen", q.hidden_bytes)
    return alt.layer(
        bound_curves(SIZE, REDUCE, *lines),
        dots,
        *landmarks(SIZE, "x", "tensor_bytes", here),
    )


def speedup() -> Any:
    """One line a degree: how much faster than one GPU, while the batch grows."""
    from llmserve_lab.extras import altair as alt

    lines = [
        Drawn(
            f"{g} GPUs",
            f.TP_SPEEDUP,
            ink,
            {"n_ranks": str(g)},
            label_at=1.0,
            dash=ink.dash,
            rising=True,
        )
        for g, ink in zip(DEGREES[1:], SERIES, strict=False)
    ]
    ideal = alt.Chart(
        alt.Data(values=[{"value": g, "said": f"{g} GPUs, ideal"} for g in DEGREES[1:]])
    )
    up = GAIN.on("y", "value")
    rule = ideal.mark_rule(color=GREY.css, strokeDash=[3, 3]).encode(y=up)
    said = ideal.mark_text(color=GREY.css, align="left", dy=-6, x=4).encode(
        y=up, text="said:N"
    )
    return alt.layer(bound_curves(BATCH, GAIN, *lines), rule, said)
