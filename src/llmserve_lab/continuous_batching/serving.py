"""The chapter's workloads: two answers of unlike length, and a prompt that stalls all.

The engine serves them. What is here is only who comes when, and what is read off the
log: how long each iteration took, which is the gap that everyone who decodes saw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby

import numpy as np

from llmserve_lab.continuous_batching.article_machine import (
    CONTEXT,
    DECODES,
    FROM_S,
    UNTIL_S,
    cost,
)
from llmserve_lab.engine import (
    Chunked,
    ChunkedWithin,
    IterationRecord,
    Policy,
    Pool,
    Report,
    Request,
    simulate,
)

LONG = 96 * 1024  # a prompt of about a hundred thousand tokens, whole in every chunk
ARRIVES_S = 2.0  # when it comes; the others have begun to decode by then
ANSWER = 700  # tokens of each who decodes: enough to see it out


def convoy() -> list[Request]:
    """A short and a long answer that start together, and one who comes later."""
    sizes = ((0.0, 50), (0.0, 1000), (0.2, 50))
    return [
        Request(arrival_s=arrival, prompt_len=256, output_len=answer, id=number)
        for number, (arrival, answer) in enumerate(sizes)
    ]


def stall(*, prompt_len: int = LONG, n_decodes: int = DECODES) -> list[Request]:
    """Requests that decode in peace until a long prompt arrives, the last of them."""
    calm = [
        Request(arrival_s=0.0, prompt_len=CONTEXT, output_len=ANSWER, id=number)
        for number in range(n_decodes)
    ]
    long = Request(
        arrival_s=ARRIVES_S, prompt_len=prompt_len, output_len=10, id=n_decodes
    )
    return [*calm, long]


def crowd(
    *, num_requests: int = 96, per_s: float = 3.0, seed: int = 0
) -> list[Request]:
    """Requests that arrive at random, with answers of very unlike lengths."""
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(1 / per_s, num_requests))
    prompts = rng.integers(64, 1024, num_requests)
    answers = rng.geometric(1 / 200, num_requests)
    return [
        Request(arrival_s=float(t), prompt_len=int(s), output_len=int(u), id=number)
        for number, (t, s, u) in enumerate(zip(arrivals, prompts, answers, strict=True))
    ]


def serve(requests: Sequence[Request], policy: Policy) -> Report:
    """What the engine makes of them, every single iteration logged."""
    return simulate(requests, Pool(cost(), policy), log=True, leap=False)


@cache
def stalled(chunk: int) -> Report:
    """The long prompt in chunks of ``chunk`` rows beside eight decodes."""
    return serve(stall(), Chunked(chunk + DECODES))


def within(target_s: float) -> Report:
    """The long prompt under a scheduler that keeps a target."""
    return serve(stall(), ChunkedWithin(target_s))


@dataclass(frozen=True)
class Beat:
    """One iteration with a piece of a prompt in it, or all like ones between two such.

    ``gap_s`` is what an iteration took, the longest where there are several; ``rows``
    of a prompt rode along.
    """

    start_s: float
    end_s: float
    gap_s: float
    rows: int

    def since(self, origin_s: float) -> Beat:
        """The same with times counted from ``origin_s``."""
        start_s, end_s = self.start_s - origin_s, self.end_s - origin_s
        return replace(self, start_s=start_s, end_s=end_s)


def beats(report: Report) -> list[Beat]:
    """The heartbeat of a logged run.

    Raises:
        ValueError: the run was not logged.
    """
    if report.log is None:
        raise ValueError("report must come from a run with log=True, got no trace")
    runs = groupby(enumerate(report.log), _kind)
    return [_beat([step for _, step in run]) for _, run in runs]


def around_the_stall(report: Report) -> list[Beat]:
    """The beats that are shown, in seconds since the long prompt arrived."""
    found = (beat.since(ARRIVES_S) for beat in beats(report))
    return [
        replace(beat, start_s=max(beat.start_s, FROM_S), end_s=min(beat.end_s, UNTIL_S))
        for beat in found
        if beat.end_s > FROM_S and beat.start_s < UNTIL_S
    ]


def _kind(numbered: tuple[int, IterationRecord]) -> tuple[int, int | None]:
    """Iterations without a prompt are alike while as many decode; others are not."""
    number, step = numbered
    return step.decode_rows, number if step.prefill_rows else None


def _beat(run: Sequence[IterationRecord]) -> Beat:
    """What like iterations in a row come to."""
    return Beat(
        start_s=run[0].start_s,
        end_s=run[-1].end_s,
        gap_s=max(step.seconds for step in run),
        rows=run[0].prefill_rows,
    )
