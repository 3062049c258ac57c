"""Four kinds of attention: what one layer keeps of a text."""

from __future__ import annotations

from typing import Any, NamedTuple

from llmserve_lab.catalog.data.cache_layers import CACHE_LAYERS
from llmserve_lab.kv_memory.page.stills import FAR
from llmserve_lab.page.palette import GREEN, GREY, GRID, INK, PURPLE
from llmserve_lab.page.still import StaticFigure, figure_style

DRAWN = 10  # columns, each a tenth of the text
KIB_HIGH = 2.0  # of a token in one layer, over the unit of the picture
BROAD = 0.8  # of a column
MIB = float(1 << 20)
AREA = DRAWN * BROAD * MIB / FAR / 1024 / KIB_HIGH  # of the picture, for a MiB
WIDE = 0.5  # of the state


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
    """Four panels, in which an area stands for the same bytes."""
    from llmserve_lab.extras import pyplot as plt

    figure, panels = plt.subplots(1, 4, figsize=(4.3, 1.5), sharey=True)
    for axes, (name, kind) in zip(panels, kinds().items(), strict=True):
        if name == "state":
            axes.bar(DRAWN / 2, kind.mib * AREA / WIDE, width=WIDE, color=PURPLE.light)
        else:
            _columns(axes, kind)
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
            f"One layer and a text of {FAR:,} tokens, two bytes a number. Each column "
            "is a tenth of the text, as high as the bytes of a token. Coloured: what "
            "is kept, its area in proportion to the MiB below it. Light: dropped."
        ),
        title="A layer keeps pairs, latents, last tokens, or a state",
        name="kv-memory.kinds",
    )


def _columns(axes: Any, kind: Kind) -> None:
    """A column for each tenth of the text, coloured from its end as far as is kept."""
    high = kind.token_bytes / 1024 / KIB_HIGH
    held = kind.mib * AREA / high / BROAD  # columns
    for tenth in range(DRAWN):
        left = tenth + (1 - BROAD) / 2
        part = min(max(held - (DRAWN - 1 - tenth), 0), 1)
        sides = {GRID: (0, 1 - part), GREEN: (1 - part, part)}  # from where, how broad
        for ink, (start, broad) in sides.items():
            if broad > 1e-9:
                at, wide = left + BROAD * start, BROAD * broad
                axes.bar(at, high, width=wide, color=ink.light, align="edge")
