"""Article 05, section 3, first table: what a prompt does to its iteration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from llmserve_lab.claims.article_05.setting import (
    DECODES,
    LONG,
    ROUNDS,
    K,
    at,
    attn_flops,
    chunk_s,
    decode_s,
    linear_flops,
)
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import NO_READINGS, Number, Recompute
from llmserve_lab.claims.printed import parse
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.formula.text import plain, si
from llmserve_lab.roofline import formulas as roofline

in_section_3 = partial(Claim, section="§3")


@dataclass(frozen=True)
class Mix:
    """Eight decodes, and a prompt of so many tokens, or none."""

    prompt: float

    @property
    def linear(self) -> float:
        """FLOPs of the linear layers."""
        rows = DECODES["n_decodes"]
        if self.prompt:
            rows = at(f.MIXED_ROWS, chunk=self.prompt)
        return linear_flops(rows)

    @property
    def attn(self) -> float:
        """FLOPs of attention."""
        pairs = at(roofline.ATTN_PAIRS, batch=DECODES["n_decodes"], chunk=1, context=K)
        if self.prompt:
            pairs = at(f.MIXED_PAIRS, chunk=self.prompt, context=0)
        return attn_flops(pairs)

    @property
    def total(self) -> float:
        """All FLOPs."""
        return self.linear + self.attn

    @property
    def wall(self) -> float:
        """Seconds."""
        return chunk_s(self.prompt, 0) if self.prompt else decode_s()


@dataclass(frozen=True)
class Cell:
    """What the table prints of one number, the verdict on it, and why."""

    printed: str
    verdict: Ruling = Ruling.WITHIN_ROUNDING
    why: str | Callable[[], str] = ROUNDS
    readings: Mapping[str, Recompute] = field(default_factory=lambda: NO_READINGS)


def thousands_of_1024(prompt: float) -> float:
    """The same k read as 1024."""
    return prompt / K * 1024


def one_after_the_other_s() -> float:
    """Seconds of the decodes alone if reading and arithmetic did not overlap."""
    sums = {"batch": DECODES["n_decodes"], "chunk": 1, "context": K}
    return decode_s() + at(roofline.COMPUTE_S, **sums)


def _cell(number: int, name: str, prompt: float, part: str, cell: Cell) -> Claim:
    unit = "s" if part == "wall" else "FLOP"
    return in_section_3(
        id=f"05-{number:02}",
        says=f"Eight decodes, prompt: {name}; {PARTS[part]}",
        parts=(
            Number(
                cell.printed,
                unit,
                lambda: float(getattr(Mix(prompt), part)),
                readings=cell.readings,
            ),
        ),
        verdict=cell.verdict,
        why=cell.why,
    )


PARTS = {
    "linear": "FLOPs of the linear layers",
    "attn": "FLOPs of attention",
    "total": "FLOPs in all",
    "wall": "time of the iteration",
}
INCONSISTENT = Ruling.INCONSISTENT
ROWS: tuple[tuple[str, float, tuple[Cell, ...]], ...] = (
    (
        "none",
        0,
        (
            Cell("~110 GF"),
            Cell("~4 GF"),
            Cell("~115 GF", why="About the nearest five; its third digit is off."),
            Cell(
                "~6 ms",
                INCONSISTENT,
                lambda: (
                    "It takes arithmetic that runs after the reading, not during it; "
                    f"weights and caches are read in {si(decode_s(), 's')}, and "
                    f"weights alone, which the cell names, in "
                    f"{si(at(roofline.WEIGHTS_S), 's')}."
                ),
                readings={"one after the other": one_after_the_other_s},
            ),
        ),
    ),
    (
        "1 k",
        1 * K,
        (
            Cell("~14 TF"),
            Cell("~0.3 TF"),
            Cell("~14 TF"),
            Cell("~30 ms"),
        ),
    ),
    (
        "4 k",
        4 * K,
        (
            Cell(
                "~57 TF",
                INCONSISTENT,
                "Here, and nowhere else in the table, k is 1024.",
                readings={"k as 1024": lambda: Mix(thousands_of_1024(4 * K)).linear},
            ),
            Cell("~4 TF"),
            Cell(
                "~61 TF",
                INCONSISTENT,
                "It adds up two cells that read k differently.",
                readings={
                    "the sum of its rounded cells": lambda: (
                        parse("~57 TF").low + parse("~4 TF").low
                    )
                },
            ),
            Cell("~120 ms"),
        ),
    ),
    (
        "16 k",
        16 * K,
        (
            Cell("~225 TF", why="About the nearest five; its third digit is off."),
            Cell("~67 TF"),
            Cell("~290 TF"),
            Cell("~580 ms"),
        ),
    ),
    (
        "100 k",
        LONG,
        (
            Cell("~1.4 PF"),
            Cell("~2.6 PF"),
            Cell("~4 PF"),
            Cell("~8 s"),
        ),
    ),
)

CLAIMS = tuple(
    _cell(6 + 4 * row + column, name, prompt, part, cell)
    for row, (name, prompt, cells) in enumerate(ROWS)
    for column, (part, cell) in enumerate(zip(PARTS, cells, strict=True))
)


def swing(prompt: float = LONG) -> float:
    """The iteration with the long prompt over the one with none."""
    return Mix(prompt).wall / Mix(0).wall


def swing_shown() -> str:
    """The swing as a reader sees it."""
    return f"{plain(swing())}×"
