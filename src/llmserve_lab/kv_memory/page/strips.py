"""One memory, set aside in three ways: what reservations lose, and blocks do not."""

from __future__ import annotations

from typing import Any, NamedTuple

from llmserve_lab.kv_memory.lifecycle import BLOCKS, SIZE
from llmserve_lab.page.palette import GOLD, GREEN, GREY, GRID, INK, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.paged_cache import PagedAllocator

LIMIT = 16  # places that the longest request would take
FINAL = {"A": 9, "B": 14, "C": 11}  # tokens of each request in the end
NOW = {"A": 6, "B": 11, "C": 3}  # and at the moment that is drawn
GAPS = (6, 0)  # places that requests left between them, now gone
NEXT = ("D", 10, 5)  # a request that asks for room: its final length, and its prompt


class Strip(NamedTuple):
    """A way to set memory aside: its places, as request and what each place is."""

    what: str
    places: tuple[tuple[str, str], ...]  # "" and "free", or a request and its use
    fits: bool  # whether the next request finds room


def strips() -> tuple[Strip, ...]:
    """The same three requests in the same memory, set aside in three ways."""
    whole = BLOCKS * SIZE
    rows = []
    for what, sizes, gaps in (
        ("reserved: longest length", dict.fromkeys(FINAL, LIMIT), (0, 0)),
        ("reserved: final length", FINAL, GAPS),
    ):
        places: list[tuple[str, str]] = []
        for name, gap in zip(sizes, (*gaps, 0), strict=True):
            later = FINAL[name] - NOW[name]
            places += [(name, "written")] * NOW[name] + [(name, "to come")] * later
            places += [(name, "never")] * (sizes[name] - FINAL[name])
            places += [("", "free")] * gap
        places += [("", "free")] * (whole - len(places))
        asked = LIMIT if what.endswith("longest length") else NEXT[1]
        rows.append(Strip(what, tuple(places), _longest_gap(places) >= asked))
    paged = PagedAllocator(BLOCKS, SIZE, prefix_caching=False)
    for name in NOW:
        paged.admit(name, [0])
    for held in range(2, max(NOW.values()) + 1):  # the answers grow side by side
        for name in NOW:
            if held <= NOW[name]:
                paged.append(name, 0)
    taken: list[tuple[str, str]] = [("", "free")] * whole
    for name, held in NOW.items():
        for at in range(SIZE * len(paged.table(name))):
            block, place = paged.table(name)[at // SIZE], at % SIZE
            use = "written" if at < held else "to come" if at < FINAL[name] else "never"
            taken[SIZE * block + place] = (name, use)
    fits = paged.pool.num_free >= -(-NEXT[2] // SIZE)
    return (*rows, Strip("paged: blocks of 4", tuple(taken), fits))


def _longest_gap(places: list[tuple[str, str]]) -> int:
    """Most free places in one piece."""
    longest = here = 0
    for _, use in places:
        here = here + 1 if use == "free" else 0
        longest = max(longest, here)
    return longest


USES = {"written": GREEN, "to come": GOLD, "never": GREY}


@figure_style()
def reserved() -> StaticFigure:
    """Three strips of memory: two with reservations, one with blocks."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.3, 1.95))
    for row, strip in enumerate(strips()):
        y = -2.4 * row
        verdict = "D finds room" if strip.fits else "D must wait"
        ink = GREEN if strip.fits else VERMILLION
        axes.text(0, y + 1.35, strip.what, color=INK.light, va="center")
        look: dict[str, Any] = {"ha": "right", "va": "center", "weight": "bold"}
        axes.text(len(strip.places), y + 1.35, verdict, color=ink.light, **look)
        for at, (name, use) in enumerate(strip.places):
            color = USES[use].light if use in USES else GRID.light
            edge: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.5}
            axes.barh(y + 0.45, 1, height=0.9, left=at, color=color, **edge)
            if use == "written" and (at == 0 or strip.places[at - 1][0] != name):
                axes.text(at + 0.3, y + 0.43, name, color="white", va="center")
    for use, ink in (("written", GREEN), ("to come", GOLD), ("lost", GREY),
                     ("free", GRID)):  # fmt: skip
        axes.barh(0, 0, color=ink.light, label=use)
    figure.legend(loc="outside upper right", handlelength=1, columnspacing=1, ncols=4)
    axes.set(xlim=(0, BLOCKS * SIZE), ylim=(-5, 1.9))
    axes.set_axis_off()
    final, prompt = NEXT[1:]
    return StaticFigure.of(
        figure,
        sentence=(
            f"Three requests in a memory of {BLOCKS * SIZE} places; D has a prompt of "
            f"{prompt} tokens and will have {final} in the end. In the first row it "
            f"needs {LIMIT} places in one piece, in the second {final}, in the third "
            "two free blocks, which need not lie together. The gap after A in the "
            "second row is what a request left that is done."
        ),
        title="With reservations D must wait beside empty places",
        name="kv-memory.reserved",
    )
