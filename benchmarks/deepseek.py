"""How fast the twin answers: one frontier, and a search over a thousand setups."""

from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import numpy as np

from benchmarks import Line
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.model.step_model import Twin

N_SETUPS, CONTEXT = 1000, 2048.0


def seconds(work: Callable[[], Any]) -> float:
    """Processor time of one run of ``work``."""
    start = process_time()
    work()
    return process_time() - start


def frontier() -> None:
    """Every batch up to 1,024 of one setup, those beyond its memory, too."""
    batches = np.arange(1, 1025)
    twin = Twin(setup=setup("h100-sxm", 72), assumptions=book_assumptions())
    twin.gpu_tokens_per_s(batch=batches, context=CONTEXT, in_memory=False)


def search() -> None:
    """A thousand setups, eleven batches each."""
    batches = 2.0 ** np.arange(11)
    for n_gpus in range(8, 8 + N_SETUPS):
        twin = Twin(setup=setup("h100-sxm", n_gpus), assumptions=book_assumptions())
        twin.gpu_tokens_per_s(batch=batches, context=CONTEXT, in_memory=False)


def main() -> Iterator[Line]:
    """Yield both times; the first call compiles the formulas and is not measured."""
    frontier()
    yield Line("twin, frontier of one setup", 1e3 * seconds(frontier), 20, "ms")
    yield Line("twin, a thousand setups", seconds(search), 2, "s")
