"""Four kinds of attention: what one layer keeps of a text."""

from __future__ import annotations

from typing import Any, NamedTuple

from llmserve_lab.catalog.data.cache_layers import CACHE_LAYERS
from llmserve_lab.kv_memory.page.stills import FAR
from llmserve_lab.page.palette import GREEN, GREY, GRID, INK, PURPLE
from llmserve_lab.page.still import StaticFigure, figure_style

DRAWN = 10  # columns, one for each token that is drawn
LOOK = 3  # of them that a window still sees
KIB_HIGH = 2.0  # of a token in one layer, over the unit of the picture
MIB = float(1 << 20)


class Kind(NamedTuple):
    """A kind of attention: MiB that a layer keeps, bytes of a token, whose layer."""

    what: str
    mib: float
    token_bytes: float  # 0: a state, which has no tokens
    model: str


def kinds() -> dict[str, Kind]:
    """One layer of four models, with a text of ``FAR`` tokens."""
    llama, latent = CACHE_LAYERS["llama-3.1-8b"], CACHE_LAYERS["deepseek-v3"]
    gemma, mixed = CACHE_LAYERS["gemma-3-27b"], CACHE_LAYERS["qwen3-next-80b"]
    pair = llama.naive_token_bytes() / llama.layers
    short = latent.naive_token_bytes() / latent.layers
    window = gemma.window_token_bytes() / gemma.window_layers
    last = min(float(gemma.window), FAR)
    state = mixed.state_bytes() / mixed.state_layers
    return {
        "heads": Kind("keys and values", pair * FAR / MIB, pair, llama.name),
        "latent": Kind("latents", short * FAR / MIB, short, latent.name),
        "window": Kind("the last tokens", window * last / MIB, window, gemma.name),
        "state": Kind("one state", state / MIB, 0, mixed.name),
    }


@figure_style()
def kept() -> StaticFigure:
    """Four panels: columns are tokens of the text, and the last has a square."""
    from llmserve_lab.extras import pyplot as plt

    figure, panels = plt.subplots(1, 4, figsize=(4.3, 1.5), sharey=True)
    for axes, (name, kind) in zip(panels, kinds().items(), strict=True):
        if name == "state":
            axes.bar(DRAWN / 2, 4.0, width=6, color=PURPLE.light)
        else:
            _columns(axes, kind.token_bytes / 1024 / KIB_HIGH, name == "window")
        look: dict[str, Any] = {"ha": "center", "color": INK.light}
        axes.text(DRAWN / 2, 4.5, kind.what, fontsize=8.5, **look)
        axes.text(DRAWN / 2, -1.25, f"{kind.mib:.0f} MiB", weight="bold", **look)
        look["color"] = GREY.light
        axes.text(
            DRAWN / 2, -2.35, kind.model.replace("-A3B", ""), fontsize=7.5, **look
        )
        axes.set(xlim=(-0.6, DRAWN + 0.6), ylim=(-2.6, 5.4))
        axes.set_axis_off()
    return StaticFigure.of(
        figure,
        sentence=(
            "Each column is a token of a short text, as high as the bytes that one "
            "layer keeps of it; light: dropped (of a long text far more is). The state "
            f"is not to scale. Below: one layer, {FAR:,} tokens, two bytes a number."
        ),
        title="A layer keeps pairs, latents, last tokens, or a state",
        name="kv-memory.kinds",
    )


def _columns(axes: Any, high: float, window: bool) -> None:
    """A column for each token, light where the window has left it."""
    for token in range(DRAWN):
        ink = GRID if window and token < DRAWN - LOOK else GREEN
        axes.bar(token + 0.5, high, width=0.8, color=ink.light)
