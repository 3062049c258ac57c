"""The stream of every reader while a long prompt is read: tokens, and the hole in it.

The engine serves a few requests that decode and one long prompt, whole or in chunks.
Each iteration gives each of them one token, so that its end is a tick in every lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from llmserve_lab.continuous_batching.machine import (
    DECODES,
    LONG,
    TARGET_S,
    calm,
    priced,
)
from llmserve_lab.continuous_batching.occupancy import logged
from llmserve_lab.continuous_batching.workloads import BOOK_ARRIVES_S, beside_a_book
from llmserve_lab.engine import (
    Chunked,
    ChunkedWithin,
    Continuous,
    IterationLoad,
    IterationRecord,
    Policy,
    Report,
    Request,
)
from llmserve_lab.running_example import PROMPT, cost

BUDGETS = (512, 1024, 2048, 4096, 8192)  # rows


def served(requests: Sequence[Request], policy: Policy) -> Report:
    """Serve ``requests`` on the default machine, every iteration logged."""
    return logged(requests, policy, cost())


@cache
def under(budget: int) -> Report:
    """The long prompt under a token budget, which the decodes take their rows of."""
    return logged(beside_a_book(), Chunked(budget), priced(budget))


@cache
def whole() -> Report:
    """The long prompt in one piece."""
    return served(beside_a_book(), Continuous())


@cache
def within(target_s: float = TARGET_S) -> Report:
    """The long prompt under a scheduler that keeps a target."""
    return served(beside_a_book(), ChunkedWithin(target_s))


@cache
def fixed(target_s: float = TARGET_S) -> Report:
    """The long prompt under the largest budget that keeps the target to its end."""
    rows = cost().chunk_within(target_s, load=calm(), context=LONG)
    return served(beside_a_book(), Chunked(rows + DECODES))


@dataclass(frozen=True)
class Beat:
    """One iteration with a piece of a prompt in it, or all like ones between two such.

    Times in seconds since the long prompt arrived; ``gap_s`` is what an iteration took,
    the longest where there are several; ``rows`` of a prompt rode along.
    """

    start_s: float
    end_s: float
    gap_s: float
    rows: int


def beats(report: Report) -> list[Beat]:
    """The iterations of a logged run, like ones without a prompt taken together.

    Raises:
        ValueError: the run was not logged.
    """
    if report.log is None:
        raise ValueError("report must come from a run with log=True, got no log")
    runs = groupby(enumerate(report.log), _kind)
    return [_beat([step for _, step in run]) for _, run in runs]


def pieces(report: Report) -> list[Beat]:
    """The iterations that carry a piece of the long prompt."""
    return [beat for beat in beats(report) if beat.rows and beat.start_s > 0]


def _kind(numbered: tuple[int, IterationRecord]) -> tuple[int, int | None]:
    """Iterations without a prompt are alike while as many decode; others are not."""
    number, step = numbered
    return step.decode_rows, number if step.prefill_rows else None


def _beat(run: Sequence[IterationRecord]) -> Beat:
    return Beat(
        start_s=run[0].start_s - BOOK_ARRIVES_S,
        end_s=run[-1].end_s - BOOK_ARRIVES_S,
        gap_s=max(step.seconds for step in run),
        rows=run[0].prefill_rows,
    )


def ttft_s(report: Report, prompt_len: int = LONG) -> float:
    """Time to first token of the request with a prompt of so many tokens.

    Raises:
        ValueError: there is not exactly one.
    """
    found = report.ttft_s[report.prompt_len == prompt_len]
    if len(found) != 1:
        raise ValueError(
            f"prompt_len must be that of one request, got {prompt_len} of {len(found)}"
        )
    return float(found[0])


def mean_gap_s(report: Report) -> float:
    """Mean gap of the readers while the long prompt is read."""
    read = pieces(report)
    return (read[-1].end_s - read[0].start_s) / len(read)


def calm_s(n_decodes: int = DECODES) -> float:
    """An iteration of the readers alone."""
    return cost().seconds(IterationLoad.of(chunk=1, context=PROMPT).times(n_decodes))


def longest_gap_s(report: Report) -> float:
    """Longest gap between two tokens of any request."""
    return float(report.gaps.longest_s)
