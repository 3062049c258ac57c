"""The chapter's still pictures."""

from __future__ import annotations

import numpy as np

from llmserve_lab.formula.text import si
from llmserve_lab.how_wrong import decision, example, fairness
from llmserve_lab.how_wrong.factors import nested_held
from llmserve_lab.how_wrong.folds import NAMES
from llmserve_lab.how_wrong.page import blind_table, expert_tables, twin_blind
from llmserve_lab.how_wrong.page.other_tables import full_server
from llmserve_lab.how_wrong.pairs import (
    cache_requests,
    first_tokens_between,
    full_cache,
)
from llmserve_lab.how_wrong.record import row_errors
from llmserve_lab.how_wrong.term_by_term import terms
from llmserve_lab.how_wrong.wording import per_cent
from llmserve_lab.page.palette import GREY, INK, SERIES
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.validation import (
    DATASHEET,
    ServingConstants,
    achieved,
    dense_rows,
)


@figure_style()
def end_of_the_cache() -> StaticFigure:
    """TTFT against the clients: measured, predicted, and with an endless cache."""
    from llmserve_lab.extras import pyplot as plt

    found = full_cache()
    clients = [row.clients for row, _, _ in found]
    asked, made = first_tokens_between()
    figure, axes = plt.subplots(figsize=(3.8, 1.85))
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
    axes.set_ylim(0.03, 900)
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
            f"{si(first_full.ttft_s, 's')}. A predictor whose cache has no end misses "
            "the jump."
        ),
        title="The first token waits as soon as the cache is full",
        name="how_wrong.end_of_the_cache",
    )


@figure_style()
def band() -> StaticFigure:
    """TPOT of the example over its clients: predicted, with two factors, measured."""
    from llmserve_lab.extras import pyplot as plt

    loads = decision.loads()
    clients = [float(each.clients) for each in loads]
    made = [1e3 * each.tpot.predicted_s for each in loads]
    figure, axes = plt.subplots(figsize=(4.4, 2.15))
    high = [1e3 * each.tpot.longest_s for each in loads]
    axes.plot(clients, high, color=SERIES[3].light, ls="-")
    own = [1e3 * each.tpot.longest_s for each in decision.engine_loads()]
    axes.plot(clients, own, color=SERIES[2].light, ls="-.")
    axes.plot(clients, made, color=SERIES[0].light, ls="-")
    true = example.measured_ms()
    axes.plot(list(true), list(true.values()), "o", color=INK.light, ms=5, zorder=3)
    axes.axhline(1e3 * decision.TPOT_S, color=SERIES[1].light, ls="--")
    last, known = decision.planned(), decision.engine_known()
    for load in (last, known):
        axes.vlines(load.clients, 9, 1e3 * decision.TPOT_S, color=GREY.light, ls=":")
        axes.text(load.clients, 8.6, f"{load.clients}", ha="center", va="top")
    words = (
        (f"promise: {1e3 * decision.TPOT_S:g} ms", (4, 20.4), SERIES[1]),
        ("book’s band", (65, high[-1]), SERIES[3]),
        ("vLLM’s factor", (65, own[-1] - 0.5), SERIES[2]),
        ("predicted", (65, made[-1] - 1.2), SERIES[0]),
        ("measured", (3.2, 9.4), INK),
    )
    for said, (across, up), ink in words:
        axes.text(across, up, said, color=ink.light, fontweight="bold")
    axes.set(xlabel="clients", ylabel="TPOT (ms)", xlim=(2, 88), ylim=(7, 27))
    axes.set_xticks(list(true), [str(each) for each in true])
    axes.minorticks_off()
    return StaticFigure.of(
        figure,
        sentence=(
            "Llama-3.1-70B (FP8) on four H100, vLLM. No constant has seen this model. "
            "Upper lines: the prediction times the factor of vLLM and of the book’s "
            "band, from rows of other servers, some of this model; the band’s power, "
            f"{decision.power('tpot'):g}, was chosen on all rows."
        ),
        title=f"vLLM’s factor allows {known.clients} clients, "
        f"the book’s band {last.clients}",
        name="how_wrong.band",
    )


# What may be new about a server, and the label that is then left out of the fit.
CASES = {
    "a load": "",
    "a server": "server",
    "a kind of GPU": "system",
    "a model": "model",
    "an engine": "engine",
}
TRIED = {"left out of the fit": SERIES[0], "blind": SERIES[1]}


