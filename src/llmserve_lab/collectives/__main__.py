"""An all-reduce and its ledger: ``python -m llmserve_lab.collectives``, or by mpiexec.

``mpiexec -n 4 python -m llmserve_lab.collectives`` does the same on four processes.
"""

from __future__ import annotations

import numpy as np

from llmserve_lab.catalog import LINKS
from llmserve_lab.collectives import Rank, launched, run
from llmserve_lab.collectives.backend import Array

SHAPE = (4, 512)  # the article's batch: four tokens, 512 features
RANKS = 4  # where mpiexec has not said how many


def partial_sums(rank: Rank) -> Array:
    """Each rank has a tensor filled with its own number; all get the sum."""
    return rank.all_reduce(np.full(SHAPE, float(rank.index)))


def main() -> None:
    """Print the sum and the ledger, once."""
    processes = launched()
    done = run(
        partial_sums, processes or RANKS, backend="mpi" if processes else "lockstep"
    )
    if 0 in done.local_ranks:
        where = "processes" if processes else "threads that take turns"
        print(f"{done.ledger.num_ranks} ranks on as many {where}")
        print(f"sum of the ranks' numbers, on every rank: {done.results[0][0, 0]:g}\n")
        print(done.ledger.table(LINKS["nvlink4"]))


if __name__ == "__main__":
    main()
