"""Ring attention gives what one rank gives; its bytes and its work are counted."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.parallelism.context import ContextTurn, context_parallel, in_order
from llmserve_lab.parallelism.dealing import contiguous, pairs_of, zigzag
from llmserve_lab.parallelism.model import SMALL
from llmserve_lab.transformer import Transformer, attend, causal_mask
from llmserve_lab.transformer.attended_piece import attend_piece
from llmserve_lab.transformer.online_softmax import merge
from tests.depth import examples
from tests.parallelism.alone import SHAPES, same, tokens

RANKS = st.sampled_from([1, 2, 3, 4])
DEALS = st.sampled_from([contiguous, zigzag])
METHODS = st.sampled_from(["pass-KV", "pass-Q"])


@given(
    shape=SHAPES, ranks=RANKS, first=METHODS, then=METHODS, deal=DEALS,
    prefix=st.integers(1, 2), new=st.integers(1, 2), answer=st.integers(0, 3),
)  # fmt: skip
@settings(max_examples=examples(20))
def test_turns_on_a_ring_are_turns_on_one_rank(
    shape: ModelShape, ranks: int, first: str, then: str, deal: object,
    prefix: int, new: int, answer: int,
) -> None:  # fmt: skip
    model = Transformer(shape)
    old, fresh = (tokens(shape, 2 * ranks * n, seed=n) for n in (prefix, new))
    after = tokens(shape, answer, seed=9)
    turns = [ContextTurn(old, first, deal)]  # type: ignore[arg-type]
    turns.append(ContextTurn(fresh, then, deal))  # type: ignore[arg-type]
    turns += [ContextTurn((one,), "decode") for one in after]
    done = context_parallel(model, turns, ranks)
    wanted = model.forward(old + fresh + after)
    found = in_order(done.results)
    assert len(found) == (1 if answer else len(fresh))
    same(found, wanted[-len(found) :])


@given(ranks=RANKS, method=METHODS, deal=DEALS, pieces=st.integers(1, 3))
@settings(max_examples=examples(15))
def test_every_pair_is_computed_once(
    ranks: int, method: str, deal: object, pieces: int
) -> None:
    prompt = tokens(SMALL, 2 * ranks * pieces, 0)
    turn = ContextTurn(prompt, method, deal)  # type: ignore[arg-type]
    outputs = context_parallel(Transformer(SMALL), [turn], ranks).results
    done = sum(pairs for each in outputs for _, _, pairs in each.pieces)
    assert done == SMALL.n_layers * int(causal_mask(len(prompt), len(prompt)).sum())


@given(ranks=st.integers(1, 8), pieces=st.integers(1, 5))
def test_zigzag_is_equal_work_in_every_step_of_the_ring(
    ranks: int, pieces: int
) -> None:
    n = 2 * ranks * pieces
    dealt = zigzag(n, ranks)
    assert sorted(np.concatenate(dealt)) == list(range(n))
    assert len({pairs_of(places) for places in dealt}) == 1
    seen = [[(k[None] <= q[:, None]).sum() for k in dealt] for q in dealt]
    others = {int(seen[i][j]) for i in range(ranks) for j in range(ranks) if i != j}
    assert len(others) <= 1  # whatever two ranks meet


@given(ranks=st.integers(1, 8), pieces=st.integers(1, 5))
def test_contiguous_leaves_most_of_the_work_to_the_last(
    ranks: int, pieces: int
) -> None:
    work = [pairs_of(places) for places in contiguous(ranks * pieces, ranks)]
    assert work == sorted(work) and work[-1] == max(work)
    assert sum(work) == ranks * pieces * (ranks * pieces + 1) // 2


@given(ranks=RANKS, prefix=st.integers(0, 3), new=st.integers(1, 2))
@settings(max_examples=examples(10))
def test_bytes_of_both_methods(ranks: int, prefix: int, new: int) -> None:
    spec = SMALL.attention
    assert isinstance(spec, GroupedQueryAttention)
    old, fresh = (tokens(SMALL, 2 * ranks * n, 0) for n in (prefix, new))
    model, before = Transformer(SMALL), [ContextTurn(old)] if old else []
    base = context_parallel(model, before, ranks).ledger.sent_bytes() if old else 0
    kv = context_parallel(model, [*before, ContextTurn(fresh)], ranks).ledger
    q = context_parallel(model, [*before, ContextTurn(fresh, "pass-Q")], ranks).ledger
    number, others = 8 * SMALL.n_layers, ranks - 1
    keys = 2 * spec.n_kv_heads * spec.d_head * (len(old) + len(fresh))
    assert kv.sent_bytes() - base == number * others * keys
    queries = (2 * spec.d_head + 1) * spec.n_heads * len(fresh)
    assert q.sent_bytes() - base == number * others * queries


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.integers(0, 9))
@settings(max_examples=examples(25))
def test_pieces_merge_to_the_whole(cuts: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = sum(cuts) + 1
    query, key, value = (
        rng.standard_normal(s) for s in ((3, 4, 5), (m, 2, 5), (m, 2, 6))
    )
    mask = rng.random((3, m)) < 0.5
    mask[:, -1] = True
    ends = np.cumsum([*cuts, 1])
    parts = [
        attend_piece(query, key[i:j], value[i:j], mask[:, i:j])
        for i, j in zip([0, *ends[:-1]], ends, strict=True)
    ]
    whole = attend(query, key, value, mask)
    same(merge(parts).output, whole)
    twice = merge([merge(parts[:1]), *parts[1:]])
    same(twice.output, whole)


def _no_method() -> ContextTurn:
    return ContextTurn((1,), "pass-V")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: merge([]), "parts must hold at least 1 split, got none"),
        (
            lambda: zigzag(10, 4),
            "n_tokens must be a multiple of 8, 2 for each of 4 ranks, got 10",
        ),
        (
            lambda: contiguous(10, 4),
            "n_tokens must be a multiple of 4, 1 for each of 4 ranks, got 10",
        ),
        (lambda: zigzag(0, 4), "n_tokens must be at least 1 token, got 0"),
        (lambda: zigzag(8, 0), "num_ranks must be at least 1, got 0"),
        (_no_method, "method must be "),
        (
            lambda: context_parallel(Transformer(SMALL), [], 2),
            "turns must hold at least 1 turn, got none",
        ),
        (
            lambda: context_parallel(Transformer(SMALL), [ContextTurn((1, 2, 3))], 2),
            "n_tokens must be a multiple of 4, 2 for each of 2 ranks, got 3",
        ),
    ],
)  # fmt: skip
def test_what_cannot_go_round_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()  # type: ignore[operator]
