"""Still pictures of the model: a block, its FFN, heads, parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from llmserve_lab.catalog import ModelShape
from llmserve_lab.end_to_end.arguments import cached_heads, parts_of
from llmserve_lab.page.palette import BLUE, GREEN, GREY, GRID, INK, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style

CHAPTER = "end_to_end"
CALLED = {"ffn": "FFNs", "head": "LM head"}  # parts as the text calls them


@figure_style()
def block() -> StaticFigure:
    """One block: the rows pass by above, two halves add to them from below."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.3, 1.9))
    _plain(axes, (0, 10.4), (0.6, 5.2))
    _arrow(axes, (0.1, 4.2), (10.3, 4.2), width=5)
    axes.text(0.1, 4.65, "rows in", color=GREY.light)
    axes.text(10.3, 4.65, "rows out", color=GREY.light, ha="right")
    axes.text(5.2, 4.65, "residual: the bypass", ha="center", weight="bold")
    for left, name, says in (
        (0.5, "attention", "rows look at\neach other"),
        (5.5, "FFN", "each row\nfor itself"),
    ):
        _half(axes, left, name, says, BLUE.light)
    return StaticFigure.of(
        figure,
        name=f"{CHAPTER}.block",
        title="A block adds to its rows, twice; it never replaces them",
        sentence=(
            "The thick line is the residual: the rows pass by. Attention and the FFN "
            "each read a normalised copy of the rows and add their result to them."
        ),
    )


def _half(axes: Any, left: float, name: str, says: str, ink: str) -> None:
    """Down from the residual, through a norm and the half itself, and back up."""
    _arrow(axes, (left, 4.2), (left, 2.35), ink=ink)
    _box(axes, (left - 0.35, 1.3, 1.2, 1.0), "norm", GREY.light)
    _arrow(axes, (left + 0.9, 1.8), (left + 1.45, 1.8), ink=ink)
    _box(axes, (left + 1.5, 0.9, 2.5, 1.8), f"{name}\n", ink)
    axes.text(left + 2.75, 1.4, says, ha="center", va="center", fontsize=9)
    _arrow(axes, (left + 3.5, 2.75), (left + 3.5, 4.0), ink=ink)
    axes.text(
        left + 3.5,
        4.2,
        "+",
        ha="center",
        va="center",
        weight="bold",
        fontsize=13,
        color=ink,
        bbox={"boxstyle": "circle,pad=0.15", "fc": GRID.light, "ec": ink},
    )


SILU = ((-4.0, VERMILLION), (2.0, GREEN))  # what the two gates of the example give
UP = 3.0  # and what up gives in both


def silu(z: Any) -> Any:
    """The bend of SwiGLU: z over 1 + exp(−z)."""
    return z / (1 + np.exp(-z))


@figure_style()
def bend() -> StaticFigure:
    """The way of a row through SwiGLU, and the bend with two gates on it."""
    from llmserve_lab.extras import pyplot as plt

    figure, (above, axes) = plt.subplots(
        2, 1, figsize=(4.5, 2.4), height_ratios=(0.9, 1.2)
    )
    _plain(above, (0, 10), (0.2, 3.3))
    above.text(0, 1.7, "row", va="center", weight="bold")
    for y, name in ((2.7, "gate"), (0.7, "up")):
        _arrow(above, (0.95, 1.7), (1.75, y))
        _box(above, (1.85, y - 0.4, 1.4, 0.8), name, BLUE.light)
    _arrow(above, (3.35, 2.7), (4.15, 2.7))
    _box(above, (4.25, 2.3, 1.4, 0.8), "bend", BLUE.light)
    _arrow(above, (5.75, 2.7), (6.6, 1.95))
    _arrow(above, (3.35, 0.7), (6.6, 1.5))
    above.text(6.8, 1.7, "×", ha="center", va="center", weight="bold", fontsize=14)
    _arrow(above, (7.05, 1.7), (7.75, 1.7))
    _box(above, (7.85, 1.3, 1.6, 0.8), "down", BLUE.light)
    z = np.linspace(-6, 4, 31)
    axes.plot(z, silu(z), color=INK.light)
    for gate, ink in SILU:
        axes.plot([gate], [silu(gate)], "o", color=ink.light)
        side = "right" if gate > 0 else "center"
        said = f"gate {gate:g} → {_signed(silu(gate))}\n× {UP:g} = "
        said += _signed(UP * silu(gate))
        place = (gate - 0.3, silu(gate) + 0.3) if gate > 0 else (gate, 0.45)
        axes.text(*place, said.replace("-", "−"), ha=side, color=ink.light, fontsize=9)
    axes.set(xlim=(-6, 4), ylim=(-0.6, 4), xticks=[-6, -4, -2, 0, 2, 4])
    axes.set_yticks([0, 2, 4])
    axes.set_xlabel("what the gate gives")
    axes.set_ylabel("bent")
    low, high = (UP * float(silu(gate)) for gate, _ in SILU)
    return StaticFigure.of(
        figure,
        name=f"{CHAPTER}.bend",
        title="SwiGLU: a gate decides what goes on",
        sentence=(
            f"Where up gives {UP:g}, a gate of 2 hands {high:.2f} on to down, and a "
            f"gate of −4 only {low:.2f}: nearly nothing.".replace("-", "−")
        ),
    )


