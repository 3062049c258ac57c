"""What the ledger counts is what a ring that is really run puts on the wire."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.catalog import LINKS
from llmserve_lab.collectives import Ledger, Rank, run
from llmserve_lab.collectives.backend import Array
from llmserve_lab.collectives.ledger import ON_THE_WIRE
from llmserve_lab.collectives.ring_algorithm import broadcast
from llmserve_lab.formula.text import si
from tests.collectives.programs import own, ring_all_reduce, routed, swap

RANKS = st.integers(1, 8)
NVLINK = LINKS["nvlink4"]


def ledger_of(num_ranks: int) -> Ledger:
    """Three all-reduces and a gather of 8-byte numbers, 12 on each rank."""

    def program(rank: Rank) -> Array:
        x = np.ones(12)
        for _ in range(3):
            x = rank.all_reduce(x)
        return rank.all_gather(x, axis=0)

    return run(program, num_ranks).ledger


@given(num_ranks=RANKS, elements=st.integers(0, 40))
def test_the_executed_ring_moves_the_bytes_of_an_all_reduce(
    num_ranks: int, elements: int
) -> None:
    """On every rank, both ways, in as many steps and seconds, for uneven chunks too."""
    x = own(0, elements)
    ring = run(lambda rank: ring_all_reduce(rank, x), num_ranks).ledger
    closed = run(lambda rank: rank.all_reduce(x), num_ranks).ledger
    for rank in range(num_ranks):
        assert ring.sent_bytes(rank=rank) == closed.sent_bytes(rank=rank)
        assert ring.received_bytes(rank=rank) == closed.received_bytes(rank=rank)
        assert ring.calls("sendrecv", rank=rank) == 2 * (num_ranks - 1)
        if elements % num_ranks == 0:  # equal chunks: no step waits for a longer one
            assert ring.seconds(NVLINK, rank=rank) == pytest.approx(
                closed.seconds(NVLINK, rank=rank)
            )


def around(rank: Rank, own_chunk: Array) -> list[Array]:
    """The all-gather of the ring: pass on what came, until all have all."""
    p, i = rank.num_ranks, rank.index
    held = [own_chunk]
    for _ in range(p - 1):
        held.append(rank.sendrecv(held[-1], dst=(i + 1) % p, src=(i - 1) % p))
    return held


@given(num_ranks=RANKS, elements=st.integers(0, 9))
def test_the_executed_ring_moves_the_bytes_of_an_all_gather(
    num_ranks: int, elements: int
) -> None:
    ring = run(lambda rank: around(rank, own(0, elements)), num_ranks).ledger
    closed = run(lambda rank: rank.all_gather(own(0, elements), axis=0), num_ranks)
    for rank in range(num_ranks):
        sent = closed.ledger.sent_bytes(rank=rank)
        assert ring.sent_bytes(rank=rank) == sent
        assert sent * num_ranks == (num_ranks - 1) * closed.ledger.tensor_bytes(
            rank=rank
        )


@given(num_ranks=RANKS, root=st.integers(0, 7))
def test_a_broadcast_is_passed_from_neighbour_to_neighbour(
    num_ranks: int, root: int
) -> None:
    root %= num_ranks

    def passed_on(rank: Rank) -> None:
        place = (rank.index - root) % num_ranks
        x = own(0, 5) if place == 0 else rank.recv(src=(rank.index - 1) % num_ranks)
        if place < num_ranks - 1:
            rank.send(x, dst=(rank.index + 1) % num_ranks)

    by_hand = run(passed_on, num_ranks).ledger
    closed = run(lambda rank: rank.broadcast(own(0, 5), root=root), num_ranks).ledger
    for rank in range(num_ranks):
        assert by_hand.sent_bytes(rank=rank) == closed.sent_bytes(rank=rank)
        assert by_hand.received_bytes(rank=rank) == closed.received_bytes(rank=rank)


def test_all_to_all_counts_what_leaves_the_rank() -> None:
    ledger, row_bytes = run(swap, 4).ledger, 16
    for rank in range(4):
        out = [routed(rank, dst) for dst in range(4)]
        into = [routed(src, rank) for src in range(4)]
        assert ledger.tensor_bytes(rank=rank) == row_bytes * sum(out)
        others = [dst for dst in range(4) if dst != rank]
        assert ledger.sent_bytes(rank=rank) == row_bytes * sum(out[i] for i in others)
        assert ledger.received_bytes(rank=rank) == row_bytes * sum(
            into[i] for i in others
        )


def test_what_leaves_the_ranks_comes_in_somewhere() -> None:
    for program in (swap, lambda rank: ring_all_reduce(rank, own(0, 7))):
        ledger = run(program, 5).ledger
        assert ledger.sent_bytes() == ledger.received_bytes() > 0


def test_one_rank_alone_sends_nothing_and_takes_no_time() -> None:
    ledger = ledger_of(1)
    assert ledger.calls() == 4
    assert ledger.sent_bytes() == 0
    assert ledger.seconds(NVLINK, rank=0) == 0


def test_calls_and_bytes_are_kept_per_rank_and_call() -> None:
    ledger = ledger_of(4)
    assert ledger.calls("all_reduce") == 12
    assert ledger.calls("all_reduce", rank=2) == 3
    assert ledger.tensor_bytes("all_gather", rank=0) == 4 * 12 * 8
    assert ledger.sent_bytes("all_reduce", rank=0) == 3 * (2 * 3 * 24)
    assert [each.shape for each in ledger.select(rank=1)] == [(12,)] * 3 + [(48,)]


def test_time_is_latency_and_bandwidth() -> None:
    """No byte: latency alone. No latency: bytes alone. Slower link: longer."""
    ledger = ledger_of(4)
    idle = run(lambda rank: rank.barrier(), 4).ledger
    assert idle.seconds(NVLINK, rank=0, latency_s=1.0) == 6
    link = replace(NVLINK, bandwidth=replace(NVLINK.bandwidth, value=1.0))
    assert ledger.seconds(link, "all_gather", rank=0, latency_s=0) == 3 * 12 * 8
    half = ledger.seconds(link, "all_gather", rank=0, latency_s=0, eff_link=0.5)
    assert half == 2 * 3 * 12 * 8
    assert ledger.seconds(NVLINK, rank=0) > 21 * 3.33e-6


def test_an_uneven_exchange_waits_for_its_busier_direction() -> None:
    def all_to_first(rank: Rank) -> None:
        rank.all_to_all(np.ones(6, np.int8), [6, 0, 0])

    ledger = run(all_to_first, 3).ledger
    link = replace(NVLINK, bandwidth=replace(NVLINK.bandwidth, value=1.0))
    seconds = [ledger.seconds(link, rank=rank, latency_s=0) for rank in range(3)]
    assert seconds == [12, 6, 6]


def test_a_link_without_latency_wants_one() -> None:
    ledger = ledger_of(2)
    with pytest.raises(ValueError, match="latency_s must be given for NVLink 5"):
        ledger.table(LINKS["nvlink5"])
    assert "1 µs per step" in repr(ledger.table(LINKS["nvlink5"], latency_s=1e-6))


def test_a_wrong_question_is_refused() -> None:
    ledger = ledger_of(2)
    with pytest.raises(ValueError, match=r"call must be one of .* got 'allreduce'"):
        ledger.calls("allreduce")
    with pytest.raises(ValueError, match="rank must be from 0 to 1, got 2"):
        ledger.calls(rank=2)
    with pytest.raises(
        ValueError, match="latency_s must be finite and at least 0, got"
    ):
        ledger.seconds(NVLINK, rank=0, latency_s=-1)
    with pytest.raises(ValueError, match=r"eff_link must be in \(0, 1\], got 0"):
        ledger.seconds(NVLINK, rank=0, eff_link=0)


def test_it_prints_as_a_table() -> None:
    ledger = ledger_of(4)
    rows = ledger.table().rows
    assert rows[0] == ("0", "all_reduce", 3, 288, 432)
    assert rows[-1] == ("3", "all_gather", 1, 384, 288)
    assert repr(ledger) == repr(ledger.table())
    assert "<caption>Exchanged between 4 ranks" in ledger._repr_html_()
    assert ledger.table(NVLINK).columns[-1] == "time on NVLink 4 (H100, H200)"


@given(num_ranks=st.integers(2, 9), root=st.integers(0, 8))
def test_the_last_of_a_pipe_hears_after_as_many_steps_as_others(
    num_ranks: int, root: int
) -> None:
    """Counted: at each step every rank that has it tells its neighbour."""
    told, steps = {root % num_ranks}, 0
    while len(told) < num_ranks:
        told |= {(rank + 1) % num_ranks for rank in told}
        steps += 1
    for rank in range(num_ranks):
        sent = broadcast(5, rank, root=root % num_ranks, num_ranks=num_ranks)
        assert sent.steps == steps


def test_a_note_states_the_bandwidth_at_which_its_seconds_were_counted() -> None:
    ledger = ledger_of(3)
    notes = ledger.table(NVLINK, latency_s=0.0, eff_link=0.5).notes
    (note,) = (each for each in notes if each != ON_THE_WIRE)
    one_way = max(ledger.sent_bytes(rank=0), ledger.received_bytes(rank=0)) / (
        ledger.seconds(NVLINK, rank=0, latency_s=0.0, eff_link=0.5)
    )
    assert note == f"0 s per step, {si(one_way, 'byte/s')} one way"
    assert one_way == pytest.approx(float(NVLINK.bandwidth) / 2)
