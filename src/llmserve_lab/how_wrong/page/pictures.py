"""The chapter's still pictures: the end of the cache, and one token term by term."""

from __future__ import annotations

from typing import Any

from llmserve_lab.formula.text import si
from llmserve_lab.how_wrong import example
from llmserve_lab.how_wrong.page.other_tables import full_server
from llmserve_lab.how_wrong.pairs import cache_requests, full_cache
from llmserve_lab.how_wrong.term_by_term import sheet_ms, terms
from llmserve_lab.page.palette import GREY, INK, SERIES
from llmserve_lab.page.still import StaticFigure, figure_style


@figure_style()
def end_of_the_cache() -> StaticFigure:
    """TTFT against the clients: measured, predicted, and with an endless cache."""
    from llmserve_lab.extras import pyplot as plt

    found = full_cache()
    clients = [row.clients for row, _, _ in found]
    room = cache_requests(found[0][0])
    figure, axes = plt.subplots(figsize=(5.6, 2.9))
    drawn: tuple[tuple[str, list[float], dict[str, Any]], ...] = (
        (
            "measured",
            [row.ttft_s for row, _, _ in found],
            {"color": INK.light, "marker": "o", "ls": "-"},
        ),
        (
            "predicted",
            [made for _, made, _ in found],
            {"color": SERIES[0].light, "marker": "s", "ls": "--"},
        ),
        (
            "predicted, endless cache",
            [free for _, _, free in found],
            {"color": SERIES[1].light, "marker": "^", "ls": ":"},
        ),
    )
    for name, seconds, look in drawn:
        axes.plot(clients, seconds, label=name, ms=4, **look)
    axes.axvline(room, color=GREY.light, linewidth=0.9)
    axes.annotate(
        f"room for {room:.0f} requests",
        (room, 0.2),
        xytext=(5, 0),
        textcoords="offset points",
        ha="left",
    )
    axes.set(xscale="log", yscale="log", xlabel="clients (log)", ylabel="TTFT (s, log)")
    axes.set_xticks(clients, [str(each) for each in clients])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.minorticks_off()
    axes.legend(loc="upper left")
    last_calm = [row for row, _, _ in found if row.clients <= room][-1]
    first_full = next(row for row, _, _ in found if row.clients > room)
    return StaticFigure.of(
        figure,
        sentence=(
            f"{full_server()}: with {last_calm.clients} clients the first token comes "
            f"after {si(last_calm.ttft_s, 's')}, with {first_full.clients} after "
            f"{si(first_full.ttft_s, 's')}. A model without an end of the cache misses "
            "the jump."
        ),
        title="The first token waits as soon as the cache is full",
        name="how_wrong.end_of_the_cache",
    )


@figure_style()
def token() -> StaticFigure:
    """One token's time by datasheet, by the book's terms, and measured."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(5.6, 2.2))
    parts = _merged()
    measured = example.measured_ms()[example.CLIENTS]
    for place, value in ((0, measured), (2, sheet_ms())):
        axes.barh(place, value, color=GREY.light, height=0.62)
        axes.text(value + 0.2, place, f"{value:.2f} ms", va="center")
    left = 0.0
    inks = (SERIES[0], SERIES[3], SERIES[1], SERIES[2])
    for ink, (name, value) in zip(inks, parts.items(), strict=True):
        axes.barh(1, value, left=left, color=ink.light, height=0.62, label=name)
        left += value
    axes.text(left + 0.2, 1, f"{left:.2f} ms", va="center")
    axes.set_yticks((2, 1, 0), ("datasheet", "book", "measured"))
    axes.set(xlabel="time per output token (ms)", xlim=(0, 1.2 * measured))
    axes.grid(axis="y", visible=False)
    axes.legend(loc="upper center", ncols=4, bbox_to_anchor=(0.45, 1.3), handlelength=1)
    said = ", ".join(f"{name} {value:.3f} ms" for name, value in parts.items())
    return StaticFigure.of(
        figure,
        sentence=(
            f"{example.CLIENTS} clients: the datasheet promises "
            f"{sheet_ms():.2f} ms a token, the book {left:.2f} ms ({said}), and "
            f"{measured:.2f} ms were measured."
        ),
        title="Where the time of one token goes",
        name="how_wrong.token",
    )


def _merged() -> dict[str, float]:
    """The terms in four parts, in ms."""
    found = {each.name: 1e3 * each.seconds for each in terms()}
    groups = {
        "weights, products, cache": ("weights", "cache", "attention"),
        "layers": ("layers",),
        "link": ("link",),
        "requests": ("requests",),
    }
    return {
        name: sum(value for term, value in found.items() if term.startswith(starts))
        for name, starts in groups.items()
    }
