"""The chapter's still pictures."""

from __future__ import annotations

from llmserve_lab.formula.text import si
from llmserve_lab.how_wrong import decision, example, fairness
from llmserve_lab.how_wrong.factors import nested_held, nested_power
from llmserve_lab.how_wrong.folds import NAMES
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
from llmserve_lab.validation import (
    DATASHEET,
    ServingConstants,
    achieved,
)
from llmserve_lab.validation.bands import INSIDE


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
    promise = 1e3 * decision.TPOT_S
    unknown, known = decision.planned(), decision.engine_known()
    hope = decision.hoped()
    figure, axes = plt.subplots(figsize=(4.4, 1.9))
    widened = (
        ("engine not known", loads, unknown, SERIES[3], (36, 20.5), "right"),
        ("engine known", decision.engine_loads(), known, SERIES[2], (42, 21.8), "left"),
    )
    for said, found, plan, ink, at, side in widened:
        kept = [each for each in found if each.clients <= plan.clients]
        longest = [1e3 * each.tpot.longest_s for each in kept]
        axes.plot([each.clients for each in kept], longest, color=ink.light, ls="-")
        axes.plot(plan.clients, longest[-1], "o", color=ink.light, ms=6)
        text = f"{said}: {plan.clients}"
        axes.text(*at, text, color=ink.light, fontweight="bold", ha=side)
    between = decision.measured_loads()  # a straight line, nearly
    made = [1e3 * each.tpot.predicted_s for each in between]
    axes.plot([each.clients for each in between], made, color=SERIES[0].light, ls="-")
    true = example.measured_ms()
    axes.plot(list(true), list(true.values()), "o", color=INK.light, ms=5, zorder=3)
    axes.axhline(promise, color=SERIES[1].light, ls="--")
    words = (
        (f"promise: {promise:g} ms", (47, promise + 0.3), SERIES[1]),
        ("predicted", (47, 14.6), SERIES[0]),
        ("measured", (3.2, 9.4), INK),
    )
    for said, (across, up), ink in words:
        axes.text(across, up, said, color=ink.light, fontweight="bold")
    axes.set(xlabel="clients", ylabel="TPOT (ms)", xlim=(2, 70), ylim=(8, 23))
    axes.set_xticks(list(true), [str(each) for each in true])
    axes.set_yticks([10, 15, 20])
    axes.minorticks_off()
    return StaticFigure.of(
        figure,
        sentence=(
            "Llama-3.1-70B (FP8) on four H100, vLLM. Engine known: the prediction "
            "times vLLM’s factor; not known: times that of the book’s band. Both are "
            "from rows of other servers, some of this model."
        ),
        title=f"Planned: {known.clients} clients; measured, "
        f"{hope.clients} kept the promise",
        name="how_wrong.band",
    )


LEFT_ENGINES = ("vllm", "trtllm", "sglang")
RULES = (("plain", 0.25), ("even", 0.55), ("wide", 1.0))  # of a band; how dark
WORDS = {"plain": "plain band", "even": "symmetric band", "wide": "book’s band"}
THICK = 0.28  # of a bar, where the engines are one apart


@figure_style()
def held() -> StaticFigure:
    """Of each engine, left out: the share of its rows that three kinds of band held."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.2, 2.05))
    for place, engine in enumerate(LEFT_ENGINES):
        for at, (rule, dark) in enumerate(RULES):
            share, up = 100 * held_of(rule, engine), (1 - at) * THICK - place
            label = "" if place else WORDS[rule]
            axes.barh(
                up, share, 0.9 * THICK, color=SERIES[0].light, alpha=dark, label=label
            )
            axes.text(share + 1.8, up, f"{share:.0f}", va="center")
    axes.axvline(90, color=SERIES[1].light, ls="--", label="to hold: 90 %")
    axes.set(xlabel="rows of the left-out engine inside (%)", xlim=(0, 113))
    axes.set_xticks([0, 20, 40, 60, 80, 100])
    axes.grid(axis="y", visible=False)
    places = range(0, -len(LEFT_ENGINES), -1)
    axes.set_yticks(list(places), [NAMES[engine] for engine in LEFT_ENGINES])
    axes.legend(loc="lower center", ncols=2, bbox_to_anchor=(0.4, 1.0), handlelength=1)
    plain, even, wide = (per_cent(held_of(rule), 0) for rule, _ in RULES)
    raised = ", ".join(
        f"{nested_power('engine', 'tpot', engine):g} for {NAMES[engine]}"
        for engine in LEFT_ENGINES
    )
    (missed,) = (
        NAMES[engine]
        for engine in LEFT_ENGINES
        if max(held_of(rule, engine) for rule, _ in RULES) < INSIDE
    )
    return StaticFigure.of(
        figure,
        sentence=(
            "TPOT. Each engine is left out in its turn: of the constants, of the rows "
            "that make the band, and of those that choose its exponent. The exponents "
            f"were {raised}. Of all these rows the plain band held {plain}, the "
            f"symmetric band {even}, and the book’s band {wide}."
        ),
        title=f"No band holds nine in ten rows of {missed}, if it is left out",
        name="how_wrong.held",
    )


def held_of(rule: str, engine: str | None = None) -> float:
    """Share of an engine's rows, or of all, in bands made without the engine.

    The exponent of the book's was chosen without it as well.
    """
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
