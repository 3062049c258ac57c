"""The chapter's still pictures: the end of the cache, and one token term by term."""

from __future__ import annotations

import numpy as np

from llmserve_lab.formula.text import si
from llmserve_lab.how_wrong import decision, example, fairness
from llmserve_lab.how_wrong.factors import nested_held
from llmserve_lab.how_wrong.folds import NAMES
from llmserve_lab.how_wrong.page import expert_tables
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
    """TPOT of the example over its clients: prediction, band, what was measured."""
    from llmserve_lab.extras import pyplot as plt

    loads = decision.loads()
    clients: list[float] = [each.clients for each in loads]
    made = [1e3 * each.tpot.predicted_s for each in loads]
    factors = [each.tpot.factor for each in loads]
    figure, axes = plt.subplots(figsize=(3.8, 2.15))
    low = [one / by for one, by in zip(made, factors, strict=True)]
    high = [one * by for one, by in zip(made, factors, strict=True)]
    axes.fill_between(clients, low, high, color=SERIES[0].light, alpha=0.18, lw=0)
    axes.plot(clients, high, color=SERIES[0].light, lw=0.8)
    axes.plot(clients, made, color=SERIES[0].light)
    own = [1e3 * each.tpot.longest_s for each in decision.engine_loads()]
    axes.plot(clients, own, color=SERIES[2].light, ls="-.", lw=1)
    true = example.measured_ms()
    axes.plot(list(true), list(true.values()), "o", color=INK.light, ms=5, zorder=3)
    axes.axhline(1e3 * decision.TPOT_S, color=SERIES[1].light, ls="--")
    last, known = decision.planned(), decision.engine_known()
    ends = ((last, "right", 0.97), (known, "left", 1.03))
    for load, side, by in ends:
        axes.vlines(load.clients, 5, 1e3 * decision.TPOT_S, color=GREY.light, ls=":")
        axes.text(by * load.clients, 5.6, f"{load.clients}", ha=side, color=INK.light)
    words = (
        (f"promise: {1e3 * decision.TPOT_S:g} ms", (4, 20.8), SERIES[1]),
        ("book’s band", (4.1, 16.8), SERIES[0]),
        ("vLLM’s factor", (4.1, 13.95), SERIES[2]),
        ("measured", (4.2, 9.6), INK),
        ("predicted", (11.2, 9.9), SERIES[0]),
    )
    for said, (across, up), ink in words:
        axes.text(across, up, said, color=ink.light, fontweight="bold")
    axes.set(xscale="log", xlabel="clients (log)", ylabel="TPOT (ms)", ylim=(5, 27))
    axes.set_xticks(list(true), [str(each) for each in true])
    axes.minorticks_off()
    return StaticFigure.of(
        figure,
        sentence=(
            "Llama-3.1-70B (FP8) on four H100, vLLM. No constant has seen this model. "
            "Band and factor come from rows of other servers, some of this model; the "
            f"band’s power, {decision.power('tpot'):g}, was chosen on all rows."
        ),
        title=(
            f"vLLM’s factor allows {known.clients} clients, the book’s band "
            f"{last.clients}"
        ),
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


@figure_style()
def trust() -> StaticFigure:
    """Mean error of TPOT by what is new about a server, and that of the worst one."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.4, 1.8))
    lines = trusted()
    for place, (mean, worst) in enumerate(lines):
        all_rows, one = ("", "") if place else ("all", "worst server")
        axes.barh(-place, mean, 0.6, color=SERIES[0].light, label=all_rows)
        axes.text(mean + 0.3, -place, f"{mean:.1f}", va="center")
        axes.plot(worst, -place, "D", color=SERIES[1].light, ms=5, label=one)
        axes.text(worst + 0.8, -place, f"{worst:.1f}", va="center")
    axes.set(xlim=(0, 27), ylim=(0.5 - len(lines), 0.5))
    axes.set_xlabel("mean error of TPOT (%)")
    axes.set_yticks(range(0, -len(lines), -1), [f"new: {each}" for each in CASES])
    axes.grid(axis="y", visible=False)
    axes.legend(
        loc="lower center",
        ncols=2,
        bbox_to_anchor=(0.5, 1.0),
        handlelength=1,
        reverse=True,
    )
    runs, seen = fairness.between_runs("both"), len(dense_rows())
    least, most = lines[1][0], lines[-1][0]
    worsts = [worst for _, worst in lines[1:]]
    return StaticFigure.of(
        figure,
        sentence=(
            "What is new was kept out of the fit. First line: "
            f"{len(runs.after)} loads between two own runs of {len(set(runs.servers))} "
            f"servers, corrected by these runs. Other lines: all {seen} rows. Not "
            "drawn: a refused server; mixtures of experts, blind "
            f"{' to '.join(map(per_cent, expert_tables.span()))} off. Never tested: "
            "another vendor, the slowest requests, users who come at random."
        ),
        title=(
            f"Left out of the fit, a dense server is {least:.0f} to {most:.0f} % off "
            f"in the mean, the worst one {min(worsts):.0f} to {max(worsts):.0f} %"
        ),
        name="how_wrong.trust",
    )


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