@figure_style()
def trust() -> StaticFigure:
    """Mean errors by what is new about a server: left out of a fit, and blind."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.4, 1.9))
    left = [(mean, mean) for mean, _ in trusted()[1:]]
    names = (f"new: {each}" for each in [*CASES][1:])
    lines = dict(zip(names, left, strict=True)) | blind_means()
    for place, (least, most) in enumerate(lines.values()):
        how = [*TRIED][place >= len(left)]
        label = how if place in (0, len(left)) else ""
        axes.barh(-place, most, 0.62, color=TRIED[how].light, label=label)
        said = "–".join(f"{each:.1f}" for each in sorted({least, most}))
        axes.text(most + 0.4, -place, said, va="center")
    axes.set(xlim=(0, 47), ylim=(0.5 - len(lines), 0.5), xlabel="mean error (%)")
    axes.set_yticks(range(0, -len(lines), -1), list(lines))
    axes.grid(axis="y", visible=False)
    axes.legend(loc="lower center", ncols=2, bbox_to_anchor=(0.4, 1.0), handlelength=1)
    means = [mean for mean, _ in left]
    ends = [each for both in blind_means().values() for each in both]
    return StaticFigure.of(
        figure,
        sentence=(
            f"Upper lines: TPOT of all {len(dense_rows())} rows of dense models, with "
            "what is new kept out of the fit. Lower lines: predicted before anybody "
            "had looked at the times; none is a dense server."
        ),
        title=(
            f"A dense server left out of the fit is {min(means):.0f} to "
            f"{max(means):.0f} % off; blind, the errors were {min(ends):.0f} to "
            f"{max(ends):.0f} %"
        ),
        name="how_wrong.trust",
    )


def blind_means() -> dict[str, tuple[float, float]]:
    """Least and largest mean error of what was predicted blind, in per cent."""
    alone = blind_table.means("fitted").values()
    twin = twin_blind.score().mean_error
    found = {
        "twin, decode steps": (twin, twin),
        "mixtures of experts": expert_tables.span(),
        "one GPU alone": (min(alone), max(alone)),
    }
    return {name: (100 * low, 100 * high) for name, (low, high) in found.items()}


def trusted() -> list[tuple[float, float]]:
    """Line by line: mean error of TPOT, and that of the worst server, in per cent."""
    runs = fairness.between_runs("both")
    sizes = [(runs.servers, runs.after)]
    servers = tuple(row.server for row in dense_rows())
    for label in filter(None, CASES.values()):
        sizes.append((servers, np.abs(row_errors("tpot", label))))
    return [
        (100 * float(size.mean()), 100 * fairness.worst_server(label, size))
        for label, size in sizes
    ]


LEFT_ENGINES = ("vllm", "trtllm", "sglang")
RULES = (("plain", 0.4), ("wide", 1.0))  # of a band; how dark
WORDS = {"plain": "plain band", "wide": "book’s band"}
THICK = 0.4  # of a bar, where the engines are one apart


@figure_style()
def held() -> StaticFigure:
    """Of each engine, left out: the share of its rows that two kinds of band held."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(3.8, 2.0))
    for place, engine in enumerate(LEFT_ENGINES):
        for at, (rule, dark) in enumerate(RULES):
            share, up = 100 * held_of(rule, engine), (0.5 - at) * THICK - place
            label = "" if place else WORDS[rule]
            axes.barh(
                up, share, 0.9 * THICK, color=SERIES[0].light, alpha=dark, label=label
            )
            axes.text(share + 1, up, f"{share:.0f}", va="center")
    axes.axvline(90, color=SERIES[1].light, ls="--", label="to hold: 90 %")
    axes.set(xlabel="rows of the left-out engine inside (%)", xlim=(0, 112))
    axes.set_xticks([0, 20, 40, 60, 80, 100])
    axes.grid(axis="y", visible=False)
    places = range(0, -len(LEFT_ENGINES), -1)
    axes.set_yticks(list(places), [NAMES[engine] for engine in LEFT_ENGINES])
    axes.legend(loc="lower center", ncols=3, bbox_to_anchor=(0.35, 1.0), handlelength=1)
    plain = per_cent(fairness.covered("engine", "tpot", rule="plain"), 0)
    wide = per_cent(nested_held("engine", "tpot"), 0)
    return StaticFigure.of(
        figure,
        sentence=(
            "Each engine is left out in its turn: of the constants, of the rows that "
            "make the band, and of those that choose its power. Of all these rows the "
            f"plain band held {plain} and the book’s band {wide}."
        ),
        title="A plain band holds far less than nine in ten rows of a new engine",
        name="how_wrong.held",
    )


def held_of(rule: str, engine: str) -> float:
    """Share of an engine's rows inside a band made without it; the power as well."""
    if rule == "wide":
        return nested_held("engine", "tpot", engine)
    return fairness.covered("engine", "tpot", rule=rule, name=engine)


MACHINES = ("datasheet", "book", "measured")
# Parts of a token's time: the terms they gather by their first words, and their inks.
PARTS = {
    "link": (("link",), SERIES[1]),
    "reading and computing": (("products", "cache", "attention"), SERIES[0]),
    "layers": (("layers",), SERIES[3]),
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
