"""A drawing of the causal triangle, dealt to four ranks in stretches and zig-zag."""

from __future__ import annotations

import numpy as np

from llmserve_lab.page.palette import BLUE, GREEN, INK, PURPLE, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.parallelism.dealing import Deal, contiguous, pairs_of, zigzag
from llmserve_lab.transformer.arithmetic import Integers

TOKENS, RANKS = 16, 4
DEALS: dict[str, Deal] = {"stretches": contiguous, "zig-zag": zigzag}
INKS = (BLUE, VERMILLION, GREEN, PURPLE)


def owners(deal: Deal) -> Integers:
    """The rank of each token."""
    found = np.empty(TOKENS, dtype=np.int64)
    for rank, places in enumerate(deal(TOKENS, RANKS)):
        found[places] = rank
    return found


def pairs(deal: Deal) -> list[int]:
    """Query-key pairs of each rank under the causal mask."""
    return [pairs_of(places) for places in deal(TOKENS, RANKS)]


@figure_style()
def triangle() -> StaticFigure:
    """A row for each query: as long as the keys it sees, in the ink of its rank."""
    from llmserve_lab.extras import pyplot as plt

    figure, panels = plt.subplots(1, len(DEALS), figsize=(4.75, 1.75))
    for axes, (name, deal) in zip(panels, DEALS.items(), strict=True):
        for token, rank in enumerate(owners(deal)):
            axes.barh(token, token + 1, height=0.9, color=INKS[rank].light)
        for rank, count in enumerate(pairs(deal)):
            place = (TOKENS + 1, 1.4 + 4 * rank)
            said = f"GPU {rank}: {count}"
            axes.annotate(said, place, va="center", color=INKS[rank].light, fontsize=10)
        axes.set(xlim=(0, 1.75 * TOKENS), ylim=(TOKENS, -1))
        axes.set_title(name, fontsize=10, loc="left", color=INK.light)
        axes.set_axis_off()
    return StaticFigure.of(
        figure,
        sentence=f"{TOKENS} tokens: a row is a query, as long as the keys that it may "
        "see, in the colour of its GPU. Beside it: query\u2013key pairs of each GPU.",
        title="Stretches load the last GPU; zig-zag loads all alike",
        name="parallelism.triangle",
    )
