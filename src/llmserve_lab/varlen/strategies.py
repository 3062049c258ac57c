"""Three ways to push requests of different lengths through one model, with one answer.

Padded: every request is stretched to the longest. Masked: all are laid end to end,
every row meets every row, and pairs of two requests are masked away. Varlen: laid end
to end too, but attention walks from request to request and computes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from llmserve_lab.checks import whole_numbers
from llmserve_lab.page.table import Table
from llmserve_lab.transformer import (
    Meter,
    Packing,
    Transformer,
    cumulative,
    masked_attention,
    varlen_attention,
)
from llmserve_lab.transformer.arithmetic import Array, Integers
from llmserve_lab.transformer.packing import AttentionKernel

PADDING = 0  # any token id will do: nobody looks at what comes out for it


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Logits [sᵢ, V] of each request, and what it took to get them.

    Rows and FLOPs are those of the whole pass; pairs are counted per layer and head.
    A pair is useful if its query is a token of a request and may see the key.
    """

    logits: tuple[Array, ...]
    n_rows: int
    useful_rows: int
    pairs: int
    useful_pairs: int
    linear_flops: int
    attn_flops: int

    @property
    def wasted_rows(self) -> int:
        """Rows that are no token of any request."""
        return self.n_rows - self.useful_rows

    @property
    def wasted_pairs(self) -> int:
        """Pairs that were computed for nothing."""
        return self.pairs - self.useful_pairs


Way = Callable[[Transformer, npt.ArrayLike, Sequence[int]], Outcome]


def padded(
    model: Transformer, tokens: npt.ArrayLike, lengths: Sequence[int]
) -> Outcome:
    """Stretch every request to the longest: B · s_max rows, B · s_max² pairs.

    ``tokens`` [n] are the requests end to end, ``lengths`` how many each of them has.

    Raises:
        TypeError, ValueError: see :func:`bounds`, or the model refuses the tokens.
    """
    ends = bounds(tokens, lengths)
    longest, flat = max(lengths), np.asarray(tokens)
    grid = np.full((len(lengths), longest), PADDING, dtype=flat.dtype)
    for row, (start, end) in zip(grid, pairwise(ends), strict=True):
        row[: end - start] = flat[start:end]
    stretched = cumulative([longest] * len(lengths))
    return _carried_out(model, grid.ravel(), stretched, lengths, varlen_attention)


def masked(
    model: Transformer, tokens: npt.ArrayLike, lengths: Sequence[int]
) -> Outcome:
    """Lay requests end to end, compute all n² pairs, mask; arguments as `padded`."""
    ends = bounds(tokens, lengths)
    return _carried_out(model, tokens, ends, lengths, masked_attention)


def varlen(
    model: Transformer, tokens: npt.ArrayLike, lengths: Sequence[int]
) -> Outcome:
    """Lay requests end to end, compute Σ sᵢ² pairs; arguments as of `padded`."""
    ends = bounds(tokens, lengths)
    return _carried_out(model, tokens, ends, lengths, varlen_attention)


WAYS: dict[str, Way] = {"padded": padded, "masked": masked, "varlen": varlen}


def bounds(tokens: npt.ArrayLike, lengths: Sequence[int]) -> tuple[int, ...]:
    """``cu_seqlens`` of ``lengths``: where each request begins, and where all end.

    Raises:
        TypeError: a length is no whole number.
        ValueError: there is no request, one of them is empty, or together they have
            more or fewer tokens than there are.
    """
    whole_numbers("lengths", lengths)
    if len(lengths) == 0:
        raise ValueError("lengths must hold at least 1 request, got none")
    for request, length in enumerate(lengths):
        if length < 1:
            raise ValueError(
                f"lengths must each be at least 1 token, got {length} for request "
                f"{request}"
            )
    if sum(lengths) != np.size(tokens):
        raise ValueError(
            f"lengths must add up to the number of tokens, {np.size(tokens)}, "
            f"got {sum(lengths)}"
        )
    return cumulative(lengths)


def _carried_out(
    model: Transformer,
    tokens: npt.ArrayLike,
    cu_seqlens: tuple[int, ...],
    lengths: Sequence[int],
    kernel: AttentionKernel,
) -> Outcome:
    meter = Meter()
    logits = model.forward_packed(tokens, cu_seqlens, kernel=kernel, run=meter.on())
    real = _real_rows(cu_seqlens, lengths)
    mask = Packing(cu_seqlens, (0,) * len(lengths)).mask
    return Outcome(
        logits=tuple(logits[rows] for rows in real),
        n_rows=len(logits),
        useful_rows=sum(map(len, real)),
        pairs=meter.pairs // model.shape.n_layers,
        useful_pairs=int(mask[np.concatenate(real)].sum()),
        linear_flops=meter.linear_flops,
        attn_flops=meter.attn_flops,
    )


def _real_rows(cu_seqlens: Sequence[int], lengths: Sequence[int]) -> list[Integers]:
    """Where the tokens of each request are, in a stack that may hold padding."""
    return [
        np.arange(start, start + length)
        for start, length in zip(cu_seqlens, lengths, strict=False)
    ]


def compared(
    model: Transformer, tokens: npt.ArrayLike, lengths: Sequence[int]
) -> dict[str, tuple[Outcome, float]]:
    """What each way took, and how far its logits are from those of each alone."""
    alone, found = _alone(model, tokens, lengths), {}
    for name, way in WAYS.items():
        outcome = way(model, tokens, lengths)
        pairs = zip(outcome.logits, alone, strict=True)
        found[name] = outcome, max(float(np.abs(a - b).max()) for a, b in pairs)
    return found


def comparison(
    model: Transformer, tokens: npt.ArrayLike, lengths: Sequence[int]
) -> Table:
    """Table of what each way computes, uses and wastes, and how far logits differ."""
    rows = [
        (
            name,
            found.n_rows,
            found.wasted_rows,
            found.pairs,
            found.useful_pairs,
            found.wasted_pairs,
            "yes" if apart < 1e-10 else "no",
        )
        for name, (found, apart) in compared(model, tokens, lengths).items()
    ]
    columns = (
        "way",
        "rows",
        "rows wasted",
        "pairs",
        "pairs useful",
        "pairs wasted",
        "same logits",
    )
    return Table(f"Requests of {', '.join(map(str, lengths))} tokens", columns, rows)


def _alone(
    model: Transformer, tokens: npt.ArrayLike, lengths: Sequence[int]
) -> list[Array]:
    """Logits of every request on its own, one forward pass each."""
    flat = np.asarray(tokens)
    return [model.forward(flat[a:b]) for a, b in pairwise(bounds(tokens, lengths))]
