"""Orders as a reader would write them: one small class each, outside the engine."""

from dataclasses import dataclass

from llmserve_lab.engine import BatchState, Order
from llmserve_lab.engine.scheduler.sequence import Sequence


@dataclass(frozen=True)
class FairShare(Order):
    """Of the user who has the fewest requests in the batch."""

    def next(self, state: BatchState) -> Sequence:
        users = [each.request.user for each in state.running()]
        return min(state.waiting, key=lambda each: users.count(each.request.user))


@dataclass(frozen=True)
class LongestYields(Order):
    """Preempts the request that holds the most, so that one preemption frees most."""

    def victim(self, state: BatchState) -> Sequence:
        return max(state.running(), key=lambda each: each.known)


@dataclass(frozen=True)
class Patience(Order):
    """Longest prompt first, but before it those that waited too long for theirs."""

    token_s: float = 2e-3  # what each token of a prompt adds to the patience
    steady = False

    def next(self, state: BatchState) -> Sequence:
        def turn(each: Sequence) -> tuple[bool, int]:
            length = each.request.prompt_len
            waited_s = state.end_s - each.request.arrival_s
            return waited_s < length * self.token_s, -length

        return min(state.waiting, key=turn)
