"""Turn by turn a conversation sends its whole past again: the cache may know it.

All conversations open with the same system prompt; each turn's prompt is the one before
it, its answer, and a new question. The blocks of a prompt carry names, so that a store
can tell what it has seen.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from llmserve_lab.checks import positive, whole
from llmserve_lab.engine.scheduler.request import Request
from llmserve_lab.workloads.arrivals import poisson
from llmserve_lab.workloads.lengths import LengthLaw, are_laws
from llmserve_lab.workloads.traces import MOONCAKE_BLOCK


@dataclass(frozen=True, kw_only=True)
class Conversations:
    """How people talk: how often one begins, how many turns, how long each part is.

    ``rate_per_s`` counts conversations; ``system_len`` tokens open every one of them;
    between two turns passes a time with mean ``think_s``, from turn to turn.
    """

    rate_per_s: float
    turns: LengthLaw
    question: LengthLaw
    answer: LengthLaw
    system_len: int
    think_s: float

    def __post_init__(self) -> None:
        are_laws(turns=self.turns, question=self.question, answer=self.answer)
        positive("rate_per_s", self.rate_per_s)
        positive("think_s", self.think_s)
        whole(of="token", first=0, system_len=self.system_len)

    def requests(self, *, num_requests: int, seed: int) -> Iterator[Request]:
        """The first ``num_requests`` turns of all conversations, by arrival."""
        whole(num_requests=num_requests)
        whole(first=0, seed=seed)
        rng = np.random.default_rng(seed)
        starts = poisson(self.rate_per_s, np.random.default_rng([seed, 1]))
        shared = self.system_len // MOONCAKE_BLOCK
        names, numbers = count(shared), count()
        waiting: list[tuple[float, int, _Talk]] = []
        opening = next(starts)
        for number in range(num_requests):
            while not waiting or opening <= waiting[0][0]:
                talk = _Talk(self.system_len, _one(self.turns, rng), [*range(shared)])
                heapq.heappush(waiting, (opening, next(numbers), talk))
                opening = next(starts)
            now_s, key, talk = heapq.heappop(waiting)
            question, answer = _one(self.question, rng), _one(self.answer, rng)
            prefix = talk.ask(question, names)
            yield Request(
                arrival_s=now_s,
                prompt_len=talk.tokens,
                output_len=answer,
                id=number,
                prefix=prefix,
            )
            if talk.goes_on(answer):
                # Exponential pauses keep no memory, so which conversation speaks next
                # does not depend on how long the others have been silent.
                later = now_s + float(rng.exponential(self.think_s))
                heapq.heappush(waiting, (later, key, talk))


@dataclass
class _Talk:
    """One conversation: the tokens so far, the turns left, names of its full blocks."""

    tokens: int
    left: int
    full: list[int] = field(default_factory=list)

    def ask(self, question: int, names: Iterator[int]) -> tuple[int, ...]:
        """Add a question; name each block. One that is not full is named anew."""
        self.tokens += question
        whole, rest = divmod(self.tokens, MOONCAKE_BLOCK)
        self.full += [next(names) for _ in range(whole - len(self.full))]
        # A block that is not full will be another block when the next turn has filled
        # it, so no later prompt may claim to know it by this name.
        return (*self.full, *([next(names)] if rest else []))

    def goes_on(self, answer: int) -> bool:
        """Add the answer; whether another turn follows."""
        self.tokens += answer
        self.left -= 1
        return self.left > 0


def _one(law: LengthLaw, rng: np.random.Generator) -> int:
    return int(law.draw(rng, 1)[0])
