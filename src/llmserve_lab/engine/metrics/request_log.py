"""Log of answered requests: a dozen numbers each, and no object."""

from __future__ import annotations

from array import array
from typing import Any

from llmserve_lab.engine.metrics.tbt_histogram import Floats
from llmserve_lab.engine.scheduler.sequence import Sequence

COLUMNS = (
    "id",
    "arrival_s",
    "prompt_len",
    "output_len",
    "hit_tokens",
    "scheduled_s",
    "first_token_s",
    "transfer_s",
    "last_token_s",
    "finished_s",
    "worst_gap_s",
    "preemptions",
)


class RequestLog:
    """Answered requests, in the order of the answers."""

    def __init__(self, *, total: int | None = None, progress: bool = False) -> None:
        self._numbers = array("d")
        self._bar: Any = None
        if progress:
            from llmserve_lab.extras import tqdm

            self._bar = tqdm.tqdm(total=total, unit="request", mininterval=0.5)

    def add(self, sequence: Sequence, finished_s: float) -> None:
        """Note a request that has been answered."""
        request = sequence.request
        self._numbers.extend(
            (
                request.id,
                request.arrival_s,
                request.prompt_len,
                request.output_len,
                sequence.hit_tokens,
                sequence.scheduled_s,
                sequence.first_token_s,
                sequence.transfer_s,
                sequence.last_token_s,
                finished_s,
                sequence.worst_gap_s,
                sequence.preemptions,
            )
        )
        if self._bar is not None:
            self._bar.update()

    def columns(self) -> dict[str, Floats]:
        """The numbers by name, each [requests]."""
        import numpy as np

        table = np.array(self._numbers).reshape(-1, len(COLUMNS))
        return dict(zip(COLUMNS, table.T, strict=True))

    def close(self) -> None:
        """Close the progress bar."""
        if self._bar is not None:
            self._bar.close()
