"""Point-to-point communication: send and receive, on which the others build."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import count
from typing import Any

from numpy.typing import ArrayLike

from llmserve_lab.checks import whole_number
from llmserve_lab.collectives.arrays import numeric
from llmserve_lab.collectives.backend import Array, Backend
from llmserve_lab.collectives.ledger import Record
from llmserve_lab.collectives.rendezvous import Call, Returned
from llmserve_lab.collectives.ring_algorithm import Traffic


class Endpoint:
    """A rank's number, its messages to single others, and its page of the ledger.

    Messages between two ranks arrive in the order of sending. Sending does not wait.
    """

    def __init__(self, backend: Backend, index: int) -> None:
        self.index = index
        self.num_ranks = backend.num_ranks
        self.records: list[Record] = []
        self._backend = backend
        self._collectives = count(1)
        self._sent = [0] * self.num_ranks
        self._received = [0] * self.num_ranks

    def __repr__(self) -> str:
        return f"Rank({self.index} of {self.num_ranks})"

    def send(self, x: ArrayLike, *, dst: int) -> None:
        """Send a copy of ``x`` to rank ``dst``, which must call :meth:`recv` for it."""
        tensor = self._post("send", x, dst)
        traffic = Traffic(sent_bytes=tensor.nbytes, received_bytes=0, steps=1)
        self._keep("send", tensor, traffic)

    def recv(self, *, src: int) -> Array:
        """Wait for the next array that rank ``src`` sends.

        The time is on the sender's account: it is one message.
        """
        tensor = self._take("recv", src)
        traffic = Traffic(sent_bytes=0, received_bytes=tensor.nbytes, steps=0)
        self._keep("recv", tensor, traffic)
        return tensor

    def sendrecv(self, x: ArrayLike, *, dst: int, src: int) -> Array:
        """Send ``x`` to ``dst`` while receiving from ``src``: one step of a ring."""
        sent, received = self._post("sendrecv", x, dst), self._take("sendrecv", src)
        traffic = Traffic(
            sent_bytes=sent.nbytes, received_bytes=received.nbytes, steps=1
        )
        self._keep("sendrecv", sent, traffic)
        return received

    def end(self) -> Returned:
        """What this rank says when its program has returned."""
        return Returned(sent=tuple(self._sent), received=tuple(self._received))

    def _post(self, call: str, x: ArrayLike, dst: int) -> Array:
        tensor = numeric(call, x)
        self._hand(tensor, self._other(f"{call}: dst", dst))
        return tensor

    def _take(self, call: str, src: int) -> Array:
        return self._fetch(self._other(f"{call}: src", src))

    def _hand(self, tensor: Array, dst: int) -> None:
        self._backend.post(self.index, dst, tensor)
        self._sent[dst] += 1

    def _fetch(self, src: int) -> Array:
        tensor = self._backend.take(self.index, src)
        self._received[src] += 1
        return tensor

    def _known(self, argument: str, rank: int) -> int:
        if whole_number(argument, rank, first=None) not in range(self.num_ranks):
            raise ValueError(
                f"{argument} must be a rank from 0 to {self.num_ranks - 1}, got {rank}"
            )
        return int(rank)

    def _other(self, argument: str, rank: int) -> int:
        if self._known(argument, rank) == self.index:
            raise ValueError(f"{argument} must be another rank, got {rank} on itself")
        return int(rank)

    def _call(self, name: str, *terms: tuple[str, Hashable]) -> Call:
        return Call(name, next(self._collectives), terms)

    def _meet(self, call: Call, parts: Sequence[Array]) -> list[Any]:
        return self._backend.meet(self.index, call, parts)

    def _count(
        self,
        name: str,
        tensor: Array,
        traffic: Callable[[Sequence[int], int], Traffic],
        chunks: Sequence[Array],
    ) -> None:
        """Enter a collective whose chunks go round the ring."""
        sizes = [chunk.nbytes for chunk in chunks]
        self._keep(name, tensor, traffic(sizes, self.index))

    def _keep(self, name: str, tensor: Array, traffic: Traffic) -> None:
        self.records.append(
            Record(name, shape=tensor.shape, tensor_bytes=tensor.nbytes, wire=traffic)
        )
