"""All-reduces over several servers that really ran, timed level by level."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from llmserve_lab.collectives import Ledger, Rank, run
from llmserve_lab.collectives.ledger import Wire
from llmserve_lab.parallelism import formulas as f
from llmserve_lab.parallelism.two_level import two_level_all_reduce
from tests.counted import Case, counts


def size(rng: random.Random) -> dict[str, Any]:
    """Servers, ranks and ports of each, a tensor that they share equally, links."""
    servers, ranks = rng.randint(2, 4), rng.randint(1, 4)
    values: dict[str, Any] = {"n_servers": servers, "server_ranks": ranks}
    values |= {"tensor_bytes": servers * ranks * rng.randint(1, 9)}
    values |= {"server_nics": rng.randint(1, ranks), "start_s": rng.random()}
    values |= {"link_bw": rng.randint(1, 99), "link_latency": rng.random()}
    values |= {"nic_bw": rng.randint(1, 99), "nic_latency": rng.random()}
    return values | {"eff_link": rng.choice((0.5, 0.8))}


def executed(values: dict[str, Any]) -> Ledger:
    """One all-reduce of single bytes, each rank with its number; the sum is right."""
    ranks, nbytes = values["server_ranks"], values["tensor_bytes"]
    total = values["n_servers"] * ranks

    def program(rank: Rank) -> Any:
        mine = np.full(nbytes, rank.index, np.uint8)
        return two_level_all_reduce(rank, mine, ranks)

    done = run(program, total)
    for result in done.results:
        assert (result == total * (total - 1) // 2).all()
    return done.ledger


def inside(values: dict[str, Any], ledger: Ledger) -> float:
    """A start, and the two calls that stay in a server."""
    rate = values["link_bw"] * values["eff_link"]
    wire = Wire(latency_s=values["link_latency"], bytes_per_s=rate)
    records = [ledger.select(c, rank=0) for c in ("reduce_scatter", "all_gather")]
    return float(
        values["start_s"]
        + sum(wire.seconds(each.wire) for page in records for each in page)
    )


def between(values: dict[str, Any], ledger: Ledger) -> float:
    """All bytes of a server's ranks, shared out to its ports; their steps."""
    ranks = range(values["server_ranks"])
    pages = [ledger.select("all_reduce", rank=rank) for rank in ranks]
    steps = {each.wire.steps for page in pages for each in page}
    sent = sum(each.wire.sent_bytes for page in pages for each in page)
    port = sent / values["server_nics"]
    rate = values["nic_bw"]
    return float(max(steps) * values["nic_latency"] + port / rate)


NIC = ("n_servers", "server_nics", "nic_bw", "nic_latency")
LINK = ("server_ranks", "link_bw", "link_latency", "start_s", "eff_link")


@counts(f.INSIDE_S, by="executed")
def inside_s(rng: random.Random) -> Case:
    values = size(rng)
    counted = inside(values, executed(values))
    return Case({k: v for k, v in values.items() if k not in NIC}, counted)


@counts(f.BETWEEN_S, by="executed")
def between_s(rng: random.Random) -> Case:
    values = size(rng)
    counted = between(values, executed(values))
    return Case({k: v for k, v in values.items() if k not in LINK}, counted)


@counts(f.TWO_LEVEL_S, by="executed")
def two_level_s(rng: random.Random) -> Case:
    values = size(rng)
    ledger = executed(values)
    return Case(values, inside(values, ledger) + between(values, ledger))
