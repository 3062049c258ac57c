"""The most tokens per second that a machine can write, from rows, bytes and launches.

A measured or simulated rate above it was counted wrongly, whatever the scheduler does.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.engine import IterationCost
from llmserve_lab.kv_memory.machine import sampling_from
from llmserve_lab.running_example import ANSWER, PROMPT, cost
from llmserve_lab.symptoms.cases.streaming import FULL
from llmserve_lab.symptoms.served import BUDGET

FEW_SLOTS = sampling_from() - 1  # the most that leave a server all blocks


@dataclass(frozen=True)
class MeanIteration:
    """The mean iteration of a batch that never empties: each request writes a token.

    In the mean it also reads ``prompt / answer`` tokens of prompts for each request.
    Lengths are geometric, so that a request holds ``prompt + answer`` tokens.
    """

    cost: IterationCost
    requests: int
    prompt: int
    answer: int
    budget: int

    @property
    def rows(self) -> float:
        """Tokens that are computed."""
        return self.requests * (1 + self.prompt / self.answer)

    @property
    def computing_s(self) -> float:
        """Arithmetic of the rows, attention apart."""
        return self.rows * self.cost.row_s

    @property
    def unhidden_s(self) -> float:
        """What does not overlap of the shorter of computing and reading weights."""
        shorter_s = min(self.computing_s, self.cost.weights_s)
        return (1 - self.cost.overlap) * shorter_s

    @property
    def attention_s(self) -> float:
        """The KV cache of all requests, read and computed."""
        held = self.requests * (self.prompt + self.answer)
        return held * (self.cost.kv_token_s + self.cost.pair_s)

    @property
    def launches_s(self) -> float:
        """Launches; those of a prompt as rarely as the budget allows."""
        share = min(1.0, (self.rows - self.requests) / self.budget)
        return self.cost.overhead_s + share * self.cost.prompt_s

    @property
    def seconds(self) -> float:
        """All of it, at least."""
        longer_s = max(self.computing_s, self.cost.weights_s)
        requests_s = self.requests * self.cost.request_s
        spent_s = longer_s + self.unhidden_s + self.attention_s
        return spent_s + self.launches_s + requests_s

    @property
    def tokens_per_s(self) -> float:
        """The most that are written."""
        return self.requests / self.seconds


def of_the_page() -> MeanIteration:
    """The large batch of the page, under the default budget."""
    return MeanIteration(cost(), FULL, PROMPT, ANSWER, BUDGET)
