"""However a mixture of experts is run, it says the same: dense, sparse, on ranks."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.collectives import ClusterError, Rank, run
from llmserve_lab.moe import hybrid_parallel_block
from llmserve_lab.moe.layer import MoeLayer, batch, layer_of
from llmserve_lab.moe.parallel import Copies, execute, sliced
from llmserve_lab.moe.placement import Placement, contiguous, redundant
from llmserve_lab.transformer import tiny_latent, tiny_shape
from llmserve_lab.transformer.ffn import GroupLimit, Scores
from llmserve_lab.transformer.shard import RankInfo
from tests.depth import examples

CLOSE = 1e-12
COPIES: tuple[Copies, ...] = ("expert", "rank")
SCORES: tuple[Scores, ...] = ("softmax", "sigmoid")
seeds = st.integers(min_value=0, max_value=10**6)


def mixture(rng: random.Random, n_experts: int) -> MoeLayer:
    """A layer with any k, up to all experts; now and then nobody wants one of them."""
    spec = MoeFfn(
        d_ff=4,
        n_experts=n_experts,
        n_shared=rng.randint(0, 2),
        top_k=rng.choice((1, rng.randint(1, n_experts), n_experts)),
        n_dense_layers=0,
        d_ff_dense=4,
    )
    layer = layer_of(spec, d_model=4, seed=rng.randint(0, 9), scores=rng.choice(SCORES))
    pull = np.array([rng.choice((0.0, 0.3, -100.0)) for _ in range(n_experts)])
    return layer.pulled(pull)


def placed(rng: random.Random, n_experts: int, ranks: int) -> Placement:
    """Experts in order, or somehow with some of them twice."""
    if ranks == 1 or rng.random() < 0.5:
        return contiguous(n_experts, ranks)
    rows = [rng.random() + 0.01 for _ in range(n_experts)]
    return redundant(rows, ranks, ranks)


@settings(max_examples=examples(120), deadline=None, derandomize=True, database=None)
@given(seed=seeds)
def test_every_way_to_run_a_layer_says_the_same(seed: int) -> None:
    rng = random.Random(seed)
    ranks = rng.choice((1, 2, 4))
    layer = mixture(rng, ranks * rng.randint(1, 3))
    shares = [batch(rng.randint(0, 4), d_model=4, seed=i + seed) for i in range(ranks)]
    rows = np.concatenate(shares)
    expected = layer.dense(rows)
    assert np.allclose(layer.sparse(rows), expected, atol=CLOSE, rtol=0)
    where = placed(rng, layer.spec.n_experts, ranks)
    done = execute(layer, shares, placement=where, copies=rng.choice(COPIES))
    assert np.allclose(done.rows, expected, atol=CLOSE, rtol=0)


@settings(max_examples=examples(50), deadline=None, derandomize=True, database=None)
@given(seed=seeds)
def test_a_block_on_ranks_is_the_block_on_none(seed: int) -> None:
    """TP × EP × SP, batches of unequal length in one exchange."""
    rng = random.Random(seed)
    tp, teams = rng.choice((1, 2, 4)), rng.choice((1, 2))
    n_experts = tp * teams * rng.randint(1, 2)
    ffn = MoeFfn(
        d_ff=4,
        n_experts=n_experts,
        n_shared=rng.randint(0, 1),
        top_k=rng.choice((1, n_experts)),
        n_dense_layers=0,
        d_ff_dense=4,
    )
    latent = tiny_latent(d_head=2) if rng.random() < 0.5 else None
    shape = tiny_shape(
        n_layers=1, d_model=8, d_head=2, vocab=3, attention=latent, ffn=ffn
    )
    batches = [
        batch(tp * rng.randint(1, 2), d_model=8, seed=seed + i) for i in range(teams)
    ]
    done = hybrid_parallel_block.execute(
        batches, tp=tp, shape=shape, copies=rng.choice(COPIES)
    )
    for found, rows in zip(done.outputs, batches, strict=True):
        assert np.allclose(
            found, hybrid_parallel_block.uncut(rows, shape), atol=CLOSE, rtol=0
        )


@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize("top_groups", [1, 2, 4])
def test_a_router_that_is_narrowed_says_the_same(ranks: int, top_groups: int) -> None:
    spec = MoeFfn(
        d_ff=4, n_experts=16, n_shared=1, top_k=4, n_dense_layers=0, d_ff_dense=4
    )
    limit = GroupLimit(n_groups=4, top_groups=top_groups)
    layer, rows = layer_of(spec, scores="sigmoid", limit=limit), batch(11)
    done = execute(layer, np.array_split(rows, ranks), copies="rank")
    assert np.abs(done.rows - layer.dense(rows)).max() < CLOSE


@pytest.mark.parametrize("tp", [1, 2, 4])
def test_slices_of_all_experts_add_up_in_one_all_reduce(tp: int) -> None:
    layer, rows = mixture(random.Random(tp), 6), batch(5, d_model=4)
    done = run(sliced, tp, rows, layer)
    assert done.ledger.calls(rank=0) == 1
    for found in done.results:
        assert np.abs(found - layer.dense(rows)).max() < CLOSE


def test_what_cannot_be_dealt_out_is_refused() -> None:
    layer = mixture(random.Random(0), 3)
    with pytest.raises(ValueError, match="n_experts must be a multiple of the 2 ranks"):
        execute(layer, [batch(1, d_model=4)] * 2)
    for others in (4, 16):
        rows, where = [batch(1, d_model=4)] * 2, contiguous(others, 2)
        with pytest.raises(ValueError, match="placement must place the 3 experts"):
            execute(layer, rows, placement=where)
    with pytest.raises(ValueError, match="tp must be at least 1, got 0"):
        hybrid_parallel_block.execute([batch(8, d_model=32)], tp=0)
    with pytest.raises(ValueError, match="batch must have a multiple of 4 rows, got 6"):
        hybrid_parallel_block.execute([batch(6, d_model=32)], tp=4)
    with pytest.raises(TypeError, match="shape must have an MoE FFN"):
        hybrid_parallel_block.moe_of(tiny_shape(), {})


def in_threes(rank: Rank) -> RankInfo:
    from llmserve_lab.collectives.group import group

    return group(rank, 3)


def test_ranks_that_make_no_groups_are_refused() -> None:
    with pytest.raises(ClusterError) as caught:
        run(in_threes, 4)
    message = "size must divide the number of ranks, 4, got 3"
    assert message in str(caught.value.__cause__)
