"""The chapter's closed forms: engines that run, queues, and ledgers that close."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np

from llmserve_lab.capacity import formulas as f
from llmserve_lab.capacity.autoscaling import Autoscaler
from llmserve_lab.engine import Continuous, IterationCost, Pool, Request, simulate
from tests.counted import Case, counts

SECONDS = 40  # of a ledger that is written second by second
HOUR_S, MILLION = 3600, 10**6


def ledger(price: float, done: list[int]) -> float:
    """Dollars for each request, paid second by second, whatever was done in it."""
    paid = 0.0
    for _ in done:
        paid += price / HOUR_S
    return paid / (sum(done) / MILLION)


@counts(f.REPLICA_PRICE, by="enumerated")
def replica_price(rng: random.Random) -> Case:
    price, gpus = rng.uniform(1, 10), rng.randint(1, 8)
    values = {"gpu_hour": price, "replica_gpus": gpus}
    return Case(values, sum(price for _ in range(gpus)))


@counts(f.BUSY_COST, by="enumerated")
def busy_cost(rng: random.Random) -> Case:
    price, rate = rng.uniform(1, 10), rng.randint(1, 9)
    return Case({"price": price, "replica_rate": rate}, ledger(price, [rate] * SECONDS))


@counts(f.USED_SHARE, by="enumerated")
def used_share(rng: random.Random) -> Case:
    rate, replicas = rng.randint(3, 9), rng.randint(1, 4)
    came = [rng.randint(0, rate * replicas) for _ in range(SECONDS)]
    slots = [
        1 if slot < each else 0 for each in came for slot in range(rate * replicas)
    ]
    values = {
        "mean_rate": sum(came) / SECONDS,
        "n_replicas": replicas,
        "replica_rate": rate,
    }
    return Case(values, sum(slots) / len(slots))


@counts(f.PAID_COST, by="enumerated")
def paid_cost(rng: random.Random) -> Case:
    case = used_share(rng)
    rate, replicas = case.values["replica_rate"], int(case.values["n_replicas"])
    price, came = rng.uniform(1, 10), case.values["mean_rate"]
    paid = sum(price / HOUR_S for _ in range(SECONDS) for _ in range(replicas))
    known = {"price": price, "replica_rate": rate, **case.values}
    return Case(known, paid / (came * SECONDS / MILLION))


def batch_of_answers(rng: random.Random) -> tuple[IterationCost, int, int, int]:
    """A machine on which prompts only add rows, a batch, a prompt, an answer."""
    cost = IterationCost(
        row_s=rng.uniform(1e-5, 3e-5),
        weights_s=rng.uniform(4e-3, 8e-3),
        overlap=0.0,
        attention_apart=True,
    )
    return cost, rng.randint(2, 6), rng.randint(50, 400), rng.randint(2, 30)


def charged(cost: IterationCost, batch: int, prompt: int, answer: int) -> list[float]:
    """Seconds charged to prompts and answers of a batch, iteration by iteration."""
    requests = [
        Request(arrival_s=0.0, prompt_len=prompt, output_len=answer, id=number)
        for number in range(batch)
    ]
    pool = Pool(cost, Continuous(), kv_blocks=10**6)
    report = simulate(requests, pool, leap=False, log=True)
    assert report.log is not None
    totals = [0.0, 0.0]
    for frame in report.log.frames():
        rows = sum(each.rows for each in frame.running)
        prompts = sum(each.rows for each in frame.running if each.rows > 1)
        took_s = frame.end_s - frame.start_s
        added_s = prompts * cost.row_s
        assert rows >= prompts
        totals[0] += added_s
        totals[1] += took_s - added_s
    return totals


@counts(f.INPUT_COST, by="executed")
def input_cost(rng: random.Random) -> Case:
    cost, batch, prompt, answer = batch_of_answers(rng)
    prompts_s, _ = charged(cost, batch, prompt, answer)
    price = rng.uniform(1, 10)
    values = {
        "price": price,
        "prompt_gpu_s": prompt * cost.row_s,
        "prompt_len": prompt,
    }
    return Case(values, price * prompts_s / HOUR_S / (batch * prompt / MILLION))


@counts(f.OUTPUT_COST, by="executed")
def output_cost(rng: random.Random) -> Case:
    cost, batch, prompt, answer = batch_of_answers(rng)
    prompts_s, answers_s = charged(cost, batch, prompt, answer)
    price = rng.uniform(1, 10)
    weights_s = answer * cost.weights_s / batch  # each iteration, shared by the batch
    own_s = (answer - 1) * cost.row_s
    values = {
        "price": price,
        "answer_gpu_s": weights_s + own_s,
        "new_tokens": answer,
    }
    assert prompts_s > 0
    return Case(values, price * answers_s / HOUR_S / (batch * answer / MILLION))


@counts(f.EVEN_PRICE, by="enumerated")
def even_price(rng: random.Random) -> Case:
    """Lower the price of the slower GPU until a thousand requests cost the same."""
    price, fast = rng.uniform(1, 10), rng.uniform(0.01, 0.1)
    slow = fast * rng.uniform(1, 4)
    low, high = 0.0, price
    for _ in range(60):
        middle = (low + high) / 2
        dearer = sum(middle * slow - price * fast for _ in range(10)) > 0
        low, high = (low, middle) if dearer else (middle, high)
    return Case({"price": price, "fast_gpu_s": fast, "slow_gpu_s": slow}, low)


@counts(f.N_REPLICAS, by="enumerated")
def n_replicas(rng: random.Random) -> Case:
    rate, peak = rng.uniform(2, 20), rng.uniform(1, 90)
    found = 1
    while found * rate < peak:
        found += 1
    return Case({"peak_rate": peak, "replica_rate": rate}, found)


def served_alone(
    arrivals_s: list[float], service_s: list[float]
) -> tuple[float, float, float]:
    """Mean wait by Lindley's recursion; busy share and end of the run."""
    free_s = waited_s = 0.0
    for arrival_s, each_s in zip(arrivals_s, service_s, strict=True):
        begin_s = max(free_s, arrival_s)
        waited_s += begin_s - arrival_s
        free_s = begin_s + each_s
    return waited_s / len(arrivals_s), sum(service_s) / free_s, free_s


