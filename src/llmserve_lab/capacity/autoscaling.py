"""Horizontal autoscaling with a cold start, run in the engine.

The control loop is that of the Kubernetes HorizontalPodAutoscaler: every 15 s it reads
a signal of the ready replicas, divides its sum by the target of one replica and rounds
up; a difference of a tenth is ignored, and it goes down only to the largest number that
it has wanted within five minutes. What it starts serves after a cold start, and is paid
for from the beginning.

Source: Kubernetes documentation, Horizontal Pod Autoscaling (period, formula,
tolerance, stabilisation); which signals engines offer: KServe 0.16, Autoscale
InferenceService with LLM metrics.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf
from typing import Literal

import numpy as np

from llmserve_lab.capacity.level import ServiceLevel, worst_late
from llmserve_lab.capacity.trace import MINUTE_S, Requests, some
from llmserve_lab.checks import at_least, one_of, positive, whole
from llmserve_lab.engine import Pool, Report, Request, Routing
from llmserve_lab.engine.arrivals import OpenLoop
from llmserve_lab.engine.deployment import MOST_REPLICAS
from llmserve_lab.engine.metrics.percentile import percentile
from llmserve_lab.engine.metrics.report import report_of
from llmserve_lab.engine.metrics.request_log import RequestLog
from llmserve_lab.engine.replica import Replica
from llmserve_lab.engine.scheduler.sequence import Sequence as Running
from llmserve_lab.engine.system import System

Signal = Literal["queue", "kv", "ttft", "requests", "none"]
PERIOD_S, TOLERANCE, HOLD_S = 15.0, 0.1, 300.0
WINDOW_S = 60.0  # of finished requests that the TTFT is taken of
# Place of a replica, and the seconds of its order, of its first service, of its end.
Span = tuple[int, float, float, float]
MOST_UP = 4  # replicas that may be added at once, or as many as there are


@dataclass(frozen=True)
class Autoscaler:
    """What is watched, what one replica should show of it, and what a start costs.

    ``signal``: requests that wait for admission (``queue``), share of the KV cache in
    use (``kv``), the 90th percentile of TTFT in s over the last minute (``ttft``),
    requests waiting or running (``requests``), or nothing. What the loop reads is
    ``late_s`` old, in whole periods: metrics are collected and passed on.

    Raises:
        ValueError: the signal is none of these, a target or a period is not positive,
            the cold start or the delay is negative, or there is no replica to begin
            with.
    """

    signal: Signal
    target: float = 1.0
    cold_s: float = 180.0
    fewest: int = 1
    most: int = 8
    period_s: float = PERIOD_S
    hold_s: float = HOLD_S
    late_s: float = 0.0

    def __post_init__(self) -> None:
        one_of("signal", self.signal, Signal)
        positive("target", self.target)
        positive("period_s", self.period_s)
        at_least("cold_s", self.cold_s, 0)
        at_least("hold_s", self.hold_s, 0)
        at_least("late_s", self.late_s, 0)
        whole(fewest=self.fewest)
        if not self.fewest <= self.most <= MOST_REPLICAS:
            raise ValueError(
                f"most must be {self.fewest} to {MOST_REPLICAS} replicas, got "
                f"{self.most}"
            )

    def wanted(self, values: Sequence[float], wanted_now: int) -> int:
        """Replicas that the signal of the ready ones asks for.

        >>> Autoscaler("kv", target=0.5).wanted([0.9, 0.8], 2)
        4
        """
        if self.signal == "none":
            return wanted_now
        asked = sum(values) / self.target
        if abs(asked - wanted_now) <= TOLERANCE * wanted_now:
            return wanted_now
        most = max(2 * wanted_now, wanted_now + MOST_UP)
        return max(self.fewest, min(self.most, most, ceil(asked - 1e-9)))


@dataclass
class Minute:
    """What a dashboard shows at the end of a minute."""

    minute: int
    ready: int
    starting: int
    waiting: int
    signal: float


class Watch(RequestLog):
    """Log of answered requests that remembers the TTFT of the last minute."""

    def __init__(self) -> None:
        super().__init__()
        self.recent: deque[tuple[float, float]] = deque()

    def add(self, sequence: Running, finished_s: float) -> None:
        """Note an answered request."""
        super().add(sequence, finished_s)
        first_s = sequence.first_token_s - sequence.request.arrival_s
        self.recent.append((finished_s, first_s))

    def ttft_s(self, now_s: float) -> float:
        """90th percentile over the window; 0 where nothing was answered."""
        while self.recent and self.recent[0][0] < now_s - WINDOW_S:
            self.recent.popleft()
        times = [first_s for _, first_s in self.recent]
        return percentile(times, 90) if times else 0.0


@dataclass
class Scaled(Routing):
    """Least-loaded routing among the replicas that are ready, and the control loop.

    The engine has ``most`` replicas from the beginning; those that are off get nothing.
    """

    policy: Autoscaler
    watch: Watch
    ready_s: dict[int, float] = field(default_factory=dict)  # by place: serves from
    wants: deque[tuple[float, int]] = field(default_factory=deque)
    minutes: list[Minute] = field(default_factory=list)
    seen: deque[list[float]] = field(default_factory=deque)  # not read by the loop yet
    spans: list[Span] = field(default_factory=list)  # of replicas that are gone
    next_s: float = 0.0
    paid_s: float = 0.0
    since_s: float = 0.0
    starts: int = 0

    def __post_init__(self) -> None:
        self.ready_s = dict.fromkeys(range(self.policy.fewest), -inf)
        self.next_s = self.policy.period_s

    def choose(  # type: ignore[override]
        self, replicas: Sequence[Replica], request: Request
    ) -> int:
        """Place of the ready replica with the fewest requests."""
        while self.next_s <= request.arrival_s:
            self._tick(replicas, self.next_s)
            self.next_s += self.policy.period_s
        now_s = request.arrival_s
        ready = [at for at, since_s in self.ready_s.items() if since_s <= now_s]
        return min(ready, key=lambda at: replicas[at].num_requests)

    def pay(self, until_s: float) -> None:
        """Count the replicas' time, idle or starting ones included."""
        self.paid_s += len(self.ready_s) * (until_s - self.since_s)
        self.since_s = until_s

    def _tick(self, replicas: Sequence[Replica], now_s: float) -> None:
        ready = [at for at, since_s in self.ready_s.items() if since_s <= now_s]
        values = [self._value(replicas[at], now_s) for at in ready]
        before = len(self.ready_s)
        self.seen.append(values)
        if len(self.seen) > 1 + round(self.policy.late_s / self.policy.period_s):
            self.seen.popleft()
        asked = self.policy.wanted(self.seen[0], before)
        self.wants.append((now_s, asked))
        while self.wants[0][0] < now_s - self.policy.hold_s:
            self.wants.popleft()
        goal = asked if asked > before else max(want for _, want in self.wants)
        self.pay(now_s)
        self._resize(min(goal, before) if asked <= before else goal, replicas, now_s)
        if now_s % MINUTE_S == 0:
            waiting = sum(len(each.waiting) for each in replicas)
            mean = sum(values) / len(values)
            starting = len(self.ready_s) - sum(
                s <= now_s for s in self.ready_s.values()
            )
            found = Minute(
                round(now_s / MINUTE_S),
                len(self.ready_s) - starting,
                starting,
                waiting,
                mean,
            )
            self.minutes.append(found)

    def _value(self, replica: Replica, now_s: float) -> float:
        """The signal of one replica."""
        if self.policy.signal == "queue":
            return len(replica.waiting)
        if self.policy.signal == "kv":
            return replica.used_blocks / replica.num_blocks
        if self.policy.signal == "ttft":
            return self.watch.ttft_s(now_s)
        return replica.num_requests

    def _resize(self, goal: int, replicas: Sequence[Replica], now_s: float) -> None:
        """Start what is missing; take from those that started last what is too many."""
        while len(self.ready_s) > goal:
            at = max(self.ready_s, key=lambda at: (self.ready_s[at], at))
            self.spans.append(self._span(at, now_s))
            del self.ready_s[at]
        free = (at for at in range(self.policy.most) if at not in self.ready_s)
        for at in [*free][: max(0, goal - len(self.ready_s))]:
            self.ready_s[at] = now_s + self.policy.cold_s
            self.starts += 1

    def _span(self, at: int, until_s: float) -> Span:
        ready_s = self.ready_s[at]
        ordered_s = max(0.0, ready_s - self.policy.cold_s)
        return at, ordered_s, max(0.0, min(ready_s, until_s)), until_s

    def all_spans(self, until_s: float) -> tuple[Span, ...]:
        """Of all replicas, those that still stand to a moment after the last order."""
        standing = [self._span(at, until_s) for at in self.ready_s]
        return tuple(sorted([*self.spans, *standing]))


