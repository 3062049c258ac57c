"""How fast time is simulated, and what is kept of it.

The workload is an hour of a public trace where it is at hand, else one made up like it.
Chunked prefill mixes prompts and decodes, and every gap between two tokens is counted.
"""

import subprocess
import sys
import tracemalloc
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time

from tests.workloads.real import real

from benchmarks import Line
from llmserve_lab import catalog
from llmserve_lab.engine import Chunked, IterationCost, Pool, Request, simulate
from llmserve_lab.engine.scheduler.queue_order import (
    FCFS,
    Order,
    Priority,
    ShortestPromptFirst,
)
from llmserve_lab.workloads import azure, made_up

TRACE, NUM_REQUESTS = "AzureLLMInferenceTrace_conv.csv", 19_366
TRIES, SOME = 3, 2_000
SHORT, LONG = 10_000, 30_000  # requests
REQUEST_S, FIRST_S, SHARE, KEPT_BYTES = 100e-6, 2.0, 0.25, 200.0
CHOSEN = 1.1  # the time of a run whose policy chooses who, over first come first served
PROGRAM = """
from llmserve_lab import catalog
from llmserve_lab.engine import Chunked, IterationCost, Pool, Request, simulate
cost = IterationCost.of(catalog.model("llama-2-7b"), catalog.accelerator("h100-sxm"))
requests = (
    Request(arrival_s=0.2 * i, prompt_len=1_000, output_len=200, id=i)
    for i in range(100)
)
print(simulate(requests, Pool(cost, Chunked(2_048))))
"""


def pool(order: Order = FCFS) -> Pool:
    """The machine of the articles, prompts in chunks of a usual budget."""
    cost = IterationCost.of(
        catalog.model("llama-2-7b"),
        catalog.accelerator("h100-sxm"),
        efficiency=catalog.efficiency("article-06"),
    )
    # Prompts of the trace are longer than this model reads; only the time that a
    # simulation takes is asked here.
    return Pool(replace(cost, max_context=None), Chunked(2_048, order=order))


def trace() -> tuple[str, list[Request]]:
    """Name and requests of the conversation trace, or of one made up like it."""
    paths = {path.name: path for _, path in real()}
    if TRACE in paths:
        return Path(TRACE).stem, list(azure(paths[TRACE]))
    return "made-up trace", list(made_up(num_requests=NUM_REQUESTS)["azure"])


def core_s(
    requests: Iterable[Request], *, leap: bool = True, order: Order = FCFS
) -> float:
    """Seconds of one core that a run takes."""
    start = process_time()
    simulate(requests, pool(order), leap=leap)
    return process_time() - start


def peak_bytes(num_requests: int) -> int:
    """Most memory that a run needs at a time; its requests are read one by one."""
    requests = made_up(num_requests=num_requests)["azure"]
    tracemalloc.start()
    report = simulate(requests, pool())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.num_requests == num_requests
    return peak


def first_answer_s() -> float:
    """From a fresh interpreter to a report of a hundred requests."""
    start = perf_counter()
    command = [sys.executable, "-c", PROGRAM]
    subprocess.run(command, check=True, capture_output=True)
    return perf_counter() - start


def main() -> Iterator[Line]:
    """Yield the time of a request, the gain of leaping, the memory, the first wait."""
    name, requests = trace()
    each_s = min(core_s(requests) for _ in range(TRIES)) / len(requests)
    what = f"engine, {name}, {len(requests):,} requests: a core's time for each"
    yield Line(what, each_s, REQUEST_S, "s")
    for order in (ShortestPromptFirst(), Priority()):
        pairs = [
            (core_s(requests, order=order), core_s(requests)) for _ in range(TRIES)
        ]
        chosen_s, first_s = (min(times) for times in zip(*pairs, strict=True))
        yield Line(
            f"engine: {type(order).__name__} / first come", chosen_s / first_s, CHOSEN
        )
    few = list(islice(requests, SOME))
    pairs = [(core_s(few), core_s(few, leap=False)) for _ in range(TRIES)]
    share = min(leaps / steps for leaps, steps in pairs)
    yield Line("engine: leaping / step by step", share, SHARE)
    kept = (peak_bytes(LONG) - peak_bytes(SHORT)) / (LONG - SHORT)
    yield Line("engine: memory for each request more", kept, KEPT_BYTES, "byte")
    waits = min(first_answer_s() for _ in range(TRIES))
    yield Line("engine: first answer, fresh interpreter", waits, FIRST_S, "s")
