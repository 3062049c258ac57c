"""Started by mpiexec: run every program, right and wrong, and print what came of it."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from llmserve_lab.collectives import ClusterError, ClusterRun, Rank, launched, run
from llmserve_lab.collectives.backend import Array
from tests.collectives.programs import RIGHT, WRONG


def plain(item: Any) -> Any:
    """A result as JSON holds it, every bit of an array in hexadecimal."""
    if isinstance(item, np.ndarray):
        return [list(item.shape), item.dtype.str, item.tobytes().hex()]
    if isinstance(item, tuple | list):
        return [plain(each) for each in item]
    return item


def told(done: ClusterRun[Any]) -> Any:
    """What the ranks returned, and their ledger as text."""
    return [plain(done.results), repr(done.ledger)]


def large(rank: Rank) -> Array:
    """A message of 8 MB crosses another: more than MPI keeps for a slow reader."""
    beside = (rank.index + 1) % rank.num_ranks
    before = (rank.index - 1) % rank.num_ranks
    rank.send(np.full(10**6, float(rank.index)), dst=beside)
    return rank.all_reduce(rank.recv(src=before)[::250_000])


def refused(program: Any, num_ranks: int) -> str:
    """The message with which a wrong program ends."""
    try:
        run(program, num_ranks, backend="mpi", timeout_s=20)
    except (ClusterError, ValueError) as error:
        return str(error)
    return "nothing was refused"


def unpicklable(rank: Rank) -> Any:
    """A result that cannot leave its process."""
    return lambda: rank.index


def outcome(num_ranks: int) -> dict[str, Any]:
    """Everything that this process saw."""
    right = {
        name: told(run(program, num_ranks, backend="mpi"))
        for name, program in (RIGHT | {"large": large}).items()
    }
    wrong = {name: refused(program, num_ranks) for name, (program, _) in WRONG.items()}
    wrong["unpicklable"] = refused(unpicklable, num_ranks)
    wrong["too many"] = refused(RIGHT["barrier"], num_ranks + 1)
    after = told(run(RIGHT["ring"], num_ranks, backend="mpi"))
    return {"right": right, "wrong": wrong, "after": after}


def asleep(rank: Rank) -> None:
    """Rank 0 never comes."""
    if rank.index == 0:
        time.sleep(60)
    rank.barrier()


def main() -> None:
    """Print one line of JSON per process, or be ended for being late."""
    processes = launched() or 0
    if "asleep" in sys.argv:
        run(asleep, processes, backend="mpi", timeout_s=0.2)
    print(json.dumps(outcome(processes)) + "\n", end="", flush=True)


if __name__ == "__main__":
    main()
