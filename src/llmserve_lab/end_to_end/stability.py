"""Does a token that comes later reach back and change an earlier one?

With the causal mask it cannot: a row depends on rows before it. Arithmetic is run with
its sums in a fixed order, so "the same" means the same bits, not nearly the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from llmserve_lab.page.table import Table
from llmserve_lab.transformer import ORDERED, Packing, Transformer, varlen_attention
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.packing import AttentionKernel, Piece


@AttentionKernel
def unmasked_attention(packing: Packing) -> Iterator[Piece]:
    """Attention in which every position sees every other, the future included."""
    everything = np.ones_like(packing.mask)
    yield slice(None), slice(None), everything


def hidden_rows(
    model: Transformer, tokens: Sequence[int], *, masked: bool = True
) -> Array:
    """Rows [n, d] after the last block, every sum added up in order."""
    kernel = varlen_attention if masked else unmasked_attention
    return model.hidden(tokens, (0, len(tokens)), kernel=kernel, run=ORDERED)


def same_bits(
    model: Transformer,
    tokens: Sequence[int],
    *,
    prefix: int,
    masked: bool = True,
) -> bool:
    """Whether the first ``prefix`` rows are those of the prefix run on its own.

    Raises:
        ValueError: the prefix is empty or longer than the tokens.
    """
    if not 1 <= prefix <= len(tokens):
        raise ValueError(
            f"prefix must be 1 to {len(tokens)}, the number of tokens, got {prefix}"
        )
    alone = hidden_rows(model, tokens[:prefix], masked=masked)
    inside = hidden_rows(model, tokens, masked=masked)[:prefix]
    return alone.tobytes() == inside.tobytes()


def growth(
    model: Transformer, tokens: Sequence[int], *, prefix: int, lengths: Sequence[int]
) -> Table:
    """Table: are the first rows the same bits as the sequence grows?

    Raises:
        ValueError: a length is below the prefix, or beyond the tokens that there are.
    """
    for length in lengths:
        if not prefix <= length <= len(tokens):
            raise ValueError(
                f"lengths must be from the prefix, {prefix}, to the number of tokens, "
                f"{len(tokens)}, got {length}"
            )
    words = {True: "the same bits", False: "changed"}
    rows: list[tuple[str | int, ...]] = [
        (
            length,
            *(
                words[same_bits(model, tokens[:length], prefix=prefix, masked=masked)]
                for masked in (True, False)
            ),
        )
        for length in lengths
    ]
    columns = ("tokens in the sequence", "causal mask", "no mask")
    return Table(f"The first {prefix} rows, as the sequence grows", columns, rows)
