"""MPI backend: ranks on real processes.

Between two processes runs one stream of messages in order: arrays that were sent, and
one note per meeting that says what its rank is about to do, with the part it has for
the other. A rank that waits for an array and finds a note instead knows that the array
will never come. Waiting is polling with a deadline: a rank that waits longer stops all.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, NoReturn

from llmserve_lab.collectives.backend import Array
from llmserve_lab.collectives.rendezvous import ClusterError, State, Waiting, check

TAG = 2009  # the ring's year: apart from what else a program may send
POLL_S = 20e-6
GRACE_S = 0.5


def world() -> Any:
    """All processes that mpiexec started.

    Raises:
        ModuleNotFoundError: mpi4py is missing, or there is no MPI for it to load.
    """
    try:
        return importlib.import_module("mpi4py.MPI").COMM_WORLD
    except (ImportError, RuntimeError) as error:
        raise ModuleNotFoundError(
            "backend 'mpi' needs mpi4py and an MPI library: "
            f"pip install 'llmserve-lab[mpi]' ({error})"
        ) from None


class Processes:
    """This process's end of the streams to all others."""

    def __init__(self, comm: Any, timeout_s: float) -> None:
        self.comm = comm
        self.index: int = comm.Get_rank()
        self.num_ranks: int = comm.Get_size()
        self.timeout_s = timeout_s
        self.failure: ClusterError | None = None
        self._notes: dict[int, tuple[State, Any]] = {}
        self._mail: list[deque[Array]] = [deque() for _ in range(self.num_ranks)]
        self._sending: list[Any] = []

    def meet(self, index: int, state: State, parts: Sequence[Any]) -> list[Any]:
        """See :meth:`llmserve_lab.collectives.backend.Backend.meet`."""
        self._raise_failure()
        for peer, part in enumerate(parts):
            if peer != index:
                self._send(peer, (state, part))
        # Every peer's note is read before any is checked: each process then checks the
        # same list, and all raise the same error or none does.
        notes = [
            (state, parts[index]) if peer == index else self._note(peer, state)
            for peer in range(self.num_ranks)
        ]
        self._finish_sending()
        try:
            check([state for state, _ in notes])
        except ClusterError as failure:
            self.failure = failure
            raise
        return [part for _, part in notes]

    def post(self, src: int, dst: int, array: Array) -> None:
        """See :meth:`llmserve_lab.collectives.backend.Backend.post`."""
        self._raise_failure()
        self._send(dst, array)

    def take(self, dst: int, src: int) -> Array:
        """See :meth:`llmserve_lab.collectives.backend.Backend.take`."""
        self._raise_failure()
        waiting = Waiting(src)
        while not self._mail[src]:
            if src in self._notes:  # it has gone to a meeting that needs this rank
                self.meet(dst, waiting, [None] * self.num_ranks)
            self._pull(src, waiting)
        return self._mail[src].popleft()

    def _raise_failure(self) -> None:
        if self.failure is not None:
            raise ClusterError(str(self.failure))

    def _send(self, peer: int, message: object) -> None:
        self._sending.append(self.comm.isend(message, dest=peer, tag=TAG))

    def _finish_sending(self) -> None:
        """All peers have come to the meeting, so they read on until its note."""
        for request in self._sending:
            request.wait()
        self._sending.clear()

    def _note(self, peer: int, state: State) -> tuple[State, Any]:
        while peer not in self._notes:
            self._pull(peer, state)
        return self._notes.pop(peer)

    def _pull(self, peer: int, state: State) -> None:
        """Take the next message of a peer's stream and put it where it belongs."""
        deadline = time.monotonic() + self.timeout_s
        while (message := self.comm.improbe(source=peer, tag=TAG)) is None:
            if time.monotonic() > deadline:
                self._abort(f"rank {self.index} {state}: it has", peer)
            time.sleep(POLL_S)
        content = message.recv()
        # Arrays are the only messages that are no tuple; a tag each would let a later
        # note overtake an array that was sent before it.
        if isinstance(content, tuple):
            self._notes[peer] = content
        else:
            self._mail[peer].append(content)

    def _abort(self, waited: str, peer: int) -> NoReturn:
        """The last resort: no message to be agreed on, only an end for all."""
        print(
            f"ClusterError: {waited} waited {self.timeout_s:g} s for rank {peer}",
            file=sys.stderr,
            flush=True,
        )
        time.sleep(GRACE_S)  # mpiexec has to pass the message on before it ends all
        self.comm.Abort(1)
        raise SystemExit(1)  # Abort does not come back
