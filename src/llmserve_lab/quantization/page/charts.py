"""What the live figure draws: a decode step in 16 bits and in fewer, part by part."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.live.bound import BoundMark, Marks
from llmserve_lab.page.live.marks import by_ink
from llmserve_lab.page.palette import GREY, MEANINGS, Ink

TIME = QuantityAxis(
    q.few_bits_step_s, "ms", words="time of a decode step", ticks={"tickCount": 6}
)
FAINT = 0.25
# A lane of the chart: what it is called, the prefix of its signals, when it is full.
LANES = {
    "16 bits": ("wide_", "wide_iteration_bytes > hbm_bytes"),
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


def step() -> Any:
    """Two bars: weights, what of the arithmetic shows, cache, and the rest."""
    from llmserve_lab.extras import altair as alt

    layers, inks = [], dict[str, Ink]()
    for lane, (prefix, full) in LANES.items():
        marks = parts(prefix)
        weights, linear, cache, rest = marks
        read, compute = weights.read(TIME), linear.read(TIME)
        shown = (
            f"max({compute}, {read}) + (1 - overlap) * min({compute}, {read}) - {read}"
        )
        kv, whole = cache.read(TIME), lasts(prefix)
        after = f"{read} + {shown}"
        spans = {
            weights.name: ("0", read),
            linear.name: (read, after),
            cache.name: (after, f"{after} + {kv}"),
            rest.name: (f"{after} + {kv}", whole),
        }
        layers += [
            alt.Chart(alt.Data(values=[{"lane": lane, "kind": name}]))
            .transform_calculate(start=start, end=end, seen=f"{full} ? {FAINT} : 1")
            .mark_bar(height=34)
            for name, (start, end) in spans.items()
        ]
        inks |= {mark.name: mark.ink for mark in marks}
    bars = alt.layer(*layers, height=130).encode(
        x=TIME.on("x", "start"),
        x2="end",
        y=alt.Y("lane", type="nominal", sort=None, title=None),
        color=by_ink("kind", inks)["color"],
        opacity=alt.Opacity("seen", type="quantitative", scale=None),
    )
    return alt.layer(bars, *_lasts())


def _lasts() -> list[Any]:
    """At the end of each bar: how long the step lasts, or that memory is full."""
    from llmserve_lab.extras import altair as alt

    found = []
    for lane, (prefix, full) in LANES.items():
        end = lasts(prefix)
        ends = (
            alt.Chart(alt.Data(values=[{"lane": lane}]))
            .transform_calculate(start=end, room=f"1.3 * ({end})")
            .transform_calculate(
                says=f"{full} ? 'does not fit' : format(datum.start, '.3r') + ' ms'"
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
