"""However a matrix, a block or a model is cut, what comes out is the same."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.ffn import GeluFfn, SwigluFfn
from llmserve_lab.collectives import ClusterError, Rank, run
from llmserve_lab.tensor_parallel import article
from llmserve_lab.tensor_parallel.block import PAIRED, STRATEGIES, Strategy, block
from llmserve_lab.tensor_parallel.cuts import by_columns, by_rows
from llmserve_lab.transformer import Transformer, tiny_latent, tiny_moe, tiny_shape
from llmserve_lab.transformer.arithmetic import Array
from tests.depth import examples

DEGREES = (1, 2, 4, 8)
every_degree = pytest.mark.parametrize("tp", DEGREES)
every_strategy = pytest.mark.parametrize("name", STRATEGIES)


@every_degree
def test_one_matrix_two_cuts(tp: int) -> None:
    rng = np.random.default_rng(tp)
    rows, weight = rng.standard_normal((3, 16)), rng.standard_normal((16, 24))
    for cut, call in ((by_columns, "all_gather"), (by_rows, "all_reduce")):
        done = run(cut, tp, rows, weight)
        assert done.ledger.calls(rank=0) == done.ledger.calls(call, rank=0) == 1
        for found in done.results:
            assert found == pytest.approx(rows @ weight, abs=1e-12)


@every_degree
@every_strategy
def test_a_block_is_the_same_on_every_rank_as_on_none(name: str, tp: int) -> None:
    rows = article.batch()
    for found in article.execute(name, tp, rows).outputs:
        assert np.abs(found - article.uncut(rows)).max() < 1e-12


def blocks(
    rank: Rank, model: Transformer, tokens: list[int], strategy: Strategy
) -> Array:
    """Logits after block upon block, cut as the strategy says."""
    rows = model.weights.embedding[tokens]
    view = article.view_of(len(rows))
    for index in range(model.shape.n_layers):
        layer = model.weights.layer(index)
        rows = block(rank, rows, layer, model.shape, view, strategy)
    return model.logits(rows)


@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(
    tp=st.sampled_from(DEGREES[1:]),
    n_kv_heads=st.sampled_from(DEGREES),
    gelu=st.booleans(),
    bias=st.booleans(),
    norm=st.sampled_from(("rms", "layer")),
    name=st.sampled_from(tuple(STRATEGIES)),
    tokens=st.lists(st.integers(0, 60), min_size=1, max_size=6),
)
def test_a_model_gives_the_same_logits_at_every_degree(
    tp: int,
    n_kv_heads: int,
    gelu: bool,
    bias: bool,
    norm: Literal["rms", "layer"],
    name: str,
    tokens: list[int],
) -> None:
    shape = tiny_shape(
        n_layers=1,
        attention=GroupedQueryAttention(
            n_heads=8,
            n_kv_heads=n_kv_heads,
            d_head=4,
            qkv_bias=bias,
            out_bias=bias,
            qk_norm=bias,
        ),
        ffn=GeluFfn(d_ff=48) if gelu else SwigluFfn(d_ff=48),
        norm=norm,
    )
    model = Transformer(shape, seed=tp)
    done = run(blocks, tp, model, tokens, STRATEGIES[name])
    expected = model.forward(tokens)
    assert all(np.abs(logits - expected).max() < 1e-10 for logits in done.results)
    assert done.ledger.calls(rank=0) == {"gathered": 4, "paired": 2}[name]


@pytest.mark.parametrize(
    ("shape", "tp", "message"),
    [
        (tiny_shape(n_heads=4), 3, "n_heads must be a multiple of tp, 3, got 4"),
        (tiny_shape(attention=tiny_latent()), 2, "must have grouped-query attention"),
        (tiny_shape(ffn=tiny_moe(n_dense_layers=0)), 2, "must have a dense FFN"),
    ],
)
def test_a_block_that_is_cut_otherwise_is_refused(
    shape: ModelShape, tp: int, message: str
) -> None:
    with pytest.raises(ClusterError, match="raised") as caught:
        run(blocks, tp, Transformer(shape), [1, 2], PAIRED)
    assert message in str(caught.value.__cause__)


def test_a_matrix_that_cannot_be_shared_equally_is_refused() -> None:
    with pytest.raises(ClusterError) as caught:
        run(by_rows, 2, np.ones((1, 3)), np.ones((3, 4)))
    assert "axis 1 must be a multiple of tp, 2, got 3" in str(caught.value.__cause__)


def test_an_unknown_strategy_is_named() -> None:
    with pytest.raises(ValueError, match="strategy must be one of gathered, paired"):
        article.execute("halved", 2, article.batch())
