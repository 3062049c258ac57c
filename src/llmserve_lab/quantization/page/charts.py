"""What the live figure draws: a decode step in 16 bits and in fewer, part by part."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.live.bound import BoundMark, Marks, picked
from llmserve_lab.page.live.marks import by_ink
from llmserve_lab.page.palette import GREY, MEANINGS, PAGE_CSS, Ink

TIME = QuantityAxis(
    q.few_bits_step_s, "ms", words="time of a decode step", ticks={"tickCount": 6}
)
FAINT = 0.25
# A lane of the chart: what it is called, the prefix of its signals, when it is full.
LANES = {
    "16 bits": ("wide_", "wide_held_bytes > hbm_bytes"),
    "as chosen": ("", "held_bytes > hbm_bytes"),
}


def lasts(prefix: str) -> str:
    """How long the step of a lane takes, in the unit of the axis."""
    return TIME.reads(q.few_bits_step_s, f"{prefix}few_bits_step_s")


def parts(prefix: str) -> Marks:
    """The parts of a step in one lane, each bound to its quantity."""
    return Marks(
        BoundMark(
            "read weights", q.weights_s, MEANINGS["weights"], f"{prefix}weights_s"
        ),
        BoundMark(
            "compute the layers", q.linear_s, MEANINGS["compute"], f"{prefix}linear_s"
        ),
        BoundMark("read cache", q.kv_s, MEANINGS["cache"], f"{prefix}kv_s"),
        BoundMark("time for the rest", q.overhead_s, MEANINGS["other"], "overhead_s"),
    )


HEIGHT, HALF = 38, 19  # pixels of a lane's bar; reading above, computing below
ROOM = 1.3  # of the longer bar: how far the axis goes at least
WRITTEN = 19  # pixels: a narrower part bears no number


def _in_lane(mark: int) -> str:
    """How long a part of the row's lane lasts, in the unit of the axis."""
    reads = {
        lane: parts(prefix)[mark].read(TIME) for lane, (prefix, _) in LANES.items()
    }
    return picked("lane", reads)


def _spans(drawn: Any) -> Any:
    """Where each part begins and ends: computing starts before reading is done."""
    weights, linear, cache, rest = (mark.name for mark in parts(""))
    begun, after = (
        "datum.read - datum.hidden",
        "datum.read + datum.compute - datum.hidden",
    )
    cached = f"{after} + datum.kv"
    return (
        drawn.transform_calculate(
            read=_in_lane(0), compute=_in_lane(1), kv=_in_lane(2), whole=_whole()
        )
        .transform_calculate(hidden="overlap * min(datum.read, datum.compute)")
        .transform_calculate(
            start=picked(
                "kind", {weights: "0", linear: begun, cache: after, rest: cached}
            ),
            end=picked(
                "kind",
                {
                    weights: "datum.read",
                    linear: after,
                    cache: cached,
                    rest: "datum.whole",
                },
            ),
        )
    )


def _whole() -> str:
    return picked("lane", {lane: lasts(prefix) for lane, (prefix, _) in LANES.items()})


def step() -> Any:
    """Two lanes: weights above what is computed meanwhile, then cache and the rest."""
    from llmserve_lab.extras import altair as alt

    inks = {mark.name: mark.ink for mark in parts("")}
    rows = [{"lane": lane, "kind": name} for lane in LANES for name in inks]
    longest = f"max({', '.join(lasts(prefix) for prefix, _ in LANES.values())})"
    seen = {lane: f"({full}) ? {FAINT} : 1" for lane, (_, full) in LANES.items()}
    weights, linear, *_ = inks
    drawn: list[Any] = []
    for offset, kind in ((-HALF / 2, weights), (HALF / 2, linear), (0, "")):
        which = (
            f"datum.kind === '{kind}'"
            if kind
            else (f"datum.kind !== '{weights}' && datum.kind !== '{linear}'")
        )
        part = alt.Chart().transform_filter(which)
        drawn += _bar_and_words(part, offset, inks)
    bars = _spans(alt.layer(*drawn, data=alt.Data(values=rows))).transform_calculate(
        seen=picked("lane", seen),
        middle="(datum.start + datum.end) / 2",
        says="datum.seen < 1 || (datum.end - datum.start) * width < "
        f"{WRITTEN * ROOM} * {longest} ? '' : format(datum.end - datum.start, '.1f')",
    )
    return alt.layer(bars, *_lasts(), height=130)


def _bar_and_words(part: Any, offset: float, inks: dict[str, Ink]) -> tuple[Any, Any]:
    """Parts at one height, and in the middle of each how long it lasts."""
    from llmserve_lab.extras import altair as alt

    lane = alt.Y("lane", type="nominal", sort=None, title=None)
    bar = part.mark_bar(height=HALF if offset else HEIGHT, yOffset=offset).encode(
        x=TIME.on("x", "start"),
        x2="end",
        y=lane,
        color=by_ink("kind", inks)["color"],
        opacity=alt.Opacity("seen", type="quantitative", scale=None),
    )
    words = part.mark_text(color=PAGE_CSS, fontSize=12, yOffset=offset + 1).encode(
        x=TIME.on("x", "middle"), y=lane, text="says:N"
    )
    return bar, words


def _lasts() -> list[Any]:
    """At the end of each bar: how long the step lasts, or that memory is full."""
    from llmserve_lab.extras import altair as alt

    found = []
    for lane, (prefix, full) in LANES.items():
        end = lasts(prefix)
        ends = (
            alt.Chart(alt.Data(values=[{"lane": lane}]))
            .transform_calculate(start=end, room=f"{ROOM} * ({end})")
            .transform_calculate(
                says=f"{full} ? 'no room' : format(datum.start, '.3r') + ' ms'"
            )
            .encode(y=alt.Y("lane", type="nominal", sort=None, title=None))
        )
        look: dict[str, Any] = {"align": "left", "dx": 5, "fontWeight": "bold"}
        words = ends.mark_text(color=GREY.css, fontSize=13, **look)
        unseen = ends.mark_point(opacity=0)  # keeps room on the right for the words
        found += [
            words.encode(x=TIME.on("x", "start"), text="says:N"),
            unseen.encode(x=TIME.on("x", "room")),
        ]
    return found
