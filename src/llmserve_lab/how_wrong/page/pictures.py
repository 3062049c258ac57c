"""The chapter's still pictures: the end of the cache, and one token term by term."""

from __future__ import annotations

from llmserve_lab.formula.text import si
from llmserve_lab.how_wrong import decision, example, fairness
from llmserve_lab.how_wrong.folds import NAMES
from llmserve_lab.how_wrong.page.charts import ENGINE_INKS
from llmserve_lab.how_wrong.page.other_tables import full_server
from llmserve_lab.how_wrong.pairs import (
    cache_requests,
    first_tokens_between,
    full_cache,
)
from llmserve_lab.how_wrong.term_by_term import terms
from llmserve_lab.how_wrong.wording import per_cent
from llmserve_lab.page.palette import GREY, INK, SERIES
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.validation import DATASHEET, ServingConstants, achieved


@figure_style()
def end_of_the_cache() -> StaticFigure:
    """TTFT against the clients: measured, predicted, and with an endless cache."""
    from llmserve_lab.extras import pyplot as plt

    found = full_cache()
    clients = [row.clients for row, _, _ in found]
    asked, made = first_tokens_between()
    figure, axes = plt.subplots(figsize=(3.8, 2.2))
    axes.plot(asked, made, color=SERIES[0].light, ls="-")
    free = [each for _, _, each in found]
    axes.plot(clients, free, color=SERIES[1].light, ls=":")
    waits = [row.ttft_s for row, _, _ in found]
    axes.plot(clients, waits, "o", color=INK.light, ms=5)
    words = (
        ("measured", (4, waits[0]), INK, (0, -13), "left"),
        ("predicted", (asked[-3], made[-3]), SERIES[0], (-8, 0), "right"),
        ("predicted,\nendless cache", (150, 0.5), SERIES[1], (0, -20), "right"),
    )
    for name, at, ink, by, side in words:
        axes.annotate(
            name,
            at,
            xytext=by,
            textcoords="offset points",
            ha=side,
            color=ink.light,
            fontweight="bold",
        )
    axes.set(xscale="log", yscale="log", xlabel="clients (log)", ylabel="TTFT (s, log)")
    axes.set_ylim(0.05, 900)
    axes.set_xticks(clients, [str(each) for each in clients])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.minorticks_off()
    room = cache_requests(found[0][0])
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
def band() -> StaticFigure:
    """TPOT of the example over its clients: prediction, band, what was measured."""
    from llmserve_lab.extras import pyplot as plt

    loads = decision.loads()
    clients: list[float] = [each.clients for each in loads]
    made = [1e3 * each.tpot.predicted_s for each in loads]
    factors = [each.tpot.factor for each in loads]
    plain = [each ** (1 / decision.power("tpot")) for each in factors]
    figure, axes = plt.subplots(figsize=(3.8, 1.9))
    for wide, alpha in ((factors, 0.18), (plain, 0.28)):
        low = [one / by for one, by in zip(made, wide, strict=True)]
        high = [one * by for one, by in zip(made, wide, strict=True)]
        axes.fill_between(clients, low, high, color=SERIES[0].light, alpha=alpha, lw=0)
    axes.plot(clients, made, color=SERIES[0].light)
    true = example.measured_ms()
    axes.plot(list(true), list(true.values()), "o", color=INK.light, ms=5, zorder=3)
    axes.axhline(1e3 * decision.TPOT_S, color=SERIES[1].light, ls="--")
    last, hope = decision.planned(), decision.hoped()
    axes.vlines(last.clients, 7, 1e3 * last.tpot.longest_s, color=GREY.light, ls=":")
    words = (
        (f"{last.clients}", (last.clients * 1.02, 7.3), GREY),
        (f"promise: {1e3 * decision.TPOT_S:g} ms", (4, 20.7), SERIES[1]),
        ("band", (4.2, 13.2), SERIES[0]),
        ("measured", (8.6, 9.6), INK),
        ("predicted", (37, 11.4), SERIES[0]),
    )
    for said, (across, up), ink in words:
        axes.text(across, up, said, color=ink.light, fontweight="bold")
    axes.set(xscale="log", xlabel="clients (log)", ylabel="TPOT (ms)", ylim=(7, 27))
    axes.set_xticks(list(true), [str(each) for each in true])
    axes.minorticks_off()
    return StaticFigure.of(
        figure,
        sentence=(
            "Llama-3.1-70B (FP8) on four H100, vLLM. Dark: the factor of the nearest "
            f"rows; pale: the band. With {last.clients} clients the band ends at "
            f"{1e3 * last.tpot.longest_s:.1f} ms, with {hope.clients} at "
            f"{1e3 * hope.tpot.longest_s:.1f} ms."
        ),
        title=(
            f"With up to {last.clients} clients the whole band keeps the promise, with "
            f"{hope.clients} it does not"
        ),
        name="how_wrong.band",
    )


