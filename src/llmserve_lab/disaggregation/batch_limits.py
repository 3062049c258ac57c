"""Decode batches that keep a promise: reading, computing and memory each limit them."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.served import known, load, value
from llmserve_lab.running_example import ANSWER, PROMPT

LIMITS = ("reading", "computing", "memory")
PROMISES = (
    (PROMPT, 0.01),
    (PROMPT, 0.02),
    (PROMPT, 0.05),
    (16 * PROMPT, 0.02),
    (128 * PROMPT, 0.01),
)


@dataclass(frozen=True)
class BatchLimits:
    """Most requests in a decode batch by each of three limits, for a promise."""

    prompt: int
    promise_s: float
    reading: float
    computing: float
    memory: float

    @property
    def limits(self) -> dict[str, float]:
        """The three by name."""
        return {name: getattr(self, name) for name in LIMITS}

    @property
    def tightest(self) -> str:
        """The limit that is met first."""
        return min(self.limits, key=self.limits.__getitem__)

    @property
    def batch(self) -> int:
        """The largest batch; 0 where even one request breaks the promise."""
        return max(0, int(self.limits[self.tightest]))


def batch_limits() -> tuple[BatchLimits, ...]:
    """The three limits of a decode batch, for a few prompts and promises."""
    found = []
    for prompt, promise_s in PROMISES:
        has = known(load(prompt, ANSWER, promise_s))
        three = (
            value(each, has) for each in (f.TBT_BATCH, f.ARITH_BATCH, f.ROOM_BATCH)
        )
        found.append(BatchLimits(prompt, promise_s, *three))
    return tuple(found)