def _signed(number: float) -> str:
    """Two digits after the point; three where the number is nearly nothing."""
    return f"{number:.{3 if abs(number) < 1 else 2}f}"


@figure_style()
def heads(model: ModelShape) -> StaticFigure:
    """Query heads above the key–value heads that they share."""
    from llmserve_lab.extras import pyplot as plt

    attention = cached_heads(model)
    n, shared = attention.n_heads, attention.n_kv_heads
    figure, axes = plt.subplots(figsize=(4.0, 1.15))
    _plain(axes, (-0.2, n + 0.2), (0, 4.2))
    each = n // shared
    look: dict[str, Any] = {"edgecolor": "none"}
    above = [(i + 0.12, 0.76) for i in range(n)]
    axes.broken_barh(above, (2.6, 0.76), facecolor=VERMILLION.light, **look)
    below = [(j * each + each / 2 - 0.9, 1.8) for j in range(shared)]
    axes.broken_barh(below, (0.9, 0.76), facecolor=GREEN.light, **look)
    across, down = list[float](), list[float]()  # one line, lifted between two heads
    for i in range(n):
        across += [i + 0.5, i // each * each + each / 2, math.nan]
        down += [2.6, 1.66, math.nan]
    axes.plot(across, down, color=GREY.light, lw=0.8, ls="-")
    axes.text(0, 3.6, f"{n} query heads", color=VERMILLION.light, weight="bold")
    axes.text(0, 0.2, f"{shared} key–value heads", color=GREEN.light, weight="bold")
    return StaticFigure.of(
        figure,
        name=f"{CHAPTER}.heads",
        title=f"{model.name}: {each} query heads share one key–value head",
        sentence=(
            f"{n} query heads, {shared} key–value heads: the cache is {each} times "
            "smaller than if each query head had keys and values of its own."
        ),
    )


@figure_style()
def parameters(model: ModelShape) -> StaticFigure:
    """How the parameters of a model are shared out: one bar."""
    from llmserve_lab.extras import pyplot as plt

    parts = parts_of(model)
    total = sum(parts.values())
    figure, axes = plt.subplots(figsize=(3.8, 1.2))
    left = 0.0
    inks = {"embedding": GREY, "attention": VERMILLION, "ffn": BLUE, "head": GREEN}
    for name, ink in inks.items():
        width = parts[name] / 1e9
        look: dict[str, Any] = {"color": ink.light, "edgecolor": GRID.light, "lw": 2}
        axes.barh(0, width, left=left, height=0.6, **look)
        label = f"{CALLED.get(name, name)}\n{width:.2f}"
        if name == "embedding":  # too narrow for its name: beside the bar
            axes.text(-0.15, 0, label, ha="right", va="center", fontsize=9)
        else:
            look = {"ha": "center", "va": "bottom", "fontsize": 9}
            axes.text(left + width / 2, 0.4, label, **look)
        left += width
    axes.set(ylim=(-0.4, 1.2), xlim=(-2.1, left + 0.6), yticks=[])
    axes.set_xticks(range(0, 9, 2))
    axes.spines["bottom"].set_bounds(0, left)
    axes.set_xlabel("parameters (billions)")
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    share = parts["ffn"] / total
    return StaticFigure.of(
        figure,
        name=f"{CHAPTER}.parameters",
        title=f"Most of {model.name} is its FFNs",
        sentence=(
            f"Of {total / 1e9:.2f} billion parameters, {share:.0%} are in the FFNs of "
            f"its {model.n_layers} blocks, {parts['attention'] / total:.0%} in "
            "attention."
        ),
    )


def _plain(axes: Any, x: tuple[float, float], y: tuple[float, float]) -> None:
    axes.set(xlim=x, ylim=y)
    axes.axis("off")


def _arrow(
    axes: Any,
    start: tuple[float, float],
    end: tuple[float, float],
    *,
    ink: str = INK.light,
    width: float = 1.6,
) -> None:
    look = {"arrowstyle": "-|>", "color": ink, "lw": width, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=end, xytext=start, arrowprops=look)


def _box(axes: Any, at: tuple[float, float, float, float], text: str, ink: str) -> None:
    from llmserve_lab.extras import patches

    x, y, width, height = at
    look: dict[str, Any] = {"facecolor": GRID.light, "edgecolor": ink, "lw": 1.6}
    axes.add_patch(
        patches.FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0.05", **look)
    )
    middle = {"ha": "center", "va": "center", "weight": "bold"}
    axes.text(x + width / 2, y + height / 2, text, **middle)
