"""What the live figures draw: bars of sending, two rates that cross, and a map."""

from __future__ import annotations

from typing import Any

from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.page.controls import BY_BANDWIDTH
from llmserve_lab.page.live.marks import by_ink, landmark, log_axis
from llmserve_lab.page.palette import BLUE, GOLD, GREEN, GREY, NARROW, VERMILLION
from llmserve_lab.roofline.formulas import BATCH_FITS

WAYS = {"all at the end": VERMILLION, "layer by layer": BLUE}
FLEET = 16
FAST = {"link_bw": float(BY_BANDWIDTH[0].bandwidth), "eff_link": 1.0}
POOLS = {"prefill pool": VERMILLION, "decode pool": BLUE}
PROMPTS, COLUMNS = (64.0, 131_072.0), 22
LOADS, ROWS = (0.5, 64.0), 14  # GPUs that would be busy
LOAD_TITLE = "load (busy GPUs, if each serves both phases)"
OVERHEAD_S = 0.002  # of every iteration, in the map
GPU_TIMES = (f.PREFILL_GPU_S, f.DECODE_GPU_S, f.SHARED_GPU_S)
REGIONS = {
    "no room, or not in time": GREY,
    "one GPU is enough": GOLD,
    "fewer in one engine": BLUE,
    "as many": GREEN,
    "fewer in two pools": VERMILLION,
}
WHO = (
    "!datum.served ? '{}' : datum.one == 1 ? '{}' : datum.one < datum.two ? '{}' : "
    "datum.one == datum.two ? '{}' : '{}'"
)


def sending() -> Any:
    """For each link two bars of delay: the whole cache at the end, or by layers."""
    from llmserve_lab.extras import altair as alt

    here = {"link_bw": "datum.bw", "eff_link": "1", "handoff_bytes": "handoff_bytes"}
    whole = f.TRANSFER_S.browser(here)
    late = f.EXPOSED_S.browser(here | {"prefill_s": "prefill_s"})
    rows = [
        {"link": link.name, "bw": float(link.bandwidth), "way": way}
        for link in BY_BANDWIDTH
        for way in WAYS
    ]
    first = f"datum.way == '{next(iter(WAYS))}'"
    x = alt.X("ms", **log_axis("delay of the second token (ms)", 0.01, 20_000))
    short = f"width < {NARROW} ? truncate(datum.label, 15) : datum.label"
    y = alt.Y(
        "link", type="nominal", sort=None, title=None, axis=alt.Axis(labelExpr=short)
    )
    bars = (
        alt.Chart(alt.Data(values=rows))
        .transform_calculate(ms=f"1e3 * ({first} ? {whole} : {late})", start="0.01")
        .mark_bar(clip=True)
        .encode(
            x=x,
            x2="start",
            y=y,
            yOffset=alt.YOffset("way", type="nominal", sort=None),
            color=by_ink("way", WAYS)["color"],
        )
    )
    rule = landmark(x, "1e3 * prefill_s", "prefill")
    return alt.layer(bars, rule, height=400)


def pool_rates() -> Any:
    """For every split of sixteen GPUs the rate of each pool; the lower one counts."""
    from llmserve_lab.extras import altair as alt

    rates = {
        "pre": "datum.x * prefill_one / best_pools_rate",
        "dec": f"({FLEET} - datum.x) * decode_one / best_pools_rate",
    }
    x = alt.X("x:Q", title=f"prefill GPUs, of {FLEET}", axis=alt.Axis(tickMinStep=1))
    y = alt.Y(
        "rate:Q",
        title="rate, as a share of the best",
        scale=alt.Scale(domain=[0, 1.5], nice=False),
        axis=alt.Axis(format="%", values=[0, 0.5, 1, 1.5]),
    )
    bars = (
        alt.Chart(alt.sequence(1, FLEET, as_="x"))
        .transform_calculate(rate=f"min({rates['pre']}, {rates['dec']})")
        .mark_bar(color=GREY.css, opacity=0.45, clip=True, size=14)
    )
    ends = [{"pool": pool, "x": x} for pool in POOLS for x in (1, FLEET - 1)]
    first = f"datum.pool == '{next(iter(POOLS))}'"
    lines = (
        alt.Chart(alt.Data(values=ends))
        .transform_calculate(rate=f"{first} ? {rates['pre']} : {rates['dec']}")
        .mark_line(clip=True)
        .encode(**by_ink("pool", POOLS))
    )
    return alt.layer(bars.encode(x=x, y=y), lines.encode(x=x, y=y))


def when_to_split() -> Any:
    """A cell for each prompt and load: which arrangement takes fewer GPUs there."""
    from llmserve_lab.extras import altair as alt

    x = alt.X("from_prompt_len", **log_axis("prompt (tokens)", *PROMPTS))
    y = alt.Y("from_load", **log_axis(LOAD_TITLE, *LOADS))
    color = by_ink("who", REGIONS)["color"]
    cells = _merged(_cells()).mark_rect(opacity=0.6)
    return alt.layer(
        cells.encode(x=x, x2="to_prompt_len", y=y, y2="to_load", color=color),
        landmark(x, "prompt_len", "prompt"),
        landmark(y, "arrival_rate * shared_gpu_s", "load"),
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
        .transform_calculate(**_step("prompt_len", "i", PROMPTS, COLUMNS))
        .transform_calculate(**times, served=fits, j=f"sequence({ROWS})")
        .transform_flatten(["j"])
        .transform_calculate(**_step("load", "j", LOADS, ROWS))
        .transform_calculate(
            one=f.SHARED_GPUS.browser(shared | rate),
            two=f.POOLS_GPUS.browser(gpus | rate),
        )
        .transform_calculate(who=WHO.format(*REGIONS))
    )


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


def _step(
    name: str, place: str, over: tuple[float, float], steps: int
) -> dict[str, str]:
    """Edges and middle of one of ``steps`` equal ratios, as Vega expressions."""
    low, high = over
    names = {f"from_{name}": 0, name: 0.5, f"to_{name}": 1}
    ratio = f"{low:g} * pow({high / low:g}, (datum.{place} + "
    return {each: f"{ratio}{up}) / {steps})" for each, up in names.items()}
