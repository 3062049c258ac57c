"""Cuts on ranks that really exchange: what changes, and what never does."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.collectives import Ledger, Rank, run
from llmserve_lab.tensor_parallel import article, midhead
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel.model import forward
from llmserve_lab.transformer import Transformer, tiny_shape
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.shard import kv_columns


def ledger(strategy: str, tp: int = 2) -> Ledger:
    """What the ranks of the article's block exchanged."""
    return article.execute(strategy, tp, article.batch()).ledger


def steps(of: Ledger) -> int:
    """Steps of the ring that a rank waits for, one after another."""
    return sum(record.wire.steps for record in of.select(rank=0))


@pytest.mark.parametrize("strategy", ["gathered", "paired"])
@pytest.mark.parametrize("tp", [2, 4, 8])
def test_a_cut_changes_where_and_never_what(strategy: str, tp: int) -> None:
    rows = article.batch(seed=tp)
    for found in article.execute(strategy, tp, rows).outputs:
        assert np.abs(found - article.uncut(rows)).max() < 1e-12


@pytest.mark.parametrize("tp", [2, 4, 8])
def test_pairing_halves_the_calls_but_neither_bytes_nor_latency(tp: int) -> None:
    one, other = ledger("gathered", tp), ledger("paired", tp)
    assert other.calls(rank=0) * 2 == one.calls(rank=0)
    assert other.sent_bytes(rank=0) / one.sent_bytes(rank=0) == pytest.approx(4 / 7)
    assert steps(other) == steps(one)


def test_a_cut_through_a_head_costs_a_third_all_reduce_or_the_answer() -> None:
    rows, weights = article.batch()[:, :64], midhead.projections(64, 1)
    assert midhead.execute(2, rows, weights).ledger.calls(rank=0) == 2
    assert midhead.error(2, rows, weights, synced=True) < 1e-12
    assert midhead.error(2, rows, weights, synced=False) > 0.01


def test_scores_grow_with_the_square_of_the_rows() -> None:
    weights = midhead.projections(16, 2)
    sent = [
        midhead.execute(2, article.batch(n_rows=n)[:, :16], weights)
        .ledger.records[0][0]
        .tensor_bytes
        for n in (4, 8)
    ]
    assert sent[1] == 4 * sent[0]


def test_beyond_its_kv_heads_a_model_copies_its_cache() -> None:
    def kept(rank: Rank, weight: Array) -> int:
        return int(kv_columns(weight, 2, rank).shape[1])

    weight = np.zeros((1, 2 * 3))
    assert [run(kept, tp, weight).results[0] for tp in (1, 2, 4, 8)] == [6, 3, 3, 3]


def test_heads_are_copied_whole_or_not_at_all() -> None:
    assert f.KV_COPIES(n_ranks=16, n_kv_heads=8) == 2
    with pytest.raises(ValueError, match=r"kv_copies must be a whole .* got 1\.5"):
        f.KV_COPIES(n_ranks=12, n_kv_heads=8)


@pytest.mark.parametrize("n_layers", [1, 2, 5])
def test_a_model_exchanges_two_all_reduces_a_layer(n_layers: int) -> None:
    model = Transformer(tiny_shape(n_layers=n_layers))
    done = run(forward, 2, model, [3, 1, 4])
    assert done.ledger.calls("all_reduce", rank=0) == 2 * n_layers
    assert done.ledger.calls(rank=0) == 2 * n_layers
