"""Two pictures of the mechanism: from a position to a block, and the chain of names."""

from __future__ import annotations

from typing import Any, NamedTuple

from llmserve_lab.kv_memory.lifecycle import (
    A_PROMPT,
    B_PROMPT,
    BLOCKS,
    SIZE,
    SYSTEM,
    moments,
)
from llmserve_lab.page.palette import (
    GREEN,
    GREY,
    GRID,
    INK,
    PURPLE,
    VERMILLION,
)
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.paged_cache import PagedAllocator
from llmserve_lab.paged_cache.block_hash import chained_hashes

POSITION = 6  # the token whose address is worked out
TENANT = "tenant 2"
OTHER_START = (5, 5, 5, 5, *SYSTEM[SIZE:], 4, 5)  # its second block is that of A
TEXT, TABLE, MEMORY = 6.0, 3.6, 0.6  # heights of the three rows


def request_a() -> tuple[int, ...]:
    """Block table of request A when it has arrived."""
    return moments()[0].tables["A"]


@figure_style()
def translation() -> StaticFigure:
    """A text, its block table and the memory, with arrows from entries to blocks."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(3.9, 1.95))
    table, whole = request_a(), BLOCKS * SIZE
    entry, place = divmod(POSITION, SIZE)
    wide = 2.2  # of a token of the text, over one of the memory
    for i in range(len(A_PROMPT)):
        left = wide * i + 0.3 * (i // SIZE)
        _cell(axes, left, TEXT, wide, str(i), chosen=i == POSITION)
    for number, block in enumerate(table):
        left = (wide * SIZE + 0.3) * number
        _cell(axes, left, TABLE, wide * SIZE, str(block), chosen=number == entry)
        ink = VERMILLION if number == entry else GREEN
        end = (SIZE * block + SIZE / 2, MEMORY + 1.15)
        start = (left + wide * SIZE / 2, TABLE - 0.05)
        axes.annotate("", end, start, arrowprops=_arrow(ink.light))
    for at in range(whole):
        block, here = divmod(at, SIZE)
        row = table.index(block) if block in table else len(table)
        held = SIZE * row + here < len(A_PROMPT)
        ink = GREEN if held else GRID
        chosen = (row, here) == (entry, place)
        _cell(axes, at, MEMORY, 1, "", chosen=chosen, ink=ink.light)
    for block in range(BLOCKS):
        look: dict[str, Any] = {"ha": "center", "va": "top", "color": INK.light}
        axes.text(SIZE * (block + 0.5), MEMORY - 0.2, str(block), **look)
        axes.axvline(SIZE * block, 0.17, 0.33, color="white", linewidth=2)
    right = (wide * SIZE + 0.3) * len(table) + 0.7
    for words, y in (("positions in A", TEXT), ("block table of A", TABLE)):
        axes.text(right, y + 0.55, words, va="center", color=GREY.light)
    below = MEMORY - 1.75
    axes.text(0, below, "memory: twelve blocks of four places", color=GREY.light)
    axes.set(xlim=(-0.3, whole + 0.3), ylim=(-1.4, TEXT + 1.3))
    axes.set_axis_off()
    return StaticFigure.of(
        figure,
        sentence=(
            f"Blocks of {SIZE} tokens. Position {POSITION} of A: entry {POSITION} // "
            f"{SIZE} = {entry} of the table says block {table[entry]}; in it, place "
            f"{POSITION} % {SIZE} = {place} (places count from 0)."
        ),
        title="The table turns a position into a block and a place",
        name="kv-memory.translation",
    )


def _arrow(color: str) -> dict[str, Any]:
    return {"arrowstyle": "-|>", "color": color, "linewidth": 1.3}


def _cell(
    axes: Any,
    x: float,
    y: float,
    wide: float,
    text: str,
    *,
    chosen: bool,
    ink: str = GREEN.light,
) -> None:
    """A rectangle one row high, its text in the middle."""
    color = VERMILLION.light if chosen else ink
    look: dict[str, Any] = {"facecolor": color, "edgecolor": "white", "linewidth": 0.8}
    axes.barh(y + 0.55, wide, height=1.1, left=x, **look)
    middle = (x + wide / 2, y + 0.52)
    axes.text(*middle, text, ha="center", va="center", color="white", weight="bold")


class Walk(NamedTuple):
    """A prompt looked up: what it is, its tokens, salt, names, and blocks found."""

    what: str
    tokens: tuple[int, ...]
    salt: str
    names: tuple[str, ...]
    found: int


def walks() -> tuple[Walk, ...]:
    """Three prompts looked up in a cache that holds the text of A."""
    paged = PagedAllocator(BLOCKS, SIZE)
    paged.admit("A", A_PROMPT)
    paged.computed("A", len(A_PROMPT))
    asked = (
        ("A: in the cache", A_PROMPT, ""),
        ("B: begins as A does", B_PROMPT, ""),
        ("G: begins otherwise", OTHER_START, ""),
        ("D: A's text, other tenant", A_PROMPT, TENANT),
    )
    return tuple(
        Walk(
            what,
            tokens,
            salt,
            tuple(n.hex()[:2] for n in chained_hashes(tokens, SIZE, salt=salt)),
            len(paged.lookup(tokens, salt=salt)),
        )
        for what, tokens, salt in asked
    )


@figure_style()
def chain() -> StaticFigure:
    """Prompts cut into blocks, each named after its tokens and the name before."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(3.9, 2.8))
    for row, walk in enumerate(walks()):
        y = -2.6 * row
        axes.text(0, y + 1.25, walk.what, color=INK.light, weight="bold")
        start = "root" + (" + salt" if walk.salt else "")
        ink = VERMILLION if walk.salt else GREY
        axes.text(
            0, y + 0.5, start.replace(" + ", "\n+ "), color=ink.light, va="center"
        )
        for place, name in enumerate(walk.names):
            block = walk.tokens[SIZE * place : SIZE * (place + 1)]
            _named(axes, 2.35 + 5.3 * place, y, block, name, _fate(row, walk, place))
        left = walk.tokens[SIZE * len(walk.names) :]
        x = 2.35 + 5.3 * len(walk.names)
        words = " ".join(map(str, left))
        axes.barh(y + 0.5, 2.4, height=1, left=x, color="none", edgecolor=GREY.light)
        middle: dict[str, Any] = {"ha": "center", "va": "center", "color": GREY.light}
        axes.text(x + 1.2, y + 0.48, words, weight="bold", **middle)
        axes.text(x + 1.2, y - 0.38, "not full", fontsize=8.5, **middle)
    axes.set(xlim=(0, 15.6), ylim=(-8.5, 2.0))
    axes.grid(visible=False)
    axes.set_axis_off()
    return StaticFigure.of(
        figure,
        sentence=(
            "The name of a block (# and its first two digits) is made of its tokens "
            "and of the name before, and goes into the next. G has the same second "
            "block as A under another name; D, whose first name contains a salt, has "
            "none of A's names."
        ),
        title="A block's name stands for all the text up to its end",
        name="kv-memory.chain",
    )


