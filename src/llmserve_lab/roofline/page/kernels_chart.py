"""Decode's two kinds of kernels as points under the roof."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.live.bound import BoundMark, Marks, picked
from llmserve_lab.page.palette import GREY
from llmserve_lab.roofline import formulas as f

KERNELS = Marks(  # of decode, in turn: each with an intensity of its own
    BoundMark("products", q.intensity, GREY, "products_intensity"),
    BoundMark("attention", q.attn_intensity, GREY),
)

APART = 1.1  # how far the products must be from decode's point, as a ratio
UNDER = (
    0.5  # of the ridge: to here there is room for a name below the slope of the roof
)
CLEAR = 3.0  # beyond this ratio prefill's point is high enough above that name
NEAR = (0.6, 2.3)  # times that of attention: there decode's name is in the way of its


def kernels(
    across: QuantityAxis, up: QuantityAxis, mean: str, prefill: str
) -> list[Any]:
    """Decode's two kinds of kernels, each on the roof; its point is their average.

    ``mean`` and ``prefill`` are the signals with the intensities of the two points. The
    products have a name only where it meets neither of them, nor the flat roof: next to
    decode's point, which those of few rows reach, stands the name of decode.
    """
    from llmserve_lab.extras import altair as alt

    rows = (
        alt.Chart(alt.Data(values=[{"kernel": mark.name} for mark in KERNELS]))
        .transform_calculate(
            intensity=picked("kernel", {m.name: m.read(across) for m in KERNELS})
        )
        .transform_calculate(
            roof=up.draws(f.ATTAINABLE_FLOPS, intensity="datum.intensity"),
            called="'its ' + datum.kernel",
        )
    )
    marks = [rows.mark_point(shape="diamond", color=GREY.css, size=70, clip=True)]
    free = " && ".join(_free(across, mean, prefill))
    for which, align, dx, dy in (
        (f"datum.kernel == 'products' && {free}", "left", 14, 3),
        (f"datum.kernel == 'attention' && !({_near(across, mean)})", "left", 9, 9),
    ):
        look: dict[str, Any] = {"align": align, "dx": dx, "dy": dy, "clip": True}
        names = rows.transform_filter(which).mark_text(
            color=GREY.css, fontSize=13, **look
        )
        marks.append(names.encode(text="called:N"))
    return marks


def _free(across: QuantityAxis, mean: str, prefill: str) -> list[str]:
    """What must hold for the name of the products to have room, on the axis."""
    own, far = across.scaled(mean, q.intensity), across.scaled(prefill, q.intensity)
    beside = f"({far} < datum.intensity / {APART} || {far} > {CLEAR} * datum.intensity)"
    under = f"datum.intensity < {UNDER} * {across.reads(q.ridge)}"
    return [f"datum.intensity > {APART} * {own}", under, beside]


def _near(across: QuantityAxis, mean: str) -> str:
    """Whether decode's name stands where that of its attention would."""
    own, (low, high) = across.scaled(mean, q.intensity), NEAR
    return f"{own} > {low} * datum.intensity && {own} < {high} * datum.intensity"
