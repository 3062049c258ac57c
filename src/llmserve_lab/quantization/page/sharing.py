"""Still picture: what a token leaves in the cache if heads share keys and values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from llmserve_lab.catalog import MODELS
from llmserve_lab.catalog.records.attention import (
    GroupedQueryAttention,
    LatentAttention,
)
from llmserve_lab.page.palette import GREEN, GREY, INK
from llmserve_lab.page.still import StaticFigure, figure_style

BASE = MODELS["llama-3.1-8b"]  # its layers and query heads, with other attention
DRAWN = 8  # query heads, a quarter of those of the model
WIDE = {"MHA": 8, "GQA": 2, "MQA": 1, "MLA": 1}  # cached for the heads drawn
NAMES = {
    "MHA": "each its own",
    "GQA": "four share one",
    "MQA": "all share one",
    "MLA": "one short vector z",
}
HIGH, LOW = 2.2, 1.0  # where queries, and keys and values, are drawn


def attention_of(kind: str) -> GroupedQueryAttention | LatentAttention:
    """Attention of this kind with as many query heads as the book's model.

    MLA has the latent and the rotary key of DeepSeek-V3.
    """
    own = BASE.attention
    assert isinstance(own, GroupedQueryAttention)
    if kind == "MLA":
        latent = MODELS["deepseek-v3"].attention
        assert isinstance(latent, LatentAttention)
        return replace(latent, n_heads=own.n_heads)
    shared = {"MHA": own.n_heads, "GQA": own.n_kv_heads, "MQA": 1}[kind]
    return replace(own, n_kv_heads=shared)


def kib_per_token(kind: str) -> float:
    """KiB that a token leaves in the cache of all layers, in sixteen bits."""
    return 2 * BASE.n_layers * attention_of(kind).kv_elements / 1024


def _panel(axes: Any, kind: str) -> None:
    """Query heads above, what is cached below, and a line from each head to its own."""
    cached, latent = WIDE[kind], kind == "MLA"
    for head in range(DRAWN):
        at = (head * cached // DRAWN + 0.5) * DRAWN / cached - 0.5
        style = ":" if latent else "-"
        axes.plot([head, at], [HIGH, LOW], style, color=GREY.light, lw=0.9)
    axes.plot(range(DRAWN), [HIGH] * DRAWN, "o", color=INK.light, ms=5)
    for own in range(cached):
        at = (own + 0.5) * DRAWN / cached - 0.5
        width = 2.4 if latent else 0.72
        axes.bar(at, 0.62, width, bottom=LOW - 0.62, color=GREEN.light)
    axes.text(3.5, 0.1, NAMES[kind], ha="center", va="top", color=GREY.light,
              fontsize=8.5)  # fmt: skip
    axes.set(xlim=(-0.7, 7.7), ylim=(-0.5, 2.6))
    axes.set_title(kind, fontsize=9.5)
    axes.axis("off")


@figure_style()
def shared_heads() -> StaticFigure:
    """Four ways to cache for 32 query heads, and the bytes of a token in each."""
    from llmserve_lab.extras import pyplot as plt

    figure, panels = plt.subplots(
        2, 4, figsize=(5.6, 2.3), height_ratios=(1.5, 1), sharey="row"
    )
    sizes = {kind: kib_per_token(kind) for kind in WIDE}
    for kind, above, below in zip(WIDE, *panels, strict=True):
        _panel(above, kind)
        below.bar(0, sizes[kind], 0.5, color=GREEN.light)
        below.text(0, sizes[kind] + 25, f"{sizes[kind]:.0f} KiB", ha="center")
        below.set(xlim=(-1, 1), ylim=(0, 1.3 * max(sizes.values())))
        below.axis("off")
    said = ", ".join(f"{kind} {size:.0f} KiB" for kind, size in sizes.items())
    return StaticFigure.of(
        figure,
        sentence=(
            f"Above: query heads (circles, {DRAWN} of {BASE.attention.n_heads}) and "
            f"what a token leaves in the cache for them (boxes). Below: bytes of a "
            f"token in all {BASE.n_layers} layers, heads of 128 numbers, 16 bits: "
            f"{said}. Llama-3.1-8B has GQA; the others are its shape, changed."
        ),
        title="Heads that share what they cache leave fewer bytes a token",
        name="quantization.shared-heads",
    )
