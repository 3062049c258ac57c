"""Where the engine is a queue of the textbooks, it waits as they say."""

from random import Random
from typing import Any

import numpy as np

from llmserve_lab.engine import (
    Chunked,
    Continuous,
    IterationCost,
    Pool,
    Report,
    Request,
    simulate,
)

ONE_BY_ONE = Continuous(max_batch=1)
COST = IterationCost(row_s=1e-3)  # a prompt of n tokens is served in n ms


def poisson(rate: float, lengths: list[int], *, seed: int) -> list[Request]:
    """Requests of one token each, at random times."""
    draw, now_s, requests = Random(seed), 0.0, []
    for number, length in enumerate(lengths):
        now_s += draw.expovariate(rate)
        requests.append(
            Request(arrival_s=now_s, prompt_len=length, output_len=1, id=number)
        )
    return requests


def serve(requests: list[Request]) -> Report:
    return simulate(requests, Pool(COST, ONE_BY_ONE, kv_blocks=1_000))


def near(waits_s: np.ndarray[Any, np.dtype[np.float64]], expected_s: float) -> bool:
    """Whether their mean is right, as far as the scatter of 25 batches lets one say."""
    batches = waits_s.reshape(25, -1).mean(axis=1)
    error_s = batches.std(ddof=1) / 5
    assert error_s < 0.05 * expected_s  # or the test would say nothing
    return bool(abs(waits_s.mean() - expected_s) < 2.5 * error_s)


def test_equal_prompts_one_by_one_are_an_m_d_1_queue() -> None:
    service_s, load = 0.1, 0.7
    requests = poisson(load / service_s, [100] * 20_000, seed=1)
    expected_s = service_s * load / (2 * (1 - load))
    assert near(serve(requests).queue_s, expected_s)


def test_unequal_prompts_one_by_one_are_an_m_g_1_queue() -> None:
    draw = Random(2)
    lengths = [draw.choice([10, 10, 10, 200]) for _ in range(20_000)]
    services_s = 1e-3 * np.array(lengths)
    rate = 0.5 / services_s.mean()
    expected_s = rate * (services_s**2).mean() / (2 * (1 - 0.5))  # Pollaczek–Khinchine
    waits_s = serve(poisson(rate, lengths, seed=3)).queue_s
    assert near(waits_s, expected_s)
    equal_s = services_s.mean() * 0.5 / (2 * (1 - 0.5))
    assert waits_s.mean() > 1.9 * equal_s  # long prompts make short ones wait


def test_whoever_comes_waits_for_what_was_left_to_do() -> None:
    """Lindley's recursion, to the last digit."""
    requests = poisson(8, Random(8).choices(range(10, 200), k=3_000), seed=9)
    free_s, waits_s = 0.0, []
    for request in requests:
        waits_s.append(max(0.0, free_s - request.arrival_s))
        free_s = max(free_s, request.arrival_s) + 1e-3 * request.prompt_len
    np.testing.assert_allclose(serve(requests).queue_s, waits_s, atol=1e-9)


def test_time_to_first_token_is_queueing_and_prefill() -> None:
    requests = poisson(7, [100] * 2_000, seed=4)
    report = serve(requests)
    np.testing.assert_allclose(report.ttft_s, report.queue_s + 0.1, atol=1e-9)
    assert report.ttft_s.mean() > 2 * 0.1  # the prefill alone is not it


def test_in_a_closed_loop_clients_are_requests_per_second_times_time() -> None:
    lengths = Random(5).choices(range(1, 60), k=600)
    requests = poisson(1, lengths, seed=6)
    pool = Pool(COST, Chunked(64), kv_blocks=1_000)
    report = simulate(requests, pool, clients=5, think_s=0.02)
    round_s = report.latency_s.mean() + 0.02
    assert abs(report.requests_per_s * round_s / 5 - 1) < 0.02


def test_clients_that_wait_ask_less_of_a_slow_engine() -> None:
    requests = poisson(100, [50] * 400, seed=7)
    pool = Pool(COST, ONE_BY_ONE, kv_blocks=1_000)
    open_loop, closed = simulate(requests, pool), simulate(requests, pool, clients=4)
    assert closed.percentile("ttft", 99) < 0.21  # four in turn, 50 ms each
    assert open_loop.percentile("ttft", 99) > 10  # the queue has no end
