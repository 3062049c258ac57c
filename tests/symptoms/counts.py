"""Little's law, executed: the engine's log, swept event by event."""

from __future__ import annotations

import random

from llmserve_lab.engine import Chunked, Report, simulate
from llmserve_lab.symptoms import formulas as f
from llmserve_lab.symptoms.served import server
from llmserve_lab.workloads import Geometric, poisson_requests
from tests.counted import Case, counts

BEGIN, END = "arrived", "finished"


def served(rng: random.Random) -> Report:
    """A small load with few slots, so that some requests wait."""
    requests = poisson_requests(
        rate_per_s=rng.uniform(0.5, 6.0),
        prompt=Geometric(800),
        output=Geometric(60),
        num_requests=rng.randint(20, 60),
        seed=rng.randint(0, 10**6),
    )
    return simulate(requests, server(Chunked(2048, rng.randint(1, 5))), log=True)


def swept(report: Report, begin: str, end: str) -> float:
    """Requests between two of their events, integrated over time, over all time."""
    assert report.log is not None
    area, inside, before_s = 0.0, 0, 0.0
    for event in report.log.events:
        area += inside * (event.time_s - before_s)
        before_s = event.time_s
        inside += (event.kind == begin) - (event.kind == end)
    assert inside == 0, "all that came have left"
    return area / report.elapsed_s


def known(report: Report) -> dict[str, float]:
    """Rate and mean times of a run."""
    return {
        "arrival_rate": report.num_requests / report.elapsed_s,
        "queue_s": float(report.queue_s.mean()),
        "system_s": float(report.latency_s.mean()),
    }


@counts(f.WAITING_MEAN, by="executed")
def waiting(rng: random.Random) -> Case:
    """From arrival to admission."""
    report = served(rng)
    values = known(report)
    del values["system_s"]
    return Case(values, swept(report, BEGIN, "admitted"))


@counts(f.RUNNING_MEAN, by="executed")
def running(rng: random.Random) -> Case:
    """From admission to the last token."""
    report = served(rng)
    return Case(known(report), swept(report, "admitted", END))


@counts(f.CLOSED_LOOP_S, by="executed")
def closed_loop(rng: random.Random) -> Case:
    """Clients that never rest: each has one request under way all the time.

    What they make is cut where the first client has no next request, so that nothing
    but the steady part counts.
    """
    clients = rng.randint(1, 6)
    requests = poisson_requests(
        rate_per_s=1.0,
        prompt=Geometric(500),
        output=Geometric(40),
        num_requests=clients * 10,
        seed=rng.randint(0, 10**6),
    )
    report = simulate(requests, server(Chunked(2048, 3)), clients=clients, log=True)
    assert report.log is not None
    start_s = sorted(report.arrival_s)[-1]  # until here each client has a request
    begun = {e.id: e.time_s for e in report.log.events if e.kind == BEGIN}
    ended = {e.id: e.time_s for e in report.log.events if e.kind == END}
    under_way_s = sum(min(ended[i], start_s) - begun[i] for i in begun)
    many = report.num_requests
    values = {"n_clients": float(clients), "arrival_rate": many / start_s}
    return Case(values, under_way_s / many)
