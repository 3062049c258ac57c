"""What counts as varlen: squares, tiles, tiles without the future, or useful pairs."""

from __future__ import annotations

from collections.abc import Sequence

from llmserve_lab.checks import whole
from llmserve_lab.page.table import Table
from llmserve_lab.varlen import formulas as f
from llmserve_lab.varlen.arguments import batch_of

MOST_TILES = 10**6  # high, all requests together: each is counted


def places(
    lengths: Sequence[int], side: int, *, group: int = 1, skip: bool = True
) -> int:
    """Places per head in a varlen kernel's tiles of ``side`` rows by ``side`` keys.

    With a ``group`` of query heads on one key-value head a tile's rows are those of
    ``side / group`` tokens (packed grouped-query attention, which FlashAttention-3
    always takes for varlen). With ``skip`` tiles wholly in the future are left out.

    Raises:
        TypeError: a number is no whole number.
        ValueError: a number is below 1, a tile's rows are not whole tokens, or
            they are too many.
    """
    whole(side=side, group=group)
    if side % group:
        raise ValueError(f"group must divide the side of a tile, {side}, got {group}")
    batch_of(lengths)  # which refuses what is no batch
    tall, found = side // group, 0
    if sum(lengths) > MOST_TILES * tall:
        raise ValueError(
            f"lengths must be at most {MOST_TILES:,} tiles of {tall} rows in all, "
            f"got {sum(lengths)} rows"
        )
    for length in lengths:
        for end in range(tall, length + tall, tall):  # behind a tile's last row
            keys = min(end, length) if skip else length
            found += -(-keys // side) * tall * side
    return found


def counted(lengths: Sequence[int], *, side: int, group: int) -> Table:
    """Table of five ways to count the same prompts, per layer and head."""
    batch = batch_of(lengths)
    useful = float(f.USEFUL_PAIRS.at(batch))
    found = (
        ("whole squares", "the formulas", float(f.VARLEN_PAIRS.at(batch))),
        (
            "whole tiles, all of them",
            "a kernel that skips nothing",
            places(lengths, side, skip=False),
        ),
        (
            "tiles, the future skipped",
            "a causal kernel, one head in a tile",
            places(lengths, side),
        ),
        (
            f"the same, {group} heads in a tile",
            "FlashAttention-3 in vLLM",
            places(lengths, side, group=group),
        ),
        ("useful pairs, the triangles", "the milliseconds", useful),
    )
    rows = [
        (what, who, f"{count:,.0f}", f"{useful / count:.0%}")
        for what, who, count in found
    ]
    said = [f"{length:,}" for length in lengths]
    many = f"{', '.join(said[:-1])} and {said[-1]}" if len(said) > 1 else said[0]
    return Table(
        f"What varlen counts for prompts of {many} tokens, per layer and head",
        ("counted", "by", "pairs", "of them useful"),
        rows,
    )
