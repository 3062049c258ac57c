"""The chapter's still pictures: waste, layers of several kinds, routing."""

from __future__ import annotations

from llmserve_lab.catalog.data.cache_layers import CACHE_LAYERS
from llmserve_lab.kv_memory.serving import ROUTINGS, routed
from llmserve_lab.kv_memory.waste import LIMIT, SERVICES, wasted
from llmserve_lab.page.palette import BLUE, GREEN, GRID, INK, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style

BLOCK = 16
FAR = 32_768  # tokens of the request whose cache is compared
GIB = float(1 << 30)


def shares(service: str) -> dict[str, float]:
    """Share of what is set aside that holds a token, by the way of setting aside."""
    found = wasted(service)
    return {
        f"reserved: {LIMIT:,} tokens": found.share(found.contiguous),
        "reserved: power of two": found.share(found.powers),
        f"paged: blocks of {max(found.paged)}": found.share(found.paged[256]),
        f"paged: blocks of {BLOCK}": found.share(found.paged[BLOCK]),
    }


@figure_style()
def waste() -> StaticFigure:
    """Bars of used memory, a bar a way, for the conversation service."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(3.9, 2.2))
    found = shares(SERVICES[0])
    names, used = list(found), list(found.values())
    axes.barh(names, used, color=GREEN.light)
    axes.barh(names, [1 - x for x in used], left=used, color=GRID.light)
    for row, share in enumerate(used):
        inside = share > 0.3
        axes.text(
            share - 0.02 if inside else share + 0.03,
            row,
            f"{share:.1%}" if share > 0.95 else f"{share:.0%}",
            ha="right" if inside else "left",
            va="center",
            color="white" if inside else INK.light,
        )
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.set(xlim=(0, 1))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("share that holds a token")
    said = "; ".join(f"{name}: {share:.1%}" for name, share in found.items())
    return StaticFigure.of(
        figure,
        sentence=f"Used share, prompts of the conversation trace: {said}.",
        title="Reserving for the longest leaves most of the cache empty",
        name="kv-memory.waste",
    )


def rows() -> list[tuple[str, float, float]]:
    """Models, GiB of one long request, and GiB if every layer kept every token."""
    found = [
        (each.name, each.request_bytes(FAR) / GIB, each.naive_token_bytes() * FAR / GIB)
        for each in CACHE_LAYERS.values()
        if each.shape is None or (each.shape.max_context or 0) >= FAR
    ]
    return sorted(found, key=lambda row: -row[2])


@figure_style()
def layers() -> StaticFigure:
    """GiB of cache of one request, and what a count of all layers would say."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(3.9, 3.5))
    names = [name for name, _, _ in rows()]
    kept = [here for _, here, _ in rows()]
    naive = [most for _, _, most in rows()]
    axes.barh(names, naive, color=GRID.light, label="if every layer kept every token")
    axes.barh(names, kept, color=GREEN.light, label="what the layers keep")
    for row, (here, most) in enumerate(zip(kept, naive, strict=True)):
        more = "" if most < 1.01 * here else f" of {most:.1f}"
        axes.text(
            max(here, most) + 0.2,
            row,
            f"{here:.1f}{more}",
            va="center",
            color=INK.light,
        )
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set(xlim=(0, 21))
    axes.set_xlabel(f"GiB of one request of {FAR:,} tokens")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2)
    worst = max(rows(), key=lambda row: row[2] / row[1])
    return StaticFigure.of(
        figure,
        sentence=(
            f"A request of {FAR:,} tokens keeps {worst[1]:.1f} GiB in {worst[0]}; "
            f"counting every layer would say {worst[2]:.1f} GiB. Where no gray is "
            "seen, all layers keep all tokens (latent attention, too, in fewer bytes)."
        ),
        title="Counting every layer overstates models with windows or states",
        name="kv-memory.layers",
    )


@figure_style()
def routing() -> StaticFigure:
    """Hit rate and time to first token under two routings, on one trace."""
    from llmserve_lab.extras import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(3.9, 1.9))
    found = {name: routed(name) for name in ROUTINGS}
    inks = (VERMILLION.light, BLUE.light)
    names = list(found)
    hits = [100 * each.hit_share for each in found.values()]
    waits = [1e3 * each.ttft_s for each in found.values()]
    for axes, values, unit in ((left, hits, " %"), (right, waits, " ms")):
        axes.barh(names, values, color=inks)
        for row, value in enumerate(values):
            short = value < 0.3 * max(values)
            axes.text(
                value * 1.1 if short else value / 2,
                row,
                f"{value:.0f}{unit}",
                va="center",
                ha="left" if short else "center",
                color=INK.light if short else "white",
            )
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
    right.set_yticklabels([])
    left.set(xlim=(0, 100), xlabel="prompt tokens found (%)")
    right.set_xlabel("median time to\nfirst token (ms)")
    said = "; ".join(
        f"{name}: {each.hit_share:.0%} found, {1e3 * each.ttft_s:.0f} ms "
        f"(mean {1e3 * each.ttft_mean_s:.0f} ms, P95 {1e3 * each.ttft_p95_s:.0f} ms)"
        for name, each in found.items()
    )
    return StaticFigure.of(
        figure,
        sentence=f"Prompt tokens found and median time to first token: {said}.",
        title="The replica that knows the prompt answers sooner",
        name="kv-memory.routing",
    )
