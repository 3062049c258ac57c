"""What one H100 took for the products of an iteration, beside the roof's corner."""

from __future__ import annotations

from typing import Any

from llmserve_lab.page.palette import BLUE, GREY
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.roofline import bare
from llmserve_lab.roofline import formulas as f
from llmserve_lab.running_example import ideal

MOST = 512  # rows up to which the corner is drawn


def least_s(rows: float) -> float:
    """The datasheet's bound on the products of an iteration: compute them, or read."""
    read, compute = (f.WEIGHTS_S.at(ideal()), f.LINEAR_S.at(ideal(), _rows(rows)))
    return max(float(read), float(compute))


def _rows(rows: float) -> dict[str, float]:
    return {"batch": float(rows), "chunk": 1.0}


@figure_style()
def reached() -> StaticFigure:
    """Time of all products of an iteration over its rows: bound, and one GPU."""
    from llmserve_lab.extras import pyplot as plt

    ridge = float(f.RIDGE_ROWS.at(ideal()))
    timed = [rows for rows in bare.rows_timed() if rows <= MOST]
    figure, axes = plt.subplots(figsize=(4.5, 2.1))
    bound = [1e3 * least_s(rows) for rows in (1, ridge, MOST)]
    axes.plot((1, ridge, MOST), bound, color=GREY.light, lw=2.2, label="bound")
    axes.axvline(ridge, color=GREY.light, lw=1, ls=":")
    axes.text(1.02 * ridge, 0.5, "ridge", color=GREY.light)
    took = [1e3 * bare.products_s(rows) for rows in timed]
    look: dict[str, Any] = {"color": BLUE.light, "lw": 1.6, "marker": "o", "ms": 4}
    look["ls"] = "-"
    axes.plot(timed, took, label="one GPU", **look)
    axes.set_xlim(0, MOST * 1.02)
    axes.set_ylim(0, 1.1 * max(took))
    axes.set_xticks(range(0, MOST + 1, MOST // 4))
    axes.set_xlabel("rows")
    axes.set_ylabel("ms, all products")
    axes.legend(loc="upper left", fontsize=9)
    worst = max(timed, key=lambda rows: bare.products_s(rows) / least_s(rows))
    return StaticFigure.of(
        figure,
        name="roofline.reached",
        title="The corner of a real roof is round",
        sentence=(
            "All products with the weights of Llama-3.1-8B, timed one by one on an "
            f"H100. Near the ridge the GPU is furthest from the bound: {worst} rows "
            f"take {1e3 * bare.products_s(worst):.1f} ms, where the datasheet allows "
            f"{1e3 * least_s(worst):.1f} ms."
        ),
    )
