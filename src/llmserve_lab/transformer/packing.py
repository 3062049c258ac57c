"""Packed (varlen) batch: requests share one stack of rows; only attention must know.

``cu_seqlens = (0, 10, 40)`` says that rows 0–9 are one request and rows 10–39 another.
A kernel says in which pieces the square of rows and keys is computed, each under its
mask. Two respect requests: one takes the whole square and masks what belongs to two of
them, the other (varlen) walks from request to request and never computes that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from llmserve_lab.checks import whole_numbers
from llmserve_lab.transformer.arithmetic import PLAIN, Array, Execution, Integers, Mask
from llmserve_lab.transformer.attention import attend, causal_mask


def cumulative(lengths: Sequence[int]) -> tuple[int, ...]:
    """Lengths (10, 30) as cu_seqlens (0, 10, 40)."""
    return tuple(accumulate(lengths, initial=0))


def check_bounds(cu_seqlens: Sequence[int], n_rows: int | None = None) -> None:
    """Refuse bounds that leave one of ``n_rows`` to no request, or give it to two.

    Raises:
        TypeError: one of them is no whole number.
        ValueError: they do not start at 0, increase, and end at ``n_rows`` if given.
    """
    whole_numbers("cu_seqlens", cu_seqlens)
    if len(cu_seqlens) < 2 or cu_seqlens[0] != 0:
        raise ValueError(
            f"cu_seqlens must start at 0 and hold a request, got {cu_seqlens}"
        )
    if any(end <= start for start, end in pairwise(cu_seqlens)):
        raise ValueError(
            "cu_seqlens must increase, every request has at least 1 token, "
            f"got {cu_seqlens}"
        )
    if n_rows not in (None, cu_seqlens[-1]):
        raise ValueError(
            f"cu_seqlens must end at the number of tokens, {n_rows}, "
            f"got {cu_seqlens[-1]}"
        )


@dataclass(frozen=True)
class Packing:
    """Rows cu_seqlens[i] up to cu_seqlens[i + 1] are request i, after contexts[i].

    ``contexts`` counts what each request has in the cache: 0 for a prefill from the
    start, the prefix for a chunk of one, everything before the new token for decode.

    Raises:
        TypeError: one of them is no whole number.
        ValueError: cu_seqlens does not start at 0 or does not increase (a request
            would be empty), or contexts are not one per request, or negative.
    """

    cu_seqlens: tuple[int, ...]
    contexts: tuple[int, ...]

    def __post_init__(self) -> None:
        check_bounds(self.cu_seqlens)
        whole_numbers("contexts", self.contexts)
        if len(self.contexts) != self.num_requests or min(self.contexts) < 0:
            raise ValueError(
                f"contexts must be {self.num_requests} counts of cached tokens, "
                f"got {self.contexts}"
            )

    @property
    def num_requests(self) -> int:
        """Requests in the stack."""
        return len(self.cu_seqlens) - 1

    @property
    def n_rows(self) -> int:
        """Rows in the stack."""
        return self.cu_seqlens[-1]

    @property
    def lengths(self) -> tuple[int, ...]:
        """New rows of each request."""
        return tuple(end - start for start, end in pairwise(self.cu_seqlens))

    @property
    def cu_seqlens_k(self) -> tuple[int, ...]:
        """Where each request's keys begin, cached ones first, then its new rows'."""
        pairs = zip(self.contexts, self.lengths, strict=True)
        return cumulative([context + length for context, length in pairs])

    @property
    def positions(self) -> Integers:
        """[n] position of each row in its own request, from its context on."""
        pairs = zip(self.contexts, self.lengths, strict=True)
        return np.concatenate([start + np.arange(length) for start, length in pairs])

    @property
    def mask(self) -> Mask:
        """[n, m] causal within a request, false between two."""
        mask = np.zeros((self.n_rows, self.cu_seqlens_k[-1]), dtype=np.bool_)
        for rows, keys, seen in varlen_attention(self):
            mask[rows, keys] = seen
        return mask

    def slices(self) -> list[tuple[slice, slice]]:
        """For each request, its rows in the stack and its keys among all keys."""
        bounds = (pairwise(self.cu_seqlens), pairwise(self.cu_seqlens_k))
        return [
            (slice(*rows), slice(*keys)) for rows, keys in zip(*bounds, strict=True)
        ]


Piece = tuple[slice, slice, Mask]  # rows [n], keys [m], which may see which [n, m]
Pieces = Callable[[Packing], Iterable[Piece]]  # of the attention square


@dataclass(frozen=True)
class AttentionKernel:
    """How the attention of a packed batch is computed: ``pieces``, one by one."""

    pieces: Pieces

    def __call__(self, packing: Packing) -> Iterable[Piece]:
        """The pieces of the attention square that are computed."""
        return self.pieces(packing)

    def attend(
        self,
        query: Array,
        key: Array,
        value: Array,
        packing: Packing,
        *,
        scale: float | None = None,
        run: Execution = PLAIN,
    ) -> Array:
        """[n, h, d_k], [m, h_kv, d_k], [m, h_kv, d_v] → [n, h, d_v]."""
        out = np.empty((*query.shape[:2], value.shape[-1]))
        pieces = list(self(packing))
        for i, (rows, keys, mask) in enumerate(pieces):
            own = run if len(pieces) == 1 else run.inside(f"request {i}")
            out[rows] = attend(
                query[rows], key[keys], value[keys], mask, scale=scale, run=own
            )
        return out


@AttentionKernel
def masked_attention(packing: Packing) -> Iterator[Piece]:
    """Every row against every key, n·m pairs; those of two requests masked away."""
    yield slice(None), slice(None), packing.mask


@AttentionKernel
def varlen_attention(packing: Packing) -> Iterator[Piece]:
    """Request by request, Σ nᵢ·mᵢ pairs; a pair of two requests is never computed."""
    for rows, keys in packing.slices():
        mask = causal_mask(rows.stop - rows.start, keys.stop - keys.start)
        yield rows, keys, mask
