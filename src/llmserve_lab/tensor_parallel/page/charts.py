"""What the live figures draw: bars of an iteration, all-reduces by size."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.catalog.evidence.collectives import ENGINE_LIMITS, ENGINE_RUNS, MIB
from llmserve_lab.collectives import calibration
from llmserve_lab.collectives import formulas as wires
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.live.bound import BoundMark, Marks
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
)
TIME = QuantityAxis(q.tp_s, "ms", words="time of one iteration")
SIZE = QuantityAxis(
    q.tensor_bytes,
    words="tensor that every GPU holds",
    domain=(4096, 1e8),
    log=True,
)
REDUCE = QuantityAxis(
    q.fastest_s, "µs", words="time of one all-reduce", domain=(2, 2000), log=True
)


def ways(n_ranks: str, tensor_bytes: str) -> dict[str, Bound]:
    """One all-reduce by each way, by the name of its result; constants as fitted."""
    size = {"n_ranks": n_ranks, "tensor_bytes": tensor_bytes}
    return {
        formula.name: Bound.tied(formula, {**kind.known(), **size})
        for formula, kind in (
            (wires.ALL_REDUCE_S, calibration.nccl()),
            (wires.ONE_SHOT_S, calibration.one_shot()),
            (wires.IN_SWITCH_S, calibration.in_switch()),
        )
    }


def tp_time() -> Any:
    """For each degree a bar: work, all-reduces, the rest; an outline without room."""
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
        .transform_calculate(both="datum.work + datum.reduced")
        .transform_calculate(
            start="[0, datum.work, datum.both][datum.kind]",
            end="[datum.work, datum.both, datum.whole][datum.kind]",
            bottom="0",
        )
    )
    ranks = QuantityAxis(q.n_ranks, words="GPUs in the group", ticks={"labelAngle": 0})
    across = ranks.on("x", "n_ranks", "ordinal")
    fits = bars.transform_filter("datum.room == 1").mark_bar(size=34)
    drawn = fits.encode(
        x=across,
        y=TIME.on("y", "start"),
        y2="end",
        color=by_ink("name", KINDS.inks)["color"],
    )
    whole = bars.transform_filter("datum.kind == 2")
    span = {"x": across, "y": TIME.on("y", "bottom"), "y2": "whole"}
    outline: dict[str, Any] = {"size": 34, "filled": False, "strokeWidth": 1.5}
    full = whole.transform_filter("datum.room < 1").mark_bar(
        stroke=GREY.css, strokeDash=[4, 3], **outline
    )
    chosen = whole.transform_filter("datum.n_ranks == n_ranks && datum.room == 1")
    framed = chosen.mark_bar(stroke=INK.css, **outline | {"size": 38})
    words = whole.transform_calculate(
        said="datum.room < 1 ? 'no room' : format(datum.whole, '.3r') + ' ms'",
        top="datum.whole",
    ).mark_text(dy=-8, fontWeight="bold", color=INK.css, fontSize=12)
    return alt.layer(
        drawn,
        full.encode(**span),
        framed.encode(**span),
        words.encode(x=across, y=TIME.on("y", "top"), text="said:N"),
        height=220,
    )


def _parts() -> dict[str, str]:
    """Vega expressions of the parts of a bar in ms, and whether the GPUs have room."""
    at = {"n_ranks": "datum.n_ranks"}
    made = ways(**at, tensor_bytes="hidden_bytes")
    each = {name: f"({bound.expression()})" for name, bound in made.items()}
    fastest = f"({wires.FASTEST_S.browser(each)})"
    alone = "datum.n_ranks == 1 ? 0 : "
    work, reduced, _ = KINDS
    return {
        "work": work.draw(TIME, **at),
        "reduced": alone + reduced.draw(TIME, fastest_s=fastest),
        "whole": TIME.draws(f.TP_S, **at),
        "room": f"({f.RANK_BYTES.browser(at)}) < hbm_bytes ? 1 : 0",
    }


def all_reduce() -> Any:
    """Ways to add up, by the size of the tensor, and what an engine's took."""
    from llmserve_lab.extras import altair as alt

    made = ways("n_ranks", "datum.tensor_bytes")
    inks = dict(zip(made, (SERIES[1], SERIES[0], SERIES[2]), strict=True))
    names = {
        "all_reduce_s": "NCCL all-reduce",
        "one_shot_s": "one-shot",
        "in_switch_s": "in-switch",
    }
    places = {"all_reduce_s": 0.47, "one_shot_s": 0.68, "in_switch_s": 0.36}
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
        if 4096 <= run.nbytes <= calibration.LARGEST
    ]
    dots = (
        alt.Chart(alt.Data(values=rows))
        .transform_filter("datum.g == n_ranks")
        .mark_point(filled=True, size=45, color=INK.css, opacity=0.9)
        .encode(x=SIZE.on("x", "tensor_bytes"), y=REDUCE.on("y", "value"))
    )
    named = (
        alt.Chart(alt.Data(values=[{}]))
        .transform_calculate(tensor_bytes="0", value="0")
        .mark_text(
            text="dots: vLLM, measured",
            color=INK.css,
            align="right",
            x=alt.expr("width > 400 ? width - 152 : width - 18"),
            y=alt.expr("height - 34"),
        )
    )
    return alt.layer(
        bound_curves(SIZE, REDUCE, *lines, _two_shot()),
        dots,
        named,
        *_limits(),
        *_chosen(),
        height=220,
    )


