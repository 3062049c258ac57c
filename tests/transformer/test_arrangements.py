"""One small model, cut, packed and cached every way at once: always the same logits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.collectives import ClusterRun, Rank, run
from llmserve_lab.collectives.formulas import ALL_REDUCE_BYTES
from llmserve_lab.transformer import PLAIN, Execution, Transformer, cumulative
from llmserve_lab.transformer.arithmetic import Array, Integers
from llmserve_lab.transformer.shard import check_degree, share
from llmserve_lab.varlen.strategies import WAYS
from tests.depth import examples
from tests.transformer.shapes import prompt, seeds, shapes

CASES = 150  # and four times as many in the deep tests
FLOAT = 8  # bytes of a number in NumPy
# Tokens and requests at most: one batch in twelve is a long one.
SIZES = st.sampled_from([(4, 3)] * 11 + [(20, 6)])


@dataclass(frozen=True)
class Case:
    """A model, and requests of some lengths, end to end."""

    model: Transformer
    lengths: list[int]
    tokens: Integers

    @property
    def requests(self) -> list[Integers]:
        return [self.tokens[a:b] for a, b in pairwise(cumulative(self.lengths))]

    @property
    def degrees(self) -> list[int]:
        """Every number of ranks, two or more, over which this model can be cut."""
        heads = self.model.shape.attention.n_heads
        return [tp for tp in range(2, heads + 1) if can_be_cut(self.model.shape, tp)]


def can_be_cut(shape: ModelShape, tp: int) -> bool:
    try:
        check_degree(shape, tp)
    except ValueError:
        return False
    return True


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Every kind of model; FFNs as wide as lets them follow their heads."""
    shape = draw(shapes(most_layers=2))
    heads, ffn = shape.attention.n_heads, shape.ffn
    wide = replace(ffn, d_ff=ffn.d_ff * heads)
    if isinstance(wide, MoeFfn):
        wide = replace(wide, d_ff_dense=wide.d_ff_dense * heads)
    model = Transformer(replace(shape, ffn=wide), seed=draw(st.integers(0, 99)))
    longest, most = draw(SIZES)
    lengths = draw(st.lists(st.integers(1, longest), min_size=1, max_size=most))
    return Case(model, lengths, prompt(model, sum(lengths), draw(seeds)))


def decoded(model: Transformer, request: Integers, run: Execution) -> Array:
    """Half the request at once, the rest token by token; the cache is as foretold."""
    cache, half = model.new_cache(len(request)), (len(request) + 1) // 2
    parts = [request[:half], *(request[i : i + 1] for i in range(half, len(request)))]
    logits = [model.forward(part, cache, run=run) for part in parts]
    foretold = model.shape.kv_bytes_per_token(FLOAT) * len(request)
    assert cache.num_bytes == cache.capacity_bytes == foretold
    return np.concatenate(logits)


def on_ranks(rank: Rank, case: Case) -> list[Array]:
    """A rank's share: one request alone, the same from a cache, all in a stack."""
    mine = share(case.model, rank)
    own = replace(PLAIN, reduce=rank.all_reduce)
    one = case.requests[0]
    packed = mine.forward_packed(case.tokens, cumulative(case.lengths), run=own)
    return [mine.forward(one, run=own), decoded(mine, one, own), packed]


def check_the_ledger(case: Case, tp: int, done: ClusterRun[list[Array]]) -> None:
    """Two all-reduces a layer and pass, and in all the bytes of the closed form."""
    shape, ledger, first = case.model.shape, done.ledger, case.lengths[0]
    passes, rows = 3 + first // 2, 2 * first + len(case.tokens)
    calls = passes * 2 * shape.n_layers
    assert ledger.calls() == ledger.calls("all_reduce") == tp * calls
    tensors = rows * 2 * shape.n_layers * shape.d_model * FLOAT
    per_rank = float(ALL_REDUCE_BYTES(n_ranks=tp, tensor_bytes=tensors))
    assert ledger.sent_bytes() == round(per_rank * tp)


def check(case: Case) -> None:
    model, requests = case.model, case.requests
    alone = np.concatenate([model.forward(each) for each in requests])
    found = [np.concatenate([decoded(model, each, PLAIN) for each in requests])]
    for way in WAYS.values():
        found.append(np.concatenate(way(model, case.tokens, case.lengths).logits))
    for tp in case.degrees:
        done = run(on_ranks, tp, case)
        check_the_ledger(case, tp, done)
        found += [logits for each in done.results for logits in each]
    for logits in found:
        assert np.abs(logits - alone[: len(logits)]).max() < 1e-10


@pytest.mark.long
def test_every_arrangement_gives_the_same_logits(
    record_property: Callable[[str, object], None],
) -> None:
    """Naive, cached, padded, masked, varlen; all again on ranks of every degree."""
    seen: list[int] = []

    @given(case=cases())
    @settings(max_examples=examples(CASES))
    def every_case(case: Case) -> None:
        check(case)
        seen.append(len(case.degrees))

    every_case()
    assert len(seen) >= CASES
    cuts = f"cut over ranks {sum(seen)} times"
    line = f"same logits in every arrangement: {len(seen)} random cases, {cuts}"
    record_property("report", line)
