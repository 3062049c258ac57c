"""Context parallelism: each rank has some tokens of one request, in every layer.

Weights are whole on every rank. All but attention works on one row at a time, so that
ranks meet in attention alone. What a request said before (its prefix) stays where it
was dealt, and the next turn's tokens are dealt anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from llmserve_lab.checks import one_of
from llmserve_lab.collectives import ClusterRun, Rank, run
from llmserve_lab.parallelism.dealing import Deal, zigzag
from llmserve_lab.parallelism.ring_attention import METHODS, Method, Piece, Share
from llmserve_lab.transformer import (
    PLAIN,
    AttentionContext,
    Execution,
    Packing,
    Transformer,
)
from llmserve_lab.transformer.arithmetic import Array, Integers
from llmserve_lab.transformer.attention_context import Entries
from llmserve_lab.transformer.inputs import token_ids

MethodName = Literal["pass-KV", "pass-Q", "decode"]


@dataclass(frozen=True)
class ContextTurn:
    """New tokens of a request, dealt to the ranks, and how their attention is done.

    Of a ``"decode"`` turn every rank has every row; one rank keeps its keys and values.
    """

    tokens: tuple[int, ...]
    method: MethodName = "pass-KV"
    deal: Deal = zigzag

    def __post_init__(self) -> None:
        one_of("method", self.method, MethodName)

    def places(self, start: int, num_ranks: int) -> tuple[list[Integers], ...]:
        """Places of each rank's rows, and of those whose keys it keeps."""
        n_tokens = len(self.tokens)
        if self.method != "decode":
            dealt = [start + each for each in self.deal(n_tokens, num_ranks)]
            return dealt, dealt
        every = start + np.arange(n_tokens)
        keeper = every % num_ranks
        return [every] * num_ranks, [every[keeper == i] for i in range(num_ranks)]


@dataclass(frozen=True)
class RingContext(AttentionContext):
    """What the rows of one layer may look back on, some of it on other ranks."""

    rank: Rank = field(kw_only=True)
    method: Method = field(kw_only=True)
    query_places: Sequence[Integers] = field(kw_only=True)
    key_places: Sequence[Integers] = field(kw_only=True)
    done: list[Piece] = field(kw_only=True)

    def attend(
        self,
        query: Array,
        key: Array,
        value: Array,
        *,
        scale: float | None = None,
        run: Execution = PLAIN,
    ) -> Array:
        """As of one rank, but over the keys of all."""
        places = (self.query_places, self.key_places)
        return self.method(
            self.rank, Share(query, key, value, *places, scale, self.done)
        )


class _Conversation:
    """The rows and caches of one request on one rank, turn by turn."""

    def __init__(self, rank: Rank, model: Transformer) -> None:
        self.rank, self.model, self.length = rank, model, 0
        self.kept: list[Integers] = [np.arange(0)] * rank.num_ranks
        self.caches: list[dict[str, Array]] = [{} for _ in range(model.shape.n_layers)]
        self.done: list[Piece] = []

    def hear(self, turn: ContextTurn) -> tuple[Integers, Array]:
        """Run one turn: places [m] of this rank's rows, and their logits [m, V]."""
        rows_of, keys_of = turn.places(self.length, self.rank.num_ranks)
        mine = rows_of[self.rank.index]
        ids = token_ids(turn.tokens, vocab=self.model.shape.vocab)
        rows = self.model.weights.embedding[ids[mine - self.length]]
        self.kept = [
            np.concatenate(both) for both in zip(self.kept, keys_of, strict=True)
        ]
        keeps = np.isin(mine, keys_of[self.rank.index])
        self.done = []
        for layer, cache in enumerate(self.caches):
            view = self._view(turn, rows_of, cache, keeps)
            rows = self.model.block(rows, self.model.weights.layer(layer), view)
        self.length += len(ids)
        return mine, self.model.logits(rows)

    def _view(
        self,
        turn: ContextTurn,
        rows_of: Sequence[Integers],
        cache: dict[str, Array],
        keeps: np.ndarray,
    ) -> RingContext:
        """The context of one layer, whose cache takes what is new and kept here."""

        def recall(fresh: Entries) -> Mapping[str, Array]:
            for part, array in fresh.items():
                old = cache.get(part, array[:0])
                cache[part] = np.concatenate([old, array[keeps]])
            return cache

        mine = rows_of[self.rank.index]
        return RingContext(
            Packing((0, len(mine)), (0,)),
            mine,
            recall=recall,
            rank=self.rank,
            method=METHODS[turn.method],
            query_places=rows_of,
            key_places=self.kept,
            done=self.done,
        )


@dataclass(frozen=True, eq=False)
class ContextOutput:
    """Of the last turn: places and logits of a rank's rows, and the pieces it did."""

    places: Integers
    logits: Array
    pieces: tuple[Piece, ...]


def on_rank(
    rank: Rank, model: Transformer, turns: Sequence[ContextTurn]
) -> ContextOutput:
    """All turns of one request on this rank."""
    talk = _Conversation(rank, model)
    for turn in turns:
        places, logits = talk.hear(turn)
    return ContextOutput(places, logits, tuple(talk.done))


def context_parallel(
    model: Transformer,
    turns: Sequence[ContextTurn],
    num_ranks: int,
    *,
    backend: Literal["lockstep", "mpi"] = "lockstep",
) -> ClusterRun[ContextOutput]:
    """Run the turns of one request on a ring of ranks.

    Raises:
        ValueError: there is no turn, or tokens that cannot be dealt to the ranks.
    """
    if not turns:
        raise ValueError("turns must hold at least 1 turn, got none")
    for turn in turns:
        turn.places(0, num_ranks)
    return run(on_rank, num_ranks, model, tuple(turns), backend=backend)


def in_order(outputs: Sequence[ContextOutput]) -> Array:
    """Logits [n, V] of the last turn, the rows of all ranks in the prompt's order."""
    places = np.concatenate([each.places for each in outputs])
    logits = np.concatenate([each.logits for each in outputs])
    _, first = np.unique(places, return_index=True)
    return np.asarray(logits[first])
