"""What the live figures draw: bars of sending, two rates that cross, and a map."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.page.controls import BY_BANDWIDTH
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.live.bound import BoundMark, Landmark, Marks, landmarks, picked
from llmserve_lab.page.live.marks import by_ink
from llmserve_lab.page.palette import GREY, NARROW, SERIES
from llmserve_lab.roofline.formulas import BATCH_FITS

WAYS = Marks(
    BoundMark("all at the end", f.TRANSFER_S, SERIES[1]),
    BoundMark("layer by layer", f.EXPOSED_S, SERIES[0]),
)
SENT = QuantityAxis(
    q.exposed_s,
    "ms",
    words="sending that the second token waits for",
    domain=(0.01, 20_000),
    log=True,
)
FLEET = 16
FAST = {"link_bw": float(BY_BANDWIDTH[0].bandwidth), "eff_link": 1.0}
POOLS = Marks(
    BoundMark("prefill pool", f.PREFILL_RATE, SERIES[1], "one_prefill_rate"),
    BoundMark("decode pool", f.DECODE_RATE, SERIES[0], "one_decode_rate"),
)
GPUS = {f.PREFILL_RATE: "datum.x", f.DECODE_RATE: f"({FLEET} - datum.x)"}
SPLIT = QuantityAxis(
    q.n_prefill, words=f"prefill GPUs, of {FLEET}", ticks={"tickMinStep": 1}
)
RATE = QuantityAxis(
    q.pools_rate,
    words="rate, as a share of the best",
    of=q.best_pools_rate,
    domain=(0, 1.5),
    ticks={"values": [0, 0.5, 1, 1.5]},
)
PROMPT, COLUMNS = (
    QuantityAxis(q.prompt_len, words="prompt", domain=(64, 131_072), log=True),
    22,
)
LOAD, ROWS = (
    QuantityAxis(
        q.shared_gpus,
        words="load (busy GPUs, if each serves both phases)",
        domain=(0.5, 64),
        log=True,
    ),
    14,
)
OVERHEAD_S = 0.002  # of every iteration, in the map
GPU_TIMES = (f.PREFILL_GPU_S, f.DECODE_GPU_S, f.SHARED_GPU_S)
ONE, TWO = Marks(
    BoundMark("one engine", f.SHARED_GPUS, SERIES[0]),
    BoundMark("two pools", f.POOLS_GPUS, SERIES[1]),
)
# What is said of a cell, the first that holds: the test, the words, the ink.
REGIONS = (
    ("!datum.served", "no room, or not in time", GREY),
    ("datum.one == 1", "one GPU is enough", SERIES[4]),
    ("datum.one < datum.two", f"fewer in {ONE.name}", ONE.ink),
    ("datum.one == datum.two", "as many", SERIES[2]),
    ("datum.one > datum.two", f"fewer in {TWO.name}", TWO.ink),
)
INKS = {words: ink for _, words, ink in REGIONS}


LOADED = Landmark("load", q.shared_gpus, expr="arrival_rate * shared_gpu_s")


def sending() -> Any:
    """For each link two bars of delay: the whole cache at the end, or by layers."""
    from llmserve_lab.extras import altair as alt

    here = {"link_bw": "datum.bw", "eff_link": "1"}
    known = here | {n: n for n in ("handoff_bytes", "prefill_s")}
    rows = [
        {"link": link.name, "bw": float(link.bandwidth), "way": way.name}
        for link in BY_BANDWIDTH
        for way in WAYS
    ]
    short = f"width < {NARROW} ? truncate(datum.label, 15) : datum.label"
    y = alt.Y(
        "link", type="nominal", sort=None, title=None, axis=alt.Axis(labelExpr=short)
    )
    delays = {way.name: way.draw(SENT, **known) for way in WAYS}
    bars = (
        alt.Chart(alt.Data(values=rows))
        .transform_calculate(ms=picked("way", delays), start="0.01")
        .mark_bar(clip=True)
        .encode(
            x=SENT.on("x", "ms"),
            x2="start",
            y=y,
            yOffset=alt.YOffset("way", type="nominal", sort=None),
            color=by_ink("way", WAYS.inks)["color"],
        )
    )
    rule = landmarks(SENT, "x", "ms", Landmark("prefill", q.prefill_s))
    return alt.layer(bars, *rule, height=400)


def pool_rates() -> Any:
    """For every split of sixteen GPUs the rate of each pool; the lower one counts."""
    from llmserve_lab.extras import altair as alt

    rates = {pool.name: f"{GPUS[pool.formula]} * {pool.read(RATE)}" for pool in POOLS}
    x, y = SPLIT.on("x", "x"), RATE.on("y", "rate")
    bars = (
        alt.Chart(alt.sequence(1, FLEET, as_="x"))
        .transform_calculate(rate=f"min({', '.join(rates.values())})")
        .mark_bar(color=GREY.css, opacity=0.45, clip=True, size=14)
    )
    ends = [{"pool": pool, "x": x} for pool in rates for x in (1, FLEET - 1)]
    lines = (
        alt.Chart(alt.Data(values=ends))
        .transform_calculate(rate=picked("pool", rates))
        .mark_line(clip=True)
        .encode(**by_ink("pool", POOLS.inks))
    )
    return alt.layer(bars.encode(x=x, y=y), lines.encode(x=x, y=y))


def when_to_split() -> Any:
    """A cell for each prompt and load: which arrangement takes fewer GPUs there."""
    from llmserve_lab.extras import altair as alt

    x, y = PROMPT.on("x", "from_prompt_len"), LOAD.on("y", "from_load")
    color = by_ink("who", INKS)["color"]
    cells = _merged(_cells()).mark_rect(opacity=0.6)
    return alt.layer(
        cells.encode(x=x, x2="to_prompt_len", y=y, y2="to_load", color=color),
        *landmarks(PROMPT, "x", "from_prompt_len", Landmark("prompt", q.prompt_len)),
        *landmarks(LOAD, "y", "from_load", LOADED),
    )


def _cells() -> Any:
    """GPU times once for each prompt, then whole GPUs for each load.

    A load is said as the GPUs that it would keep busy if each served both phases. No
    prompt is served whose cache does not fit, or cannot be read in time.
    """
    from llmserve_lab.extras import altair as alt

    prompt = {"prompt_len": "datum.prompt_len"}
    size = prompt | {"overhead_s": f"{OVERHEAD_S}"}
    times = {each.name: each.browser(size) for each in GPU_TIMES}
    times["transfer_s"] = f.TRANSFER_S.browser(prompt | {"eff_link": "1"})
    full = {"context": "(datum.prompt_len + new_tokens)"}
    fits = f"{BATCH_FITS.browser(full)} >= 1 && {f.TBT_BATCH.browser(size)} >= 1"
    gpus = {name: f"datum.{name}" for name in times}
    shared = {"shared_gpu_s": gpus.pop("shared_gpu_s")}
    rate = {"arrival_rate": "(datum.load / datum.shared_gpu_s)"}
    return (
        alt.Chart(alt.sequence(0, COLUMNS, as_="i"))
        .transform_calculate(**_step("prompt_len", "i", PROMPT, COLUMNS))
        .transform_calculate(**times, served=fits, j=f"sequence({ROWS})")
        .transform_flatten(["j"])
        .transform_calculate(**_step("load", "j", LOAD, ROWS))
        .transform_calculate(
            one=ONE.draw(LOAD, **shared, **rate), two=TWO.draw(LOAD, **gpus, **rate)
        )
        .transform_calculate(who=_who())
    )


def _who() -> str:
    """What is said of a cell, as a Vega expression."""
    *first, (_, last, _) = REGIONS
    return "".join(f"{test} ? '{words}' : " for test, words, _ in first) + f"'{last}'"


def _merged(cells: Any) -> Any:
    """Cells of one prompt that follow each other and are alike, as one."""
    column = {"sort": [{"field": "j"}], "groupby": ["i"]}
    runs = (
        cells.transform_window(before="lag(who)", **column)
        .transform_calculate(turn="datum.who == datum.before ? 0 : 1")
        .transform_window(run="sum(turn)", **column)
    )
    return runs.transform_aggregate(
        from_load="min(from_load)",
        to_load="max(to_load)",
        groupby=["from_prompt_len", "to_prompt_len", "run", "who"],
    )


def _step(name: str, place: str, along: QuantityAxis, steps: int) -> dict[str, str]:
    """Edges and middle of one of ``steps`` equal ratios, as Vega expressions."""
    low, high = along.domain or (1, 1)
    names = {f"from_{name}": 0, name: 0.5, f"to_{name}": 1}
    ratio = f"{low:g} * pow({high / low:g}, (datum.{place} + "
    return {each: f"{ratio}{up}) / {steps})" for each, up in names.items()}
