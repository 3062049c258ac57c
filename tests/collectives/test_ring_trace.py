"""Rings that really go round give what the collectives give, and send as much."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.collectives import ring_trace, run


@pytest.mark.parametrize("ranks", [2, 3, 4, 7])
def test_a_ring_gives_the_sums_of_an_all_reduce(ranks: int) -> None:
    start = ring_trace.numbers(ranks)
    held = [steps[-1].held for steps in ring_trace.play(ring_trace.all_reduce, start)]
    done = run(lambda rank: rank.all_reduce(np.array(start[rank.index])), ranks)
    for found, right in zip(held, done.results, strict=True):
        assert found == tuple(right)
    sent = ring_trace.play(ring_trace.all_reduce, start)[0][-1].sent_bytes
    assert sent == done.ledger.sent_bytes(rank=0)


@pytest.mark.parametrize("ranks", [2, 4, 5])
def test_one_shot_gives_the_same_and_sends_more(ranks: int) -> None:
    start = ring_trace.numbers(ranks)
    shot, ring = (
        ring_trace.play(made, start)
        for made in (ring_trace.one_shot, ring_trace.all_reduce)
    )
    assert [s[-1].held for s in shot] == [s[-1].held for s in ring]
    assert len(shot[0]) == 2 and len(ring[0]) == 2 * (ranks - 1) + 1
    assert shot[0][-1].sent_bytes == ranks * ring[0][-1].sent_bytes // 2


@pytest.mark.parametrize("ranks", [2, 4, 5])
def test_two_shots_give_the_same_and_send_what_a_ring_sends(ranks: int) -> None:
    start = ring_trace.numbers(ranks)
    two, ring = (
        ring_trace.play(made, start)
        for made in (ring_trace.two_shot, ring_trace.all_reduce)
    )
    assert [s[-1].held for s in two] == [s[-1].held for s in ring]
    assert len(two[0]) == 3 and two[0][-1].sent_bytes == ring[0][-1].sent_bytes


@pytest.mark.parametrize("ranks", [2, 4, 5])
def test_a_switch_gives_the_same_and_each_sends_its_tensor_once(ranks: int) -> None:
    start = ring_trace.numbers(ranks)
    *gpus, switch = ring_trace.play(ring_trace.in_switch, [*start, [0.0] * ranks])
    ring = ring_trace.play(ring_trace.all_reduce, start)
    assert [s[-1].held for s in gpus] == [s[-1].held for s in ring]
    assert all(s[-1].sent_bytes == 8 * ranks for s in gpus)
    assert switch[-1].sent_bytes == 8 * ranks * ranks


def test_a_gather_begins_where_a_scatter_ends() -> None:
    ended = ring_trace.play(ring_trace.reduce_scatter, ring_trace.numbers(4))
    begun = ring_trace.numbers(4, gathered=True)
    for rank, steps in enumerate(ended):
        mine = (rank + 1) % 4
        assert steps[-1].held[mine] == begun[rank][mine]
