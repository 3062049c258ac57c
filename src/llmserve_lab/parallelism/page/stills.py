"""The chapter's still picture: eight GPUs in five layouts, in decode and in prefill."""

from __future__ import annotations

from collections.abc import Callable

from llmserve_lab import catalog
from llmserve_lab.page.palette import BLUE, GREEN, INK, VERMILLION, Ink
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.parallelism.deployments import LAYOUTS, SERVER, GpuLayout, eight

BETWEEN = "infiniband-ndr"
REQUESTS, CONTEXT, CHUNK, PROMPT = 64, 1000, 2048, 8192
ONE_PORT = "TP 8, one port"
SHOWN = ("TP 8", ONE_PORT, *(name for name in LAYOUTS if name != "TP 8"))


def layout(name: str) -> GpuLayout:
    """One of those shown, two servers joined by 400 Gb/s ports."""
    link = catalog.link(BETWEEN)
    if name == ONE_PORT:
        return eight("TP 8", link, nics=1)
    return eight(name, link, nics=SERVER)


def decode_ms(name: str, requests: int = REQUESTS) -> float:
    """Milliseconds from token to token."""
    return 1e3 * layout(name).decode(requests, CONTEXT).token_s


def prefill_rate(name: str) -> float:
    """Prompt tokens per second."""
    return layout(name).prefill_rate(CHUNK)


def first_ms(name: str) -> float:
    """Milliseconds until the first token of one prompt, nothing else running."""
    return 1e3 * layout(name).first_token_s(PROMPT, CHUNK)


Panel = tuple[str, Callable[[str], float], Ink, bool]
PANELS: tuple[Panel, ...] = (
    (f"decode, {REQUESTS} requests: ms from token to token", decode_ms, BLUE, False),
    (
        "prefill, prompt after prompt: thousand tokens/s",
        lambda name: prefill_rate(name) / 1e3,
        VERMILLION,
        True,
    ),
    (f"one prompt of {PROMPT:,} tokens: ms to first token", first_ms, GREEN, False),
)


@figure_style()
def eight_gpus() -> StaticFigure:
    """Decode, prefill and one prompt: a panel each, a bar a layout, the best framed."""
    from llmserve_lab.extras import pyplot as plt

    figure, panels = plt.subplots(3, 1, figsize=(4.8, 5.2))
    for axes, (title, value, ink, long_is_good) in zip(panels, PANELS, strict=True):
        values = [value(name) for name in SHOWN]
        best = (max if long_is_good else min)(values)
        bars = axes.barh(SHOWN, values, color=ink.light, height=0.72)
        bars[values.index(best)].set(edgecolor=INK.light, linewidth=2)
        axes.invert_yaxis()
        axes.grid(visible=False)
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        axes.set_title(
            f"{title}\n({'long' if long_is_good else 'short'} is good)",
            fontsize=10,
            loc="left",
        )
        axes.set_xlim(0, 1.2 * max(values))
        form = "{:.1f}" if best < 100 else "{:.0f}"
        for place, each in enumerate(values):
            axes.annotate(
                form.format(each),
                (each, place),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                fontsize=10,
                fontweight="bold" if each == best else "normal",
            )
    return StaticFigure.of(
        figure,
        sentence=_sentence(),
        title="The pipeline of eight reads prompts fastest, and decodes slowest",
        name="parallelism.eight-gpus",
    )


def _sentence() -> str:
    """What the picture assumes, and who wins."""
    quick, rich = min(SHOWN, key=decode_ms), max(SHOWN, key=prefill_rate)
    return (
        f"Predicted: Llama-3.1-70B in BF16 on eight H100 in two servers of {SERVER}, a "
        f"400 Gb/s port for each GPU. All-reduces of TP 8 use all {SERVER} ports of a "
        "server, or only one (second bar). The best bar of each panel is framed. "
        f"{REQUESTS} requests with {CONTEXT:,} tokens in cache each get tokens soonest "
        f"with {quick} ({decode_ms(quick):.1f} ms), replicas and TP 4 × PP 2 close "
        f"behind; prompts in chunks of {CHUNK:,} are read fastest with {rich} "
        f"({prefill_rate(rich):,.0f} tokens/s)."
    )
