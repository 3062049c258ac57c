"""Lab on continuous batching: a server of slots, and what is drawn for each student.

The student writes the scheduler. The server asks it before every iteration, refuses
what no server could do, and counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.continuous_batching.exercise import Split, Splitting
from llmserve_lab.continuous_batching.workloads import numbered
from llmserve_lab.engine import Pool, Report, Request, simulate
from llmserve_lab.running_example import PROMPT, cost

MOST_REQUESTS = 10_000
BUDGETS = (128, 256, 384, 512, 768, 1024, 1536, 2048)  # rows of an iteration
SHORT_LEN, SHORT_REQUESTS = 300, 40  # prompts that come while a long one is read

Enter = Callable[[list[int], list[int], int], Sequence[int] | None]


@dataclass(frozen=True, kw_only=True)
class StudentNumbers:
    """Numbers drawn for one student: the same student always gets the same.

    ``answers`` are tokens of the answers of requests 0, 1, 2, … in order of arrival,
    ``slots`` how many of them a server runs at once. ``long_prompt`` is in tokens,
    ``decodes`` counts the requests that write beside it, and ``target_s`` is the
    longest gap in seconds that they may see.
    """

    answers: tuple[int, ...]
    slots: int
    long_prompt: int
    decodes: int
    target_s: float


def drawn(student: str) -> StudentNumbers:
    """The numbers of one student, by name or matriculation number.

    Raises:
        ValueError: the name is empty.
    """
    if not (name := student.strip().casefold()):
        raise ValueError("student must be a name or a number, got an empty text")
    chance = np.random.default_rng([*sha256(name.encode()).digest()])
    return StudentNumbers(
        answers=tuple(int(10 * each) for each in chance.integers(2, 90, 24)),
        slots=int(chance.integers(3, 7)),
        long_prompt=int(1000 * chance.integers(24, 97)),
        decodes=int(chance.integers(3, 13)),
        target_s=float(chance.choice([0.04, 0.05, 0.06, 0.08, 0.1])),
    )


@dataclass(frozen=True, kw_only=True)
class SlotCount:
    """What a server of ``slots`` did: its iterations, and the tokens it produced.

    ``ended`` says after how many iterations each request was complete.
    """

    slots: int
    iterations: int
    tokens: int
    ended: tuple[int, ...]

    @property
    def wasted(self) -> float:
        """Share of the slots of all iterations in which no wanted token was made."""
        return 1 - self.tokens / (self.slots * self.iterations)


def serve(answers: Sequence[int], slots: int, enter: Enter) -> SlotCount:
    """Serve requests that wait from the start; ``enter`` says which of them go in.

    Before every iteration it is given the numbers of those that wait, in order of
    arrival, of those that run, and the slots; it returns the numbers of those that
    enter now. In an iteration each that runs produces one token of its answer, and
    leaves with the last one.

    Raises:
        ValueError: there is no request, an answer or the slots are below 1, or
            ``enter`` breaks a rule; the message says which.
    """
    whole(of="slot", most=MOST_REQUESTS, slots=slots)
    whole(of="request", most=MOST_REQUESTS, answers=len(answers))
    for answer in answers:
        whole(of="token", answer=answer)
    waiting, left = [*range(len(answers))], dict[int, int]()
    ended, iterations = [0] * len(answers), 0
    while waiting or left:
        entering = enter([*waiting], [*left], slots)
        for number in _allowed(entering, waiting, len(left), slots):
            waiting.remove(number)
            left[number] = answers[number]
        iterations += 1
        left = {number: rest - 1 for number, rest in left.items()}
        for number in [number for number, rest in left.items() if not rest]:
            ended[number] = iterations
            del left[number]
    return SlotCount(
        slots=slots, iterations=iterations, tokens=sum(answers), ended=tuple(ended)
    )


def _allowed(
    entering: Sequence[int] | None, waiting: Sequence[int], taken: int, slots: int
) -> list[int]:
    """The numbers of those that enter.

    Raises:
        ValueError: there is no list, one of its numbers does not wait or is named
            twice, they are more than there are free slots, or the server would stand
            still.
    """
    if entering is None:  # a function without a return
        raise ValueError("enter must return a list, got None")
    entering = [*entering]
    if len({*entering}) < len(entering):
        raise ValueError(f"enter must name a request once, got {entering}")
    for number in entering:
        if number not in waiting:
            raise ValueError(f"enter must return numbers that wait, got {number!r}")
    if taken + len(entering) > slots:
        raise ValueError(
            f"enter must fill {slots - taken} free slots at most, got {len(entering)}"
        )
    if not taken and not entering:
        raise ValueError("enter must let a request in when no slot is taken, got none")
    return entering


def beside_the_long_prompt(of: StudentNumbers) -> list[Request]:
    """Requests that write, a long prompt, and short prompts that keep coming.

    The long one comes after 1 s, and a short one every 50 ms from then on.
    """
    sizes = [(0.0, PROMPT, 1200)] * of.decodes + [(1.0, of.long_prompt, 20)]
    sizes += [(1.0 + 0.05 * (1 + n), SHORT_LEN, 20) for n in range(SHORT_REQUESTS)]
    return numbered(sizes)


def run(of: StudentNumbers, split: Split, *, budget: int) -> Report:
    """Serve that with the student's ``split``: Llama-3.1-8B on one H100, as modelled.

    Raises:
        ValueError: the budget is below 1 row, or ``split`` breaks a rule.
    """
    policy = Splitting(split, budget)
    return simulate(beside_the_long_prompt(of), Pool(cost(), policy))


def longest_gap_s(of: StudentNumbers, report: Report) -> float:
    """Longest time in s between two tokens of a request that wrote from the start."""
    return float(report.worst_gap_s[report.id < of.decodes].max())


def first_token_s(of: StudentNumbers, report: Report, *, short: bool) -> float:
    """Time to first token in s: of the long prompt, or of the slowest short one."""
    which = report.id > of.decodes if short else report.id == of.decodes
    return float(report.ttft_s[which].max())