@dataclass(frozen=True)
class ScaledRun:
    """A run under an autoscaler: its report, its minutes, and the GPU time paid for."""

    policy: Autoscaler
    report: Report
    minutes: tuple[Minute, ...]
    replica_s: float
    starts: int = 0
    standing: int = 1  # replicas at the end
    spans: tuple[Span, ...] = ()  # of each replica

    def replica_s_until(self, seconds: float) -> float:
        """GPU time paid for up to a moment after which nothing was ordered."""
        over_s = self.report.elapsed_s - seconds
        return self.replica_s - self.standing * over_s

    def kept(self, level: ServiceLevel) -> float:
        """Share of the requests that kept both targets."""
        return level.kept(self.report).both

    def worst_late(self, level: ServiceLevel) -> float:
        """Share of late requests in the worst half hour."""
        return worst_late(self.report.arrival_s, self.missed_by_minute(level))

    def missed_by_minute(self, level: ServiceLevel) -> np.ndarray:
        """Requests that missed a target, by the minute in which they arrived."""
        report = self.report
        steps = np.maximum(report.output_len - 1, 1)
        per_token_s = (report.last_token_s - report.first_token_s) / steps
        missed = (report.ttft_s > level.ttft_s) | (per_token_s > level.tpot_s)
        return np.bincount((report.arrival_s // MINUTE_S).astype(int), weights=missed)


def scaled(requests: Requests, replica: Pool, policy: Autoscaler) -> ScaledRun:
    """Serve ``requests`` on replicas of the pool, as many as the autoscaler wants.

    Raises:
        ValueError: there are no requests.
    """
    watch = Watch()
    routing = Scaled(policy, watch)
    pool = replace(replica, replicas=policy.most, routing=routing)
    system = System(pool)
    system.serve(OpenLoop(some(requests)), watch, None)
    routing.pay(max(system.now_s, routing.since_s))
    report = report_of(system, watch, stopped=False)
    return ScaledRun(
        policy,
        report,
        tuple(routing.minutes),
        routing.paid_s,
        routing.starts,
        len(routing.ready_s),
        routing.all_spans(max(system.now_s, routing.since_s)),
    )
