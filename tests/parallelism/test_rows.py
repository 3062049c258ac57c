"""Sequence and data parallelism give what one rank gives, and send what TP sends."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.catalog import ModelShape
from llmserve_lab.collectives import Rank, run
from llmserve_lab.parallelism.model import SMALL
from llmserve_lab.parallelism.rows import data_parallel_attention, sequence_parallel
from llmserve_lab.transformer import PLAIN, Transformer
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.shard import share
from tests.depth import examples
from tests.parallelism.alone import SHAPES, same, tokens

RANKS = st.sampled_from([1, 2, 4])


def reduced(rank: Rank, model: Transformer, prompt: tuple[int, ...]) -> Array:
    """The all-reduce that sequence parallelism takes apart."""
    return share(model, rank).forward(
        prompt, run=replace(PLAIN, reduce=rank.all_reduce)
    )


@given(shape=SHAPES, ranks=RANKS, rows=st.integers(1, 3), seed=st.integers(0, 9))
@settings(max_examples=examples(15))
def test_reduce_scatter_and_all_gather_are_the_all_reduce(
    shape: ModelShape, ranks: int, rows: int, seed: int
) -> None:
    model, prompt = Transformer(shape), tokens(shape, ranks * rows, seed)
    cut = sequence_parallel(model, prompt, ranks)
    same(np.concatenate(cut.results), model.forward(prompt))
    whole = run(reduced, ranks, model, prompt).ledger
    assert cut.ledger.sent_bytes() == whole.sent_bytes()
    assert cut.ledger.calls() == 2 * whole.calls()


@given(
    shape=SHAPES,
    ranks=RANKS,
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3),
)
@settings(max_examples=examples(15))
def test_data_parallel_attention_is_attention_of_each_alone(
    shape: ModelShape, ranks: int, lengths: list[int]
) -> None:
    model = Transformer(shape)
    requests = [
        [tokens(shape, n, seed=10 * rank + n) for n in lengths] for rank in range(ranks)
    ]
    caches = [[model.new_cache(9) for _ in mine] for mine in requests]
    first = data_parallel_attention(model, requests, caches=caches)
    again = data_parallel_attention(
        model, [[(7,)] * len(mine) for mine in requests], caches=caches
    )
    for rank, mine in enumerate(requests):
        alone = np.concatenate([model.forward(one) for one in mine])
        same(first.results[rank], alone)
        after = np.concatenate([model.forward((*one, 7))[-1:] for one in mine])
        same(again.results[rank], after)


def test_each_rank_caches_its_own_requests_alone() -> None:
    """Tensor-parallel attention would hold 1/g of each, but copies of its KV heads."""
    model, ranks = Transformer(SMALL), 8  # two KV heads
    requests = [[(1, 2, 3)] for _ in range(ranks)]
    caches = [[model.new_cache(3)] for _ in range(ranks)]
    data_parallel_attention(model, requests, caches=caches)
    own = sum(cache.num_bytes for cache in caches[0])
    part = share(model, run(_seat, ranks).results[0])
    cut = [part.new_cache(3) for _ in range(ranks)]
    for cache, (prompt,) in zip(cut, requests, strict=True):
        part.forward(prompt, cache)
    assert sum(cache.num_bytes for cache in cut) == 4 * own  # 8 ranks, 2 heads


class _Seat:
    index, num_ranks = 0, 8


def _seat(rank: Rank) -> _Seat:
    return _Seat()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: sequence_parallel(Transformer(SMALL), (1, 2, 3), 2),
            "tokens must be a multiple of num_ranks, 2, got 3",
        ),
        (
            lambda: sequence_parallel(Transformer(SMALL), (1, 2, 3), 3),
            "n_heads must be a multiple of tp, 3, got 8",
        ),
        (
            lambda: data_parallel_attention(Transformer(SMALL), [[(1, 2)], [(1,)]]),
            "equally many rows on every rank, at least 1, got [2, 1]",
        ),
    ],
)
def test_what_cannot_be_shared_out_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()  # type: ignore[operator]
