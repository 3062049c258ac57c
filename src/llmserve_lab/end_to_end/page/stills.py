"""The chapter's still picture: the mask under which a run executed its attention."""

from __future__ import annotations

from typing import Any

from llmserve_lab.end_to_end.shapes import seen_mask
from llmserve_lab.end_to_end.toy import spell, toy
from llmserve_lab.page.palette import BLUE, GREY
from llmserve_lab.page.still import StaticFigure, figure_style


@figure_style()
def causal_mask(tokens: list[int]) -> StaticFigure:
    """Which position sees which, as the model really ran it."""
    from llmserve_lab.extras import patches
    from llmserve_lab.extras import pyplot as plt

    mask = seen_mask(toy(), tokens)
    n, seen = len(tokens), int(mask.sum())
    figure, axes = plt.subplots(figsize=(3.9, 3.5))
    for i, j in zip(*mask.nonzero(), strict=True):
        axes.add_patch(
            patches.Rectangle((j - 0.45, i - 0.45), 0.9, 0.9, **_look(i == j))
        )
    words = spell(tokens).split()
    axes.set(xlim=(-0.6, n - 0.4), ylim=(n - 0.4, -0.6), aspect="equal")
    axes.set_xticks(range(n), words, rotation=45)
    axes.set_yticks(range(n), words)
    axes.set(xlabel="key: what is seen", ylabel="query: who looks")
    axes.grid(visible=False)
    for place, (ink, what) in enumerate(((GREY, "itself"), (BLUE, "earlier ones"))):
        look: dict[str, Any] = {
            "color": ink.light,
            "weight": "bold",
            "ha": "right",
            "fontsize": 9,
        }
        axes.text(n - 0.5, 0.1 + 0.6 * place, f"■ {what}", **look)
    return StaticFigure.of(
        figure,
        name="end_to_end.causal_mask",
        title="A position sees itself and what came before, nothing later",
        sentence=(
            f"Of the {n * n} pairs of {n} positions the causal mask lets {seen} "
            f"through: the last position sees all {n}, the first only itself."
        ),
    )


def _look(own: bool) -> dict[str, Any]:
    """A pair with itself is grey, one with an earlier position blue."""
    return {"facecolor": (GREY if own else BLUE).light, "edgecolor": "none"}
