"""The ring's closed forms, counted by ledgers of collectives that really ran."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from llmserve_lab.catalog import LINKS
from llmserve_lab.catalog.records.link import Link
from llmserve_lab.collectives import Ledger, Rank, run
from llmserve_lab.collectives import formulas as f
from tests.collectives.programs import ring_all_reduce
from tests.counted import Case, counts


def size(rng: random.Random) -> dict[str, float]:
    """Ranks, and a tensor of single bytes that they can share equally."""
    ranks = rng.randint(1, 8)
    return {"n_ranks": ranks, "tensor_bytes": ranks * rng.randint(1, 50)}


def wires(rng: random.Random) -> tuple[Link, dict[str, float]]:
    """A link with made-up numbers, and the same numbers by name."""
    values = {
        "link_bw": float(rng.randint(1, 1000)),
        "link_latency": rng.random(),
        "start_s": rng.random(),
        "eff_link": rng.choice((0.5, 0.8, 1.0)),
    }
    known = LINKS["nvlink4"]
    return replace(
        known, bandwidth=replace(known.bandwidth, value=values["link_bw"])
    ), values


def ringed(values: dict[str, float]) -> Ledger:
    """An all-reduce, executed step by step from neighbour to neighbour."""
    x = np.ones(int(values["tensor_bytes"]), np.uint8)
    return run(lambda rank: ring_all_reduce(rank, x), int(values["n_ranks"])).ledger


def gathered(values: dict[str, float]) -> Ledger:
    """An all-gather that ends in the whole tensor: the ring's second half alone."""
    ranks = int(values["n_ranks"])
    mine = np.ones(int(values["tensor_bytes"]) // ranks, np.uint8)

    def around(rank: Rank) -> None:
        held, beside = mine, (rank.index + 1) % ranks
        for _ in range(ranks - 1):
            held = rank.sendrecv(held, dst=beside, src=(rank.index - 1) % ranks)

    return run(around, ranks).ledger


def seconds(ledger: Ledger, link: Link, values: dict[str, float]) -> float:
    """One start, and the time of all steps on the link."""
    return values["start_s"] + ledger.seconds(
        link, rank=0, latency_s=values["link_latency"], eff_link=values["eff_link"]
    )


@counts(f.GATHER_BYTES, by="executed")
def gather_bytes(rng: random.Random) -> Case:
    values = size(rng)
    return Case(values, gathered(values).sent_bytes(rank=0))


@counts(f.ALL_REDUCE_BYTES, by="executed")
def all_reduce_bytes(rng: random.Random) -> Case:
    values = size(rng)
    return Case(values, ringed(values).sent_bytes(rank=0))


@counts(f.GATHER_S, by="executed")
def gather_s(rng: random.Random) -> Case:
    link, speed = wires(rng)
    values = size(rng) | speed
    return Case(values, seconds(gathered(values), link, values))


@counts(f.ALL_REDUCE_S, by="executed")
def all_reduce_s(rng: random.Random) -> Case:
    link, speed = wires(rng)
    values = size(rng) | speed
    return Case(values, seconds(ringed(values), link, values))


@counts(f.LATENCY_BYTES, by="executed")
def latency_bytes(rng: random.Random) -> Case:
    """Lengthen the tensor until its bytes take as long as the latencies."""
    ranks, rows = rng.randint(2, 5), rng.randint(1, 12)
    link, values = wires(rng)
    speed = values["link_bw"] * values["eff_link"]
    values |= {"n_ranks": ranks, "link_latency": rows / speed}
    values["start_s"] = rng.randint(0, 9) * (ranks - 1) / speed
    for length in range(ranks, 100, ranks):
        ledger = gathered(values | {"tensor_bytes": length})
        waiting = seconds(ledger, link, values)
        free = {"link_latency": 0.0, "start_s": 0.0}
        moving = seconds(ledger, link, values | free)
        if moving >= (waiting - moving) * (1 - 1e-9):
            return Case(values, length)
    raise AssertionError("latency rules however long the tensor is")


def all_read_all(rank: Rank, mine: np.ndarray) -> np.ndarray:
    """A one-shot all-reduce: send one's tensor to each of the others, and add."""
    others = [i for i in range(rank.num_ranks) if i != rank.index]
    for other in others:
        rank.send(mine, dst=other)
    return sum((rank.recv(src=other) for other in others), mine)


@counts(f.ONE_SHOT_S, by="executed")
def one_shot_s(rng: random.Random) -> Case:
    """All that comes in, one tensor after another, after one start."""
    _, speed = wires(rng)
    values = size(rng) | speed
    del values["link_latency"]
    x = np.ones(int(values["tensor_bytes"]), np.uint8)
    ledger = run(lambda rank: all_read_all(rank, x), int(values["n_ranks"])).ledger
    bytes_s = ledger.received_bytes(rank=0) / (values["link_bw"] * values["eff_link"])
    return Case(values, values["start_s"] + bytes_s)


@counts(f.TWO_SHOT_S, by="executed")
def two_shot_s(rng: random.Random) -> Case:
    """A piece to each of the others, and the sum of one's own to all of them."""
    _, speed = wires(rng)
    values = size(rng) | speed
    del values["link_latency"]
    ranks = int(values["n_ranks"])
    x = np.ones(int(values["tensor_bytes"]) // ranks, np.uint8)

    def twice(rank: Rank) -> None:
        all_read_all(rank, x)
        all_read_all(rank, x)

    values["tensor_bytes"] = float(x.nbytes * ranks)
    ledger = run(twice, ranks).ledger
    bytes_s = ledger.sent_bytes(rank=0) / (values["link_bw"] * values["eff_link"])
    return Case(values, values["start_s"] + bytes_s)


@counts(f.IN_SWITCH_S, by="executed")
def in_switch_s(rng: random.Random) -> Case:
    """Rank 0 plays the switch: each other rank sends to it once, and it answers."""
    _, speed = wires(rng)
    values = size(rng) | speed
    del values["link_latency"]
    x, ranks = (
        np.ones(int(values.pop("tensor_bytes")), np.uint8),
        int(values["n_ranks"]),
    )

    def around(rank: Rank) -> None:
        if rank.index:
            rank.send(x, dst=0)
            rank.recv(src=0)
            return
        total = sum(rank.recv(src=i) for i in range(1, ranks + 1))
        for i in range(1, ranks + 1):
            rank.send(total, dst=i)

    ledger = run(around, ranks + 1).ledger
    bytes_s = ledger.sent_bytes(rank=1) / (values["link_bw"] * values["eff_link"])
    del values["n_ranks"]
    wanted = values["start_s"] + bytes_s
    return Case(values | {"tensor_bytes": float(x.nbytes)}, wanted)


@counts(f.FASTEST_S, by="enumerated")
def fastest_s(rng: random.Random) -> Case:
    """Try the three, one after another."""
    values = {name: rng.random() for name in ("all_reduce_s", "one_shot_s")}
    values["in_switch_s"] = rng.random()
    return Case(values, sorted(values.values())[0])
