"""One pass, many stages of life: a chunk of one prompt rides with all decodes.

All that attention has to know of a request is where its rows begin and end in the
stack, and how many keys they may see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.transformer import ORDERED, KVCache, Packing, Transformer, cumulative
from llmserve_lab.transformer.arithmetic import Array, Integers

if TYPE_CHECKING:
    from llmserve_lab.page.table import Table


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a request brings to one iteration: ``rows`` after ``context`` cached ones.

    Raises:
        ValueError: it brings no row, or the context is negative.
    """

    name: str
    rows: int = 1
    context: int = 0

    def __post_init__(self) -> None:
        whole(rows=self.rows, of="token")
        whole(context=self.context, first=0, of="tokens")

    @property
    def kind(self) -> str:
        """What the engine calls it."""
        if self.context == 0:
            return "prefill"
        return "decode" if self.rows == 1 else "chunk"


def packing(parts: Sequence[Part]) -> Packing:
    """Where each part's rows and keys are in the flat stacks."""
    bounds = cumulative([part.rows for part in parts])
    return Packing(bounds, tuple(part.context for part in parts))


def boundaries(parts: Sequence[Part]) -> Table:
    """Table of one iteration: q_start, q_end and kv_length of every request."""
    from llmserve_lab.page.table import Table

    stack = packing(parts)
    rows = [
        (part.name, part.kind, own.start, own.stop, part.rows, keys.stop - keys.start)
        for part, (own, keys) in zip(parts, stack.slices(), strict=True)
    ]
    columns = ("request", "stage", "q_start", "q_end", "rows", "kv_length")
    return Table(f"One iteration of {stack.n_rows} rows", columns, rows)


def bits_alike(
    model: Transformer, parts: Sequence[Part], *, seed: int = 0
) -> list[bool]:
    """Whether each part's logits of one pass of all are those of a pass of its own."""
    mixed = together(model, parts, seed=seed)
    alone = [together(model, [part], seed=seed)[0] for part in parts]
    return [np.array_equal(*both) for both in zip(alone, mixed, strict=True)]


def same_as_alone(model: Transformer, parts: Sequence[Part], *, seed: int = 0) -> Table:
    """Run all parts in one pass, then each in a pass of its own, and compare bits."""
    from llmserve_lab.page.table import Table

    same = bits_alike(model, parts, seed=seed)
    rows = [
        (part.name, part.kind, "same bits" if alike else "differ")
        for part, alike in zip(parts, same, strict=True)
    ]
    columns = ("request", "stage", "logits, against a pass of its own")
    return Table("Sharing an iteration changes no number", columns, rows)


def together(
    model: Transformer, parts: Sequence[Part], *, seed: int = 0
) -> list[Array]:
    """Logits [rows, V] of every part, all from one pass, sums taken in a fixed order.

    Each request has its own random tokens, drawn from ``seed`` and its name.
    """
    texts = [_tokens(model, part, seed) for part in parts]
    caches = [
        _filled(model, text, part) for text, part in zip(texts, parts, strict=True)
    ]
    new = [text[part.context :] for text, part in zip(texts, parts, strict=True)]
    bounds = packing(parts).cu_seqlens
    logits = model.forward_packed(np.concatenate(new), bounds, caches, run=ORDERED)
    return np.split(logits, bounds[1:-1])


def _tokens(model: Transformer, part: Part, seed: int) -> Integers:
    rng = np.random.default_rng([seed, *part.name.encode()])
    return rng.integers(0, model.shape.vocab, part.context + part.rows)


def _filled(model: Transformer, text: Integers, part: Part) -> KVCache:
    """A cache that holds the part's context."""
    cache = model.new_cache(len(text))
    if part.context:
        model.forward(text[: part.context], cache, run=ORDERED)
    return cache