def _chosen() -> list[Any]:
    """A rule at the tokens chosen; its name stands where there is room."""
    from llmserve_lab.extras import altair as alt

    row = alt.Chart(alt.Data(values=[{}])).transform_calculate(
        tensor_bytes=SIZE.reads(q.hidden_bytes)
    )
    across, far = SIZE.on("x", "tensor_bytes"), f"{q.hidden_bytes.name} > {MIB}"
    rule = row.mark_rule(color=GREY.css, strokeDash=[3, 3], clip=True)
    name = row.mark_text(
        text="the tokens chosen",
        color=GREY.css,
        align=alt.expr(f"{far} ? 'right' : 'left'"),
        dx=alt.expr(f"{far} ? -4 : 4"),
        y=10,
    )
    return [rule.encode(x=across), name.encode(x=across)]


def two_shots(n_ranks: str, tensor_bytes: str) -> Bound:
    """One two-shot all-reduce, its constants as fitted."""
    size = {"n_ranks": n_ranks, "tensor_bytes": tensor_bytes}
    return Bound.tied(wires.TWO_SHOT_S, {**calibration.two_shot().known(), **size})


def _two_shot() -> Drawn:
    """The line of two shots, where they were measured: on four GPUs."""
    made = two_shots("n_ranks", "datum.tensor_bytes").expression()
    ink = SERIES[3]
    return Drawn(
        "two-shot (two steps)",
        wires.TWO_SHOT_S,
        ink,
        label_at=0.88,
        dash=ink.dash,
        expr=f"(n_ranks == 4 ? {made} : NaN)",
        means=wires.TWO_SHOT_S.result.meaning,
    )


def _limits() -> list[Any]:
    """A rule at each size at which the engine changes over, called by that size."""
    from llmserve_lab.extras import altair as alt

    sizes = {
        (g, float(limit))
        for g, limits in ENGINE_LIMITS.items()
        for limit in (limits.one_shot, limits.two_shot, limits.in_switch)
    }
    rows = [
        {"g": g, "tensor_bytes": size, "said": _binary(size), "value": 2.6}
        for g, size in sorted(sizes)
    ]
    placed = alt.Chart(alt.Data(values=rows)).transform_filter("datum.g == n_ranks")
    across = SIZE.on("x", "tensor_bytes")
    rule = placed.mark_rule(color=INK.css, strokeDash=[1, 3], strokeWidth=1.5)
    said = placed.mark_text(color=INK.css, align="right", dx=-3, fontSize=10)
    up = REDUCE.on("y", "value")
    return [rule.encode(x=across), said.encode(x=across, y=up, text="said:N")]


def _binary(size: float) -> str:
    """A size in KiB or MiB, as the engine's source has it."""
    return f"{size / MIB:g} MiB" if size >= MIB else f"{1024 * size / MIB:g} KiB"
