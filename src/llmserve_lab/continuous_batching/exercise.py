"""The reader's own scheduler: a function that splits the budget among the prompts.

The engine asks it before every iteration. The check serves a rush of short prompts that
come while a long prompt is read, and says what is still wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from llmserve_lab.checks import whole
from llmserve_lab.continuous_batching.lanes import ttft_s
from llmserve_lab.continuous_batching.machine import LONG
from llmserve_lab.continuous_batching.occupancy import frames, logged
from llmserve_lab.continuous_batching.workloads import BOOK_ARRIVES_S, beside_a_book
from llmserve_lab.engine import Chunked, IterationLoad, Policy, Report, Request
from llmserve_lab.engine.scheduler.policies import Plan
from llmserve_lab.engine.scheduler.sequence import Sequence as Prompt
from llmserve_lab.engine.scheduler.state import BatchState
from llmserve_lab.formula.text import si
from llmserve_lab.running_example import cost

Shares = list[tuple[Prompt, int]]  # a prompt and its rows
Split = Callable[[list[Prompt], int], list[tuple[Prompt, int]]]
BUDGET = 512  # rows of an iteration, decodes included
RUSH, RUSH_LEN = 150, 520  # short prompts and their tokens: each fills a budget
SHORT_S, STILL_S, LATER = 1.5, 0.5, 1.5  # what the check accepts


@dataclass(frozen=True)
class Splitting(Policy):
    """Chunked prefill in which ``split`` shares out what the decodes leave.

    ``split`` is given the prompts that are not complete, in the order in which they
    were admitted, and the rows that are left of the budget. It returns pairs of a
    prompt and its rows in this iteration.
    """

    split: Split
    budget: int = BUDGET
    max_batch: int = 256

    def __post_init__(self) -> None:
        whole(budget=self.budget, max_batch=self.max_batch)

    def plan(self, state: BatchState) -> Plan:
        """Admit what fits, then ask for the shares."""
        while state.size < self.max_batch and state.admit():
            pass
        room = max(0, self.budget - len(state.decode_batch))
        if not state.prefilling:
            return Plan([])
        shares = self.split(list(state.prefilling), room)
        return Plan(_checked(shares, state.prefilling, room))


def _checked(
    shares: Sequence[tuple[Prompt, int]], prompts: Sequence[Prompt], room: int
) -> list[tuple[Prompt, int]]:
    """The shares that have a row.

    Raises:
        ValueError: a share is of no prompt, larger than what is left of it, or all of
            them are more than the budget leaves.
    """
    kept = [(prompt, rows) for prompt, rows in shares if rows]
    if len({id(prompt) for prompt, _ in kept}) < len(kept):
        raise ValueError("split must return each prompt once, got one of them twice")
    for prompt, rows in kept:
        if not any(prompt is each for each in prompts):
            raise ValueError(f"split must return prompts it was given, got {prompt!r}")
        if not 0 < rows <= prompt.pending:
            raise ValueError(
                f"rows must be 1 to {prompt.pending}, what is left of the prompt, "
                f"got {rows}"
            )
    if sum(rows for _, rows in kept) > room:
        given = sum(rows for _, rows in kept)
        raise ValueError(f"rows must be {room} at most in all, got {given}")
    return kept


def in_order_of_arrival(prompts: list[Prompt], budget: int) -> list[tuple[Prompt, int]]:
    """The oldest prompt takes what it can, the next one what that leaves."""
    chunks = []
    for prompt in prompts:
        rows = min(prompt.pending, budget)
        chunks.append((prompt, rows))
        budget -= rows
    return chunks


def fair_share(prompts: list[Prompt], budget: int) -> Shares:
    """Equal parts; what one does not need goes to the others."""
    chunks = []
    by_length = sorted(prompts, key=lambda prompt: prompt.pending)
    for place, prompt in enumerate(by_length):
        rows = min(prompt.pending, budget // (len(prompts) - place))
        chunks.append((prompt, rows))
        budget -= rows
    return chunks


def rush() -> list[Request]:
    """Requests that decode, a long prompt, and short ones that keep coming."""
    calm, every_s = beside_a_book(), cost().seconds(IterationLoad.of(chunk=BUDGET))
    start, first = BOOK_ARRIVES_S + every_s, len(calm)
    short = [
        Request(
            arrival_s=start + every_s * number,
            prompt_len=RUSH_LEN,
            output_len=2,
            id=first + number,
        )
        for number in range(RUSH)
    ]
    return [*calm, *short]


def check(split: Split) -> str:
    """What is still wrong with a split, beginning with "not yet"; or that all is well.

    Raises:
        ValueError: the split breaks a rule; the message says which.
    """
    run = logged(rush(), Splitting(split), cost())
    if run.num_requests < len(rush()):
        left = len(rush()) - run.num_requests
        return f"not yet: {left} requests are never served; is no prompt given rows?"
    slowest_s = float(run.ttft_s[run.prompt_len == RUSH_LEN].max())
    if slowest_s > SHORT_S:
        return (
            f"not yet: a short prompt waits {si(slowest_s, 's')} "
            f"for its first token;\n{si(SHORT_S, 's')} would do."
        )
    if (still_s := _standstill_s(run)) > STILL_S:
        return (
            f"not yet: the short prompts are quick, but the long prompt "
            f"stands still for\n{si(still_s, 's')}; {si(STILL_S, 's')} would do."
        )
    return _if_in_time(run, slowest_s)


def _if_in_time(run: Report, slowest_s: float) -> str:
    fcfs = logged(rush(), Chunked(BUDGET), cost())
    factor = ttft_s(run, LONG) / ttft_s(fcfs, LONG)
    if factor > LATER:
        return (
            f"not yet: the long prompt takes {factor:.2f} times as long as "
            f"in order of arrival;\n{LATER:g} times would do."
        )
    return (
        f"well done: the slowest short prompt waits {si(slowest_s, 's')},\n"
        f"and the long prompt takes {factor:.2f} times as long as in order of arrival."
    )


def _standstill_s(run: Report) -> float:
    """Longest time between two iterations that carry a piece of the long prompt."""
    ends = [
        frame.end_s
        for frame in frames(run)
        if any(part.id == _book(run) for part in frame.running)
    ]
    return max(b - a for a, b in pairwise(ends))


def _book(run: Report) -> int:
    return int(run.id[run.prompt_len == LONG][0])
