"""What the live figures draw: bars of sending, two rates that cross, and a map."""

from __future__ import annotations

from typing import Any

from llmserve_lab.book.charts import by_ink, landmark, log_axis
from llmserve_lab.book.palette import BLUE, GREEN, GREY, NARROW, PURPLE, VERMILLION
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.choices import BY_BANDWIDTH

WAYS = {"all at the end": VERMILLION, "layer by layer": BLUE}
FLEET = 16
FAST = {"link_bw": float(BY_BANDWIDTH[0].bandwidth), "eff_link": 1.0}
POOLS = {"prefill pool": VERMILLION, "decode pool": BLUE}
PROMPTS = (64.0, 131_072.0)
MOST = 2.0
REGIONS = {
    "either": GREEN,
    "only one engine": BLUE,
    "only two pools": VERMILLION,
}


def sending() -> Any:
    """For each link two bars of delay: the whole cache at the end, or by layers."""
    import altair as alt

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
    import altair as alt

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
    """Load over prompt: what one engine carries is the line at 100 %."""
    import altair as alt

    here = {"prompt_len": "datum.prompt", "n_prefill": "1", "n_decode": "1"}
    wire = {"eff_link": "1"}
    pools = f.BEST_POOLS_RATE.browser(here | wire)
    shared = f.SHARED_RATE.browser(here)
    low, high = PROMPTS
    rows = alt.Chart(alt.sequence(0, 45, as_="i")).transform_calculate(
        prompt=f"{low:g} * pow({high / low:g}, datum.i / 44)"
    )
    rows = rows.transform_calculate(two=f"max(0, min({MOST}, ({pools}) / ({shared})))")
    x = alt.X("prompt", **log_axis("prompt (tokens)", low, high))
    areas = {
        "either": ("0", "min(1, datum.two)"),
        "only one engine": ("min(1, datum.two)", "1"),
        "only two pools": ("1", "max(1, datum.two)"),
    }
    layers = [
        rows.transform_calculate(from_=start, to=end, who=f"'{who}'").mark_area(
            opacity=0.5, clip=True
        )
        for who, (start, end) in areas.items()
    ]
    y = alt.Y(
        "to:Q",
        title="load, as a share of what one engine carries",
        scale=alt.Scale(domain=[0, MOST], nice=False),
        axis=alt.Axis(format="%"),
    )
    drawn = alt.layer(*layers).encode(
        x=x, y=y, y2="from_:Q", color=by_ink("who", REGIONS)["color"]
    )
    edge = rows.mark_line(clip=True, color=PURPLE.css).encode(
        x=x, y=alt.Y("two:Q", scale=alt.Scale(domain=[0, MOST], nice=False))
    )
    return alt.layer(drawn, edge, landmark(x, "prompt_len", "prompt"))