NEAR_ENGINES = ("vllm", "trtllm")  # those of the nearest rows, in the order drawn
RULES = (("plain", 0.45), ("even", 0.65), ("wide", 0.9))  # of a band; how dark


@figure_style()
def near_errors() -> StaticFigure:
    """Predicted over measured of the nearest rows, and three bands made from them."""
    from llmserve_lab.extras import pyplot as plt

    rows, error = decision.near_rows("tpot", example.rows()[3])
    figure, axes = plt.subplots(figsize=(3.8, 1.8))
    places = []
    for place, engine in enumerate(NEAR_ENGINES):
        own = 1 + error[[row.engine == engine for row in rows]]
        spread = [4.2 - place + 0.09 * (i % 5 - 2) for i in range(len(own))]
        axes.plot(own, spread, "o", ms=3, alpha=0.7, color=ENGINE_INKS[engine].light)
        places.append((4.2 - place, NAMES[engine]))
    for place, (rule, dark) in enumerate(RULES):
        low, high = decision.near_band(rule)
        up = 2 - 0.9 * place
        axes.barh(up, high - low, 0.5, low, color=GREY.light, alpha=dark)
        held = per_cent(fairness.covered("engine", "tpot", rule=rule), 0)
        axes.text(1.36, up, held, va="center", fontweight="bold")
        places.append((up, WORDS[rule]))
    axes.axvline(1, color=INK.light, lw=0.8)
    axes.text(1.36, 3.1, "holds", va="center")
    axes.set(xscale="log", xlabel="predicted / measured (log)", xlim=(0.72, 1.52))
    axes.set_xticks([0.8, 1, 1.25], ["0.8", "1", "1.25"])
    axes.minorticks_off()
    axes.set_yticks([up for up, _ in places], [name for _, name in places])
    axes.grid(axis="y", visible=False)
    return StaticFigure.of(
        figure,
        sentence=(
            f"Dots: TPOT of the {len(rows)} nearest rows. Bars: three bands made from "
            "them. At the right: the share of the rows of an engine, left out of "
            "everything, that such bands held."
        ),
        title="vLLM’s rows lie left of 1 and TensorRT-LLM’s right, so a new engine "
        "needs a wide band",
        name="how_wrong.near_errors",
    )


WORDS = {"plain": "plain", "even": "even", "wide": "the book’s"}
MACHINES = ("datasheet", "book", "measured")
# Parts of a token's time: the terms they gather by their first words, and their inks.
PARTS = {
    "memory and products": (("weights", "cache", "attention"), SERIES[0]),
    "layers": (("layers",), SERIES[3]),
    "link": (("link",), SERIES[1]),
    "requests": (("requests",), SERIES[2]),
}


@figure_style()
def token() -> StaticFigure:
    """One token's time by datasheet, by the book's terms, and measured."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(3.8, 1.85))
    measured = example.measured_ms()[example.CLIENTS]
    totals = []
    for place, reached in ((2, DATASHEET), (1, achieved())):
        left = 0.0
        for name, value in parts_ms(reached).items():
            label, ink = (name if place == 1 else ""), PARTS[name][1]
            axes.barh(place, value, 0.62, left, label=label, color=ink.light)
            left += value
        totals.append(left)
    axes.barh(0, measured, color=GREY.light, height=0.62)
    for place, value in zip((2, 1, 0), (*totals, measured), strict=True):
        axes.text(value + 0.2, place, f"{value:.1f} ms", va="center")
    axes.set_yticks((2, 1, 0), MACHINES)
    axes.set(xlabel="time per output token (ms)", xlim=(0, 1.25 * measured))
    axes.grid(axis="y", visible=False)
    axes.legend(loc="lower center", ncols=2, bbox_to_anchor=(0.4, 1.0), handlelength=1)
    layers = parts_ms(achieved())["layers"]
    return StaticFigure.of(
        figure,
        sentence=(
            f"{example.CLIENTS} clients: the datasheet promises {totals[0]:.1f} ms a "
            f"token and the book {totals[1]:.1f} ms, of which {layers:.1f} ms are time "
            f"per layer; {measured:.1f} ms were measured."
        ),
        title="Most of the missing time is fitted as a time per layer",
        name="how_wrong.token",
    )


def parts_ms(reached: ServingConstants) -> dict[str, float]:
    """The terms of a machine in four parts, in ms."""
    found = {each.name: 1e3 * each.seconds for each in terms(reached)}
    return {
        name: sum(value for term, value in found.items() if term.startswith(starts))
        for name, (starts, _) in PARTS.items()
    }
