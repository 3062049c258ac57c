"""A preemption storm small enough to watch: four requests, twenty blocks of cache."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import sqrt

from llmserve_lab.checks import at_least, key_of, positive, whole_number
from llmserve_lab.engine import Chunked, IterationFrame, Request, simulate
from llmserve_lab.engine.metrics.report import Report
from llmserve_lab.kv_memory.machine import BLOCK, num_blocks
from llmserve_lab.symptoms.served import server

BLOCKS, PROMPT, ANSWERS = 20, 64, (80, 90, 70, 85)  # blocks; tokens of each request
LETTERS = "ABCD"
SLOTS = {"four slots": 4, "two slots": 2}


def slots_at_most(longest: int) -> int:
    """Slots that hold requests of ``longest`` tokens each, in whole blocks of the GPU.

    Raises:
        ValueError: a request has no token.
    """
    return num_blocks() // -(-whole_number("longest", longest, first=1) // BLOCK)


def written_on_average(answer: float, cv: float) -> float:
    """Tokens that a running answer has written at a random moment, on average.

    ``cv`` is the standard deviation of the lengths over their mean. A random moment
    meets long answers in proportion to their length, which makes the mean length that
    it meets ``answer (1 + cv^2)``; on average half of that is written.

    Raises:
        ValueError: the length is not positive, or the deviation is negative.
    """
    at_least("cv", cv, 0)
    return positive("answer", answer) * (1 + cv**2) / 2


def slots_on_average(prompt: float, answer: float, spreads: float = 2.0) -> int:
    """Slots that hold requests of mean lengths, with ``spreads`` standard deviations.

    Lengths are geometric. Then an answer that is under way has on average written as
    much as a whole one is long, so a slot holds ``prompt + answer`` tokens with the
    standard deviation of the two together. Blocks are whole: half of one is empty.

    Raises:
        ValueError: a length or the margin is not positive.
    """
    positive("prompt", prompt)
    positive("spreads", spreads)
    mean = prompt + written_on_average(answer, cv=1) + BLOCK / 2
    return slots_with_room(
        num_blocks() * BLOCK, mean, spreads * sqrt(prompt**2 + answer**2)
    )


def slots_with_room(tokens: float, mean: float, margin: float) -> int:
    """The most slots n with ``n mean + margin sqrt(n)`` tokens in the cache.

    Raises:
        ValueError: a mean or the margin is not positive.
    """
    positive("mean", mean)
    positive("margin", margin)
    root = (sqrt(margin**2 + 4 * mean * tokens) - margin) / (2 * mean)
    return int(root**2)


def slots_in_numbers(prompt: int, answer: int) -> str:
    """The sum that :func:`slots_on_average` keeps below the cache, written out."""
    slots, spread = slots_on_average(prompt, answer), sqrt(prompt**2 + answer**2)
    each = prompt + answer + BLOCK // 2
    total = slots * each + 2 * sqrt(slots) * spread
    total = round(total, -2)  # the printed root is itself rounded
    return f"{slots} · {each:,} + 2 · {sqrt(slots):.2f} · {spread:,.0f} ≈ {total:,.0f}"


def requests() -> list[Request]:
    """All four at once."""
    return [
        Request(arrival_s=0.0, prompt_len=PROMPT, output_len=answer, id=number)
        for number, answer in enumerate(ANSWERS)
    ]


@cache
def served(name: str) -> Report:
    """The four on twenty blocks, every iteration logged.

    Raises:
        ValueError: there is no such number of slots.
    """
    key_of("name", name, SLOTS)
    pool = server(Chunked(512, SLOTS[name]), kv_blocks=BLOCKS)
    return simulate(requests(), pool, leap=False, log=True)


@dataclass(frozen=True)
class Stretch:
    """Iterations, from ``first`` to before ``last``, in which a request did one thing.

    ``again`` tokens were computed a second time at its start.
    """

    id: int
    doing: str
    first: int
    last: int
    again: int = 0


def frames(name: str) -> list[IterationFrame]:
    """Iterations of the run, one by one."""
    log = served(name).log
    assert log is not None, "the run is logged"
    return log.frames()


def held_blocks(frame: IterationFrame, more: int = 0) -> dict[int, int]:
    """Blocks of each running request in an iteration, or with ``more`` tokens each."""
    return {s.id: -(-(s.context + s.rows + more) // BLOCK) for s in frame.running}


def stretches(name: str) -> list[Stretch]:
    """What each request did, iteration by iteration, put together where it is alike."""
    found: list[Stretch] = []
    open_: dict[int, Stretch] = {}
    played = frames(name)
    for at, frame in enumerate(played):
        rows = {each.id: each for each in frame.running}
        now = dict.fromkeys(rows, "runs") | dict.fromkeys(frame.waiting, "waits")
        for number in sorted(set(now) | set(open_)):
            before, doing = open_.get(number), now.get(number)
            if before is not None and before.doing == doing:
                continue
            if before is not None:
                found.append(_closed(open_.pop(number), at))
            if doing is not None:
                again = at > 0 and doing == "runs" and rows[number].rows > 1
                more = rows[number].rows - 1 if again and _known(found, number) else 0
                open_[number] = Stretch(number, doing, at, at, more)
    found += [_closed(each, len(played)) for each in open_.values()]
    return sorted(found, key=lambda each: (each.id, each.first))


def pauses(name: str) -> list[Stretch]:
    """Stretches in which a preempted request waits, the longest first."""
    waits = [each for each in stretches(name) if each.doing == "waits"]
    return sorted(waits, key=lambda each: each.first - each.last)


def _known(found: list[Stretch], number: int) -> bool:
    """Whether a request has run before."""
    return any(each.id == number and each.doing == "runs" for each in found)


def _closed(each: Stretch, last: int) -> Stretch:
    return Stretch(each.id, each.doing, each.first, last, each.again)
