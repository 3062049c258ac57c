"""The chapter's still pictures: padding of real prompts, and the gain without it."""

from __future__ import annotations

from collections.abc import Mapping

from llmserve_lab.catalog.evidence.packing import UNPADDED
from llmserve_lab.page.palette import BLUE, GREY, INK, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.varlen.lengths import SERVICES, SIZES, padding_share
from llmserve_lab.varlen.measured import measured, predicted

INKS = dict(zip(SERVICES, (BLUE, VERMILLION), strict=True))
LABELLED = 8  # requests: the batch that the page speaks of


@figure_style()
def padding() -> StaticFigure:
    """Share of padding against the size of the batch, for two services."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.7, 2.8))
    shares = {name: [padding_share(name, size) for size in SIZES] for name in SERVICES}
    for (name, found), down in zip(shares.items(), (12, -18), strict=True):
        ink = INKS[name].light
        axes.plot(range(len(SIZES)), found, marker="o", color=ink)
        axes.annotate(
            f"{name}: {found[-1]:.0%}",
            (len(SIZES) - 1, found[-1]),
            (4, down),
            textcoords="offset points",
            ha="right",
            color=ink,
        )
    axes.set_xticks(range(len(SIZES)), [str(size) for size in SIZES])
    axes.set(xlabel="prompts in the batch (doubled from tick to tick)", ylim=(0, 1))
    axes.set_ylabel("share of padding")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    said = " and ".join(
        f"{padding_share(name, LABELLED):.0%} ({name})" for name in SERVICES
    )
    return StaticFigure.of(
        figure,
        sentence=f"In random batches of {LABELLED} prompts the share is {said}.",
        title="The larger the batch, the more of a padded one is padding",
        name="varlen.padding",
    )


@figure_style()
def unpadded() -> StaticFigure:
    """Measured factor of removing padding against the padded rows of the batch."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.7, 3.0))
    rows = [row.batch * row.stretched for row in UNPADDED]
    axes.plot(rows, [measured(row) for row in UNPADDED], "o", color=BLUE.light)
    order = sorted(UNPADDED, key=lambda row: row.batch * row.stretched)
    axes.plot(
        [row.batch * row.stretched for row in order],
        [predicted(row) for row in order],
        "_",
        markersize=14,
        markeredgewidth=2,
        color=VERMILLION.light,
    )
    axes.axhline(1, color=GREY.light, lw=1)
    axes.set(xscale="log", ylim=(0.8, 2.25), xlim=(20, 30_000))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.minorticks_off()
    axes.set_xlabel("rows of the padded batch (log)")
    axes.set_ylabel("times as fast without padding")
    words = {
        "predicted from FLOPs": (24, 2.13, VERMILLION),
        "measured": (1500, 1.25, BLUE),
    }
    for text, (x, y, ink) in words.items():
        axes.text(x, y, text, color=ink.light)
    axes.text(2500, 0.9, "below 1: slower", color=INK.light, fontsize=8.5)
    most = order[-1]
    return StaticFigure.of(
        figure,
        sentence=(
            f"With {most.batch * most.stretched:,} padded rows removing the padding is "
            f"measured {measured(most):.2f} times as fast, predicted "
            f"{predicted(most):.2f}; with few rows it gains nothing."
        ),
        title="Removing half of the rows nearly doubles the speed, if there are many",
        name="varlen.unpadded",
    )


@figure_style()
def bill(
    times_ms: Mapping[str, tuple[float, float]],
    title: str,
    *,
    name: str = "varlen.bill",
) -> StaticFigure:
    """Milliseconds of the linear layers and of attention, a bar a way.

    ``times_ms`` holds both by the name of the way.
    """
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.7, 2.2))
    ways = list(times_ms)
    linear, attention = ([pair[i] for pair in times_ms.values()] for i in (0, 1))
    axes.barh(ways, linear, color=BLUE.light, label="linear layers")
    axes.barh(ways, attention, left=linear, color=VERMILLION.light, label="attention")
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("time of the arithmetic (ms)")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    said = ", ".join(f"{way} {a + b:.1f} ms" for way, (a, b) in times_ms.items())
    return StaticFigure.of(
        figure, sentence=f"Arithmetic in all: {said}.", title=title, name=name
    )
