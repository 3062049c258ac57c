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


def kernels(across: QuantityAxis, up: QuantityAxis, mean: str) -> list[Any]:
    """Decode's two kinds of kernels, each on the roof; its point is their average.

    ``mean`` is the signal with decode's own intensity, next to which the products of
    few rows lie: they have no name there, where that of decode stands.
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
    apart = f"datum.intensity > {APART} * {across.scaled(mean, q.intensity)}"
    for which, align, dx, dy in (
        (f"datum.kernel == 'products' && {apart}", "left", 14, 3),
        ("datum.kernel == 'attention'", "left", 9, 9),
    ):
        look: dict[str, Any] = {"align": align, "dx": dx, "dy": dy, "clip": True}
        names = rows.transform_filter(which).mark_text(
            color=GREY.css, fontSize=13, **look
        )
        marks.append(names.encode(text="called:N"))
    return marks
