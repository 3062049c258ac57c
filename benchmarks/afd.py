"""Simulators against each other, and rules against simulation, over many settings.

The long sweep (``python -m benchmarks.afd --slow``) is a thousand settings, a quarter
of an hour on one core, and goes on where it was stopped. It prints the distribution of
errors that the chapter speaks of, a record a line; ``afd_rule.jsonl`` beside this file
holds them.
"""

import resource
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from itertools import islice, product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

from benchmarks import Line
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.experiments.random_settings import (
    FLIGHTS,
    MOST,
    SHARES,
    compare,
    off_by,
)
from llmserve_lab.afd.simulation.event_simulator import replay
from llmserve_lab.afd.simulation.vectorized_simulator import simulate
from llmserve_lab.parameter_sweep import sweep

SLOW, QUICK, RESUMED = 1000, 201, 15  # settings: bundles with m in flight
SHORT = 300  # requests per instance, unless the answer is in doubt
MOST_OFF = 0.03
STORE = Path("_build/afd-rule.jsonl")  # a sweep that was stopped goes on from here


def seconds(work: Callable[[], Any]) -> float:
    """Processor time of one run of ``work``."""
    start = process_time()
    work()
    return process_time() - start


def figure_4() -> None:
    """The paper's Figure 4, every run of it."""
    for ratio in paper_setup.RATIOS:
        simulate(paper_setup.made(ratio), paper_setup.served(), seed=1)


def fast_over_machine() -> float:
    """Time of the fast engine at r = 32 over SimPy's, from a run of a few steps."""
    made, few = paper_setup.made(MOST), 8
    run = simulate(made, paper_setup.served(), seed=1)
    fast = seconds(lambda: simulate(made, paper_setup.served(), seed=1))
    machine = replay(run)
    per_step = seconds(lambda: machine.run(few)) / few
    return fast / (per_step * (run.end + 1))


def memory_mb() -> float:
    """Most memory that this process has held, in MB (1e6 bytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def large() -> None:
    """A run of 32A–1F at a batch of 1,024."""
    simulate(
        paper_setup.made(MOST, batch=1024),
        paper_setup.served(n_requests=12_000),
        seed=1,
    )


def bundles(n: int) -> list[dict[str, int]]:
    """So many bundles by number, each with every number of batches in flight."""
    every = product(range(n), FLIGHTS)
    return [{"number": k, "n_batches": m} for k, m in islice(every, n)]


def checked(*, number: int, n_batches: int) -> dict[str, Any]:
    """A short run; where it speaks against the rule, a long one that decides."""
    found = compare(number=number, n_batches=n_batches, n_requests=SHORT)
    far = np.abs(found["ours"]).max() > MOST_OFF or off_by([found], "ours") > 1
    return compare(number=number, n_batches=n_batches) if far else found


def resumed(executor: Executor) -> float:
    """Answers lost or computed twice by a sweep that is stopped half-way."""
    each = [setting | {"n_requests": 200} for setting in bundles(RESUMED)]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "answers.jsonl"
        for enough in (len(each) // 2, None):
            found = sweep(compare, each, executor=executor, file=file)
            answers = list(islice(found, enough))
            del found  # the listener has gone, and what has not begun is cancelled
        rows = file.read_text("utf8").splitlines()
    return abs(len(answers) - len(each)) + abs(len(rows) - len(each))


def of_rule(
    n: int, work: Callable[..., dict[str, Any]], file: Path | None = None
) -> Iterator[Line]:
    """Errors of both rules over ``n`` settings, at every ratio."""
    with ProcessPoolExecutor(1) as executor:
        answers = sweep(work, bundles(n), executor=executor, file=file)
        found = [answer.result for answer in answers]
    sharp = sum(not answer["flat"] for answer in found)
    for whose, most, nearest in (("ours", MOST_OFF, 1), ("the paper's", None, None)):
        name = whose.split()[-1].removesuffix("'s")
        errors = np.abs([answer[name] for answer in found])
        for share, at in SHARES.items():
            what = f"AFD rule, {whose}: {share} of {errors.size} throughputs"
            yield Line(what, float(np.quantile(errors, at)), most)
        what = f"AFD rule, {whose}: best ratio off by, {sharp} sharp tops"
        yield Line(what, off_by(found, name), nearest)


def main() -> Iterator[Line]:
    """Yield speed, memory, and the errors of the rule over a few settings."""
    before = memory_mb()
    large()
    yield Line("AFD, r = 32, B = 1024: memory", memory_mb() - before, 200, "MB")
    yield Line("AFD paper's Figure 4, fast engine", seconds(figure_4), 1.0, "s")
    yield Line("AFD, fast engine / SimPy, r = 32", fast_over_machine(), 0.01)
    with ProcessPoolExecutor(1) as executor:
        yield Line("AFD sweep, stopped and resumed: lost", resumed(executor), 0)
    yield from of_rule(QUICK, checked)


if __name__ == "__main__":
    slow = "--slow" in sys.argv
    STORE.parent.mkdir(exist_ok=True)
    for line in of_rule(SLOW, compare, STORE) if slow else main():
        print(line.record() if slow else line, flush=True)