@counts(f.SERVER_BUSY, by="executed")
def server_busy(rng: random.Random) -> Case:
    """A replica that serves equal prompts, one after the other, at even intervals."""
    cost = IterationCost(row_s=1e-5 * rng.randint(1, 4), kv_bytes_per_token=1.0)
    prompt, gap_s = 500, 0.04
    requests = [
        Request(arrival_s=gap_s * n, prompt_len=prompt, output_len=1, id=n)
        for n in range(50)
    ]
    one = Pool(replace(cost), Continuous(max_batch=1), kv_blocks=10**6)
    report = simulate(requests, one)
    busy_s = report.pools["pool"].busy_s
    values = {"arrival_rate": 1 / gap_s, "service_s": prompt * cost.row_s}
    return Case(values, busy_s / (50 * gap_s))


@counts(f.QUEUE_S, by="enumerated")
def mean_wait_s(rng: random.Random) -> Case:
    """The mean wait from the law of the queue length, solved by its generating sums.

    M/G/1 with service times of two values: the embedded chain at departures, its
    stationary law by iteration, then Little's law.
    """
    short, long_ = rng.uniform(0.1, 0.3), rng.uniform(0.4, 0.6)
    chance = rng.uniform(0.2, 0.8)
    rate = rng.uniform(0.3, 0.7) / (chance * short + (1 - chance) * long_)
    services = ((chance, short), (1 - chance, long_))
    mean = sum(p * s for p, s in services)
    square = sum(p * s**2 for p, s in services)
    in_system = departures(rate, services)
    values = {"arrival_rate": rate, "service_square": square, "service_s": mean}
    return Case(values, in_system / rate - mean)


@counts(f.FIXED_QUEUE_S, by="enumerated")
def fixed_queue_s(rng: random.Random) -> Case:
    service, busy = rng.uniform(0.1, 0.5), rng.uniform(0.2, 0.7)
    in_system = departures(busy / service, ((1.0, service),))
    values = {"arrival_rate": busy / service, "service_s": service}
    return Case(values, in_system * service / busy - service)


def departures(rate: float, services: tuple[tuple[float, float], ...]) -> float:
    """Mean number in an M/G/1 system: the chain of what departures leave behind."""
    most = 400
    steps = np.arange(most)
    logs = np.array([math.lgamma(k + 1) for k in steps])
    arrive = sum(
        p * np.exp(steps * math.log(rate * s) - rate * s - logs) for p, s in services
    )
    chain = np.zeros((most, most))
    for held in range(most):
        begin = max(0, held - 1)
        chain[held, begin:] = arrive[: most - begin]
        chain[held, -1] += 1 - chain[held].sum()
    system = chain.T - np.eye(most)
    system[-1] = 1.0  # instead of an equation that follows from the others
    law = np.linalg.solve(system, np.append(np.zeros(most - 1), 1.0))
    return float((law * steps).sum())


@counts(f.WANTED_REPLICAS, by="executed")
def wanted_replicas(rng: random.Random) -> Case:
    """The control loop itself, with nothing that holds it back."""
    target = rng.randint(2, 9)
    values = [rng.randint(2 * target, 3 * target) for _ in range(3)]
    loop = Autoscaler("queue", target=target, most=4096)
    known = {"signal_sum": sum(values), "signal_target": target}
    return Case(known, loop.wanted(values, 5), read=math.ceil)


def queue_after(rng: random.Random) -> tuple[int, int, int, int]:
    """Rates before and after, a cold start in s, and the queue at its end."""
    ready, arrival = rng.randint(2, 9), rng.randint(12, 20)
    cold = rng.randint(5, 40)
    waiting = 0
    for _ in range(cold):
        waiting += arrival
        waiting -= min(waiting, ready)
    return ready, arrival, cold, waiting


@counts(f.BACKLOG, by="enumerated")
def backlog(rng: random.Random) -> Case:
    ready, arrival, cold, waiting = queue_after(rng)
    return Case({"arrival_rate": arrival, "ready_rate": ready, "cold_s": cold}, waiting)


@counts(f.DRAIN_S, by="enumerated")
def drain_s(rng: random.Random) -> Case:
    """Seconds until the queue is gone, rounded up: it is looked at once a second."""
    ready, arrival, cold, waiting = queue_after(rng)
    seconds = 0
    while waiting > 0:  # what arrives goes to the new replicas
        waiting -= ready
        seconds += 1
    values = {"arrival_rate": arrival, "ready_rate": ready, "cold_s": cold}
    return Case(values, seconds, read=math.ceil)