def _fate(row: int, walk: Walk, place: int) -> str:
    """What becomes of a block in the lookup."""
    if row == 0:
        return "kept"
    if place < walk.found:
        return "found"
    return "not found" if place == walk.found else "not looked up"


FATES = {"kept": GREEN, "found": PURPLE, "not found": GRID, "not looked up": GRID}


def _named(
    axes: Any, x: float, y: float, block: tuple[int, ...], name: str, fate: str
) -> None:
    """A block of tokens, what becomes of it, and the name that goes into the next."""
    ink = FATES[fate]
    arrow = _arrow(GREY.light)
    for end, start in ((x, x - 0.6), (x + 3.75, x + 3.2)):
        axes.annotate("", (end, y + 0.5), (start, y + 0.5), arrowprops=arrow)
    look: dict[str, Any] = {"facecolor": ink.light, "edgecolor": "none"}
    axes.barh(y + 0.5, 3.2, height=1, left=x, **look)
    color = "white" if ink.solid else INK.light
    words = " ".join(map(str, block))
    middle: dict[str, Any] = {"ha": "center", "va": "center"}
    axes.text(x + 1.6, y + 0.48, words, color=color, weight="bold", **middle)
    axes.text(x + 4.25, y + 0.48, f"#{name}", color=INK.light, fontsize=9, **middle)
    if fate != "kept":
        axes.text(x + 1.6, y - 0.38, fate, color=GREY.light, fontsize=8.5, **middle)
