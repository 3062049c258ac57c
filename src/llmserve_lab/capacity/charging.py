"""Charging: whose is the time of an iteration, the prompts' or the answers'?

The rule: a prompt is charged the time by which its rows lengthen the iteration that
they ride in; the answers in it are charged the rest. An iteration without an answer is
the prompts' alone. What is left between iterations is idle.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from llmserve_lab.engine import (
    IterationCost,
    IterationFrame,
    IterationLoad,
    Pool,
    Request,
    simulate,
)


@dataclass(frozen=True)
class Charged:
    """Seconds of a replica charged to prompts, to answers, and to nothing."""

    prompts_s: float
    answers_s: float
    idle_s: float
    steps: int = 0  # iterations with an answer in them
    tokens: int = 0  # of answers, in these

    @property
    def answers_a_step(self) -> float:
        """Answers that share an iteration, on average over those with any."""
        return self.tokens / self.steps if self.steps else 0.0

    @property
    def elapsed_s(self) -> float:
        """All of them together."""
        return self.prompts_s + self.answers_s + self.idle_s


def charged(
    frames: Iterable[IterationFrame],
    cost: IterationCost,
    *,
    since_s: float = 0.0,
    until_s: float = inf,
) -> Charged:
    """Charge each iteration of one replica that lies in a span of time, by the rule."""
    prompts_s = answers_s = idle_s = 0.0
    end_s, steps, tokens = since_s, 0, 0
    for frame in frames:
        if frame.start_s < since_s or frame.end_s > until_s:
            continue
        took_s = frame.end_s - frame.start_s
        idle_s += frame.start_s - end_s
        end_s = frame.end_s
        decodes = IterationLoad(0, 0, 0)
        for each in frame.running:
            if each.rows == 1 and each.context:
                one = IterationLoad.of(chunk=1, context=each.context)
                decodes = decodes.plus(one)
        alone_s = cost.seconds(decodes) if decodes.rows else 0.0
        steps, tokens = steps + bool(decodes.rows), tokens + round(decodes.rows)
        answers_s += min(alone_s, took_s)
        prompts_s += max(0.0, took_s - alone_s)
    return Charged(prompts_s, answers_s, idle_s, steps, tokens)


def split(
    requests: Iterable[Request],
    pool: Pool,
    *,
    since_s: float = 0.0,
    until_s: float = inf,
) -> Charged:
    """Serve the requests on one replica, every iteration logged, and charge it."""
    report = simulate(requests, pool, leap=False, log=True)
    assert report.log is not None
    return charged(report.log.frames(), pool.cost, since_s=since_s, until_s=until_s)
