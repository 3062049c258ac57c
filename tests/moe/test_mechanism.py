"""Experts on ranks: counted by drawing crowds, bytes on the ledgers of ranks."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.catalog import MODELS, accelerator
from llmserve_lab.moe import hybrid_parallel_block
from llmserve_lab.moe.layer import MoeLayer, batch, layer_of
from llmserve_lab.moe.models import moe_of, per_layer
from llmserve_lab.moe.parallel import execute, execute_sliced, pack, row_bytes
from llmserve_lab.moe.placement import balance, contiguous, redundant
from llmserve_lab.moe.routing_sampler import (
    draw,
    mean_distinct,
    popular,
    rows_of_experts,
)
from llmserve_lab.transformer.arithmetic import Array

DEEPSEEK = MODELS["deepseek-v3"]
SPEC = moe_of(DEEPSEEK)
ALIKE = np.ones(SPEC.n_experts)
WIDTH = 16


def small() -> tuple[MoeLayer, Array]:
    """A layer of sixteen experts, and some rows."""
    layer = layer_of(
        moe_of(hybrid_parallel_block.SMALL), d_model=WIDTH, scores="sigmoid"
    )
    return layer, batch(32, d_model=WIDTH)


def ridge() -> float:
    device = accelerator("h100-sxm")
    return float(device.peak("bf16")) / float(device.hbm_bw)


def test_a_layer_says_the_same_however_it_is_run() -> None:
    layer, rows = small()
    expected = layer.dense(rows)
    found = [layer.sparse(rows), execute_sliced(layer, rows, num_ranks=4).outputs[3]]
    found += [execute(layer, np.array_split(rows, g)).rows for g in (1, 2, 8)]
    busy = redundant(np.arange(1, 17), 4, extra=8)
    found.append(execute(layer, np.split(rows, 4), placement=busy).rows)
    for each in found:
        assert np.abs(each - expected).max() < 1e-12


def test_a_batch_of_sixty_four_touches_most_experts_of_deepseek_v3() -> None:
    one, many = (mean_distinct(ALIKE, n_rows=n, top_k=SPEC.top_k) for n in (1, 64))
    assert one == SPEC.top_k
    assert 0.8 * SPEC.n_experts < many < 0.9 * SPEC.n_experts
    stored, active = per_layer(DEEPSEEK)
    expert = (stored - active) / (SPEC.n_experts - SPEC.top_k)
    assert active + (many - SPEC.top_k) * expert > 20 * active


def test_batches_that_share_experts_read_fewer() -> None:
    """Two batches drawn apart, and their experts together, each counted once."""
    one, other = (draw(ALIKE, n_rows=32, top_k=8, seed=i) for i in (1, 2))
    together = len(np.unique(np.concatenate([one, other])))
    apart = len(np.unique(one)) + len(np.unique(other))
    assert together < 0.75 * apart


def test_experts_need_many_times_the_rows_of_a_dense_model() -> None:
    """Rows until the mean expert gets as many as a dense FFN needs at its ridge."""
    rows_of_dense = ridge()  # two FLOPs a parameter and row, two bytes a parameter
    chosen = draw(ALIKE, n_rows=2000, top_k=SPEC.top_k)
    per_row = rows_of_experts(chosen, SPEC.n_experts).mean() / 2000
    assert rows_of_dense / per_row == pytest.approx(
        rows_of_dense * SPEC.n_experts / SPEC.top_k
    )
    assert rows_of_dense / per_row > 9000


@pytest.mark.parametrize(("tp", "reaches"), [(1, True), (4, True), (8, False)])
def test_a_slice_of_an_eighth_never_reaches_the_ridge(tp: int, reaches: bool) -> None:
    """Batches up to a hundred million rows, FLOPs and bytes of one product counted."""
    width, columns = DEEPSEEK.d_model, SPEC.d_ff // tp
    best = max(
        2 * n * width * columns / (2 * (width * columns + n * width + n * columns))
        for n in (10**power for power in range(9))
    )
    assert (best > ridge()) is reaches


def test_slicing_needs_one_all_reduce() -> None:
    layer, rows = small()
    ledger = execute_sliced(layer, rows, num_ranks=4).ledger
    assert ledger.calls(rank=0) == ledger.calls("all_reduce", rank=0) == 1
    assert layer.spec.n_experts > 1


def test_a_copy_for_each_rank_sends_less() -> None:
    layer, rows = small()
    shares = np.split(rows, 4)
    each, once = (
        row_bytes(execute(layer, shares, copies=c).ledger, WIDTH)
        for c in ("expert", "rank")
    )
    assert once < 0.8 * each
    assert row_bytes(execute(layer, [rows]).ledger, WIDTH) == 0


def test_scatter_and_gather_send_what_an_all_reduce_sends() -> None:
    rows = [batch(8, d_model=32, seed=i) for i in range(2)]
    ledger = hybrid_parallel_block.execute(rows, tp=4).ledger
    whole = hybrid_parallel_block.all_reduced(rows[0], num_ranks=4)
    for rank in range(8):
        scatter, gather = (
            ledger.sent_bytes(c, rank=rank) for c in ("reduce_scatter", "all_gather")
        )
        assert scatter == gather == whole.sent_bytes(rank=rank % 4) / 2


def test_without_the_scatter_rows_are_dispatched_again_and_again() -> None:
    layer, rows = small()
    where = contiguous(layer.spec.n_experts, 8)

    def copies(mine: Array) -> int:
        return sum(pack(*layer.route(mine), where, copies="expert").counts)

    assert sum(copies(rows) for _ in range(4)) == 4 * sum(
        copies(part) for part in np.split(rows, 4)
    )


def test_copies_level_what_placing_alone_cannot() -> None:
    rows = popular(n_experts=256, n_rows=4096, top_k=8, steepness=0.8)
    plain, placed, copied = (
        balance(where.loads(rows))
        for where in (contiguous(256, 32), redundant(rows, 32), redundant(rows, 32, 32))
    )
    assert plain < placed < 0.5 < 0.95 < copied


def test_copies_of_an_expert_share_its_rows() -> None:
    """What the loads of a placement say is what the ranks are really sent."""
    layer, rows = small()
    chosen, weight = layer.route(rows)
    where = redundant(rows_of_experts(chosen, 16), 4, extra=4)
    counts = np.array(pack(chosen, weight, where, copies="expert").counts)
    assert counts.sum() == chosen.size
    assert counts == pytest.approx(
        where.loads(rows_of_experts(chosen, 16)), abs=len(where.seats[0])
    )
