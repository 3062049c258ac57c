"""What one H100 reached of its datasheet: products on the roof, reading by size."""

from __future__ import annotations

from typing import Any

from llmserve_lab.catalog.evidence import one_h100
from llmserve_lab.page.palette import BLUE, GREEN, GREY, INK, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.roofline import bare
from llmserve_lab.roofline import formulas as f
from llmserve_lab.running_example import ideal, setting

SHOWN = {"gate and up": ("o", BLUE), "out": ("^", VERMILLION)}  # largest and smallest
X_SPAN = (0.8, 9e3)  # FLOP/byte
SIZES = {10**4: "10 kB", 10**6: "1 MB", 10**8: "100 MB", 10**10: "10 GB"}
SMALL: dict[str, Any] = {"ls": "", "ms": 4, "mew": 0}
DASHED = (0, (4, 2))


@figure_style()
def reached() -> StaticFigure:
    """Shares of the roof that products reached, and of the bandwidth by bytes moved."""
    from llmserve_lab.extras import pyplot as plt

    figure, (above, below) = plt.subplots(
        2, 1, figsize=(4.5, 3.3), height_ratios=(1.3, 1)
    )
    _roofs(above)
    _shares(below)
    for axes in (above, below):
        axes.minorticks_off()
    above.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
    figure.legend(
        loc="outside lower center", ncols=3, fontsize=9, handlelength=1.3,
        columnspacing=0.7, handletextpad=0.5,
    )  # fmt: skip
    many, fitted = bare.compute_rate() / float(ideal()["peak_flops"]), setting()
    return StaticFigure.of(
        figure,
        name="roofline.reached",
        title="Neither roof is reached, and near the ridge only half of it",
        sentence=(
            "One H100, timed alone. Above: two matrices of Llama-3.1-8B, the largest "
            "of a layer (gate and up) and the smallest (output; query, key and value "
            "are one), with 1 to 16,384 rows. Rows that are read and written count as "
            "bytes here, so the intensity stays below their number. The fit to "
            "servers has "
            f"{float(fitted['eff_compute']):.0%} of the peak ({many:.0%} measured, "
            f"with {bare.MANY:,} rows) and {float(fitted['eff_mem']):.0%} of the "
            "bandwidth."
        ),
    )


def _roof(known: Any, intensity: float) -> float:
    return float(f.ATTAINABLE_FLOPS.at(known, intensity=intensity))


def _roofs(axes: Any) -> None:
    """Shares of the datasheet's roof: the fit to servers, and what products reached."""
    sheet, fitted = ideal(), setting()
    corners = (float(f.RIDGE.at(fitted)), float(f.RIDGE.at(sheet)))
    line = (X_SPAN[0], *corners, X_SPAN[1])
    shares = [100 * _roof(fitted, x) / _roof(sheet, x) for x in line]
    axes.axhline(100, color=GREY.light, lw=1.6, label="datasheet")
    look: dict[str, Any] = {"color": INK.light, "lw": 1.6, "ls": DASHED}
    axes.semilogx(line, shares, label="fitted to servers", **look)
    axes.axvline(corners[1], color=GREY.light, lw=1, ls=":")
    axes.text(1.1 * corners[1], 12, "ridge", color=GREY.light)
    for name, (mark, ink) in SHOWN.items():
        runs = bare.products_of(name)
        across = [each.flops / each.traffic_bytes for each in runs]
        up = [
            100 * each.flops_per_s / _roof(sheet, x)
            for each, x in zip(runs, across, strict=True)
        ]
        called = f"product: {'output' if name == 'out' else name}"
        axes.plot(across, up, mark, color=ink.light, label=called, **SMALL)
    axes.set_xlim(*X_SPAN)
    axes.set_ylim(0, 110)
    axes.set_yticks([0, 50, 100], ["0%", "50%", "100%"])
    axes.set_xlabel("arithmetic intensity (FLOP/byte)")
    axes.set_ylabel("share of roof")


def _shares(axes: Any) -> None:
    """Shares of the bandwidth: copies, kernels that only read, products of one row."""
    rate, most = float(ideal()["hbm_bw"]), one_h100.reads()[-1].blocks
    reads = [each for each in one_h100.reads() if each.blocks == most]
    ones = [bare.products_of(name)[0] for name in (*bare.LAYER, "head")]
    points: dict[str, list[tuple[float, float]]] = {
        "copy": [(2 * c.bytes, c.bytes_per_s) for c in one_h100.copies()],
        "reading alone": [(r.bytes, r.bytes_per_s) for r in reads],
        "product of one row": [(p.traffic_bytes, p.bytes_per_s) for p in ones],
    }
    looks = ((".", GREY), ("s", INK), ("D", GREEN))
    for (name, found), (mark, ink) in zip(points.items(), looks, strict=True):
        across = [float(size) for size, _ in found]
        shares = [100 * each / rate for _, each in found]
        look = SMALL | ({"ms": 6} if mark == "." else {})
        axes.semilogx(across, shares, mark, color=ink.light, label=name, **look)
    axes.axhline(100, color=GREY.light, lw=1.6)
    fitted = 100 * float(setting()["eff_mem"])
    axes.axhline(fitted, color=INK.light, lw=1.6, ls=DASHED)
    axes.set_ylim(0, 110)
    axes.set_yticks([0, 50, 100], ["0%", "50%", "100%"])
    axes.set_xticks(list(SIZES), list(SIZES.values()))
    axes.set_xlim(6e3, 1.2e10)
    axes.set_xlabel("bytes read and written")
    axes.set_ylabel("of bandwidth")
