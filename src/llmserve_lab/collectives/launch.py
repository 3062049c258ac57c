"""One program, two ways to run it: taking turns in this process, or on many."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, Literal, TypeVar, TypeVarTuple

from llmserve_lab.checks import key_of, positive, whole
from llmserve_lab.collectives.backend import MOST_RANKS
from llmserve_lab.collectives.ledger import Ledger, Record
from llmserve_lab.collectives.lockstep import Lockstep
from llmserve_lab.collectives.processes import Processes, world
from llmserve_lab.collectives.rank import Rank
from llmserve_lab.collectives.rendezvous import ClusterError, Raised, State

R = TypeVar("R")
Ts = TypeVarTuple("Ts")
BACKENDS = ("lockstep", "mpi")
STARTED = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")  # set by mpiexec of MPICH, Open MPI


@dataclass(frozen=True)
class ClusterRun(Generic[R]):
    """``results[rank]`` of the program, and the ledger of what the ranks exchanged.

    Every process has them all. ``local_ranks`` are the ranks that ran in this process:
    a script prints where ``0 in run.local_ranks``.
    """

    results: tuple[R, ...]
    ledger: Ledger
    local_ranks: tuple[int, ...]


def launched() -> int | None:
    """How many processes mpiexec has started, or None without mpiexec."""
    found = [os.environ[name] for name in STARTED if name in os.environ]
    return int(found[0]) if found else None


def run(
    program: Callable[[Rank, *Ts], R],
    num_ranks: int,
    *args: *Ts,
    backend: Literal["lockstep", "mpi"] = "lockstep",
    timeout_s: float = 120.0,
) -> ClusterRun[R]:
    """Run ``program(rank, *args)`` on every rank, to the end of all.

    ``args`` are the same for every rank (one object, in lockstep: do not write to it).
    With ``"mpi"`` every process that mpiexec started must come here. ``timeout_s`` is
    how long a rank may go on without calling or returning; then lockstep gives up, and
    MPI ends all processes.

    Raises:
        ValueError: ``num_ranks`` is no positive whole number, or not the number of
            processes; the backend is unknown; the timeout is not positive and finite.
        ModuleNotFoundError: the backend is ``"mpi"`` and there is no MPI.
        ClusterError: a rank raised (its error is the ``__cause__``), or the ranks did
            not do the same.
    """
    whole(of="rank", most=MOST_RANKS, num_ranks=num_ranks)
    key_of("backend", backend, BACKENDS)
    positive("timeout_s", timeout_s)
    one_rank = partial(_called, program, args)
    start = _on_processes if backend == "mpi" else _in_lockstep
    return start(one_rank, int(num_ranks), timeout_s)


def _called(program: Callable[[Rank, *Ts], R], args: tuple[*Ts], rank: Rank) -> R:
    return program(rank, *args)


def _in_lockstep(
    program: Callable[[Rank], R], num_ranks: int, timeout_s: float
) -> ClusterRun[R]:
    conductor = Lockstep(num_ranks, timeout_s)
    ranks = [Rank(conductor, index) for index in range(num_ranks)]
    results: dict[int, R] = {}

    def body(rank: Rank) -> State:
        try:
            results[rank.index] = program(rank)
        except BaseException as error:
            conductor.errors[rank.index] = error
            return _raised(error)
        return rank.end()

    conductor.conduct([partial(body, rank) for rank in ranks])
    return ClusterRun(
        results=tuple(results[index] for index in range(num_ranks)),
        ledger=_ledger([rank.records for rank in ranks]),
        local_ranks=tuple(range(num_ranks)),
    )


def _on_processes(
    program: Callable[[Rank], R], num_ranks: int, timeout_s: float
) -> ClusterRun[R]:
    here = Processes(world(), timeout_s)
    if num_ranks != here.num_ranks:
        raise ValueError(
            "num_ranks must be the number of processes that mpiexec started, "
            f"{here.num_ranks}, got {num_ranks}"
        )
    rank, cause, page = Rank(here, here.index), None, b""
    try:
        page = pickle.dumps((program(rank), rank.records))
        state: State = rank.end()
    except BaseException as error:
        cause, state = error, _raised(error)
    pages = map(pickle.loads, _at_the_end(here, state, page, cause))
    results, records = zip(*pages, strict=True)
    return ClusterRun(
        results=results, ledger=_ledger(records), local_ranks=(here.index,)
    )


def _at_the_end(
    here: Processes, state: State, page: bytes, cause: BaseException | None
) -> list[bytes]:
    """The last meeting: every process gets every rank's page, or the same error."""
    if here.failure is not None:
        raise here.failure
    try:
        return here.meet(here.index, state, [page] * here.num_ranks)
    except ClusterError as failure:
        raise failure from cause


def _ledger(pages: Sequence[Sequence[Record]]) -> Ledger:
    return Ledger(tuple(map(tuple, pages)))


def _raised(error: BaseException) -> Raised:
    return Raised(f"{type(error).__name__}: {error}")
