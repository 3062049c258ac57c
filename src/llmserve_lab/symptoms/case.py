"""A case: one symptom, causes that look alike, what tells them apart, remedies tried.

A symptom is an alarm on one metric. Its causes are runs that raise the same alarm. A
cause is told from the others by signs, which are intervals of metrics; a remedy is
the same run with one thing changed, and it helps or it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Protocol

from llmserve_lab.checks import key_of, whole_number
from llmserve_lab.symptoms.dashboard import METRICS, Dashboard

HELPS, NO_HELP = 1.3, 1.25  # times as good, at least and at most
SEEDS = range(6)  # random loads on which every verdict holds
EVERYWHERE = ("tokens_per_s", "ttft_p50")  # columns of every table
PRICES = (*EVERYWHERE, "itl_p50")  # what a remedy may cost


class Watchable(Protocol):
    """What can be run and watched: a load and a deployment, or a router."""

    def observe(self) -> Dashboard:
        """Run it; return what a dashboard shows."""
        ...


@dataclass(frozen=True)
class Sign:
    """A metric inside an interval, ends included: ``queue_share`` at least one half."""

    metric: str
    least: float = -inf
    most: float = inf

    def __post_init__(self) -> None:
        key_of("metric", self.metric, METRICS)
        if self.least > self.most:
            raise ValueError(f"least must be at most {self.most}, got {self.least}")

    def holds(self, dashboard: Dashboard) -> bool:
        """Whether the metric is in the interval."""
        return self.least <= dashboard[self.metric] <= self.most


@dataclass(frozen=True)
class Remedy:
    """One thing changed in a run, and whether that is said to help.

    ``option`` is what is turned in vLLM, ``chapter`` the page that explains it.
    """

    name: str
    helps: bool
    change: Callable[[Watchable], Watchable]
    chapter: str
    option: str = ""

    @property
    def words(self) -> str:
        """The name, and the size where a size is what is turned."""
        if not self.option.startswith(("--max", "--gpu")):
            return self.name
        return f"{self.name} ({self.option.split()[-1]})"


@dataclass(frozen=True)
class Cause:
    """One cause of a symptom: a run for each seed, its signs, and remedies tried."""

    name: str
    load: str
    setup: Callable[[int], Watchable]
    signs: tuple[Sign, ...]
    remedies: tuple[Remedy, ...]

    def remedy(self, name: str) -> Remedy:
        """The remedy of this name.

        Raises:
            ValueError: none of that name was tried.
        """
        for each in self.remedies:
            if each.name == name:
                return each
        known = ", ".join(each.name for each in self.remedies)
        raise ValueError(f"remedy must be one of {known}, got {name!r}")


@dataclass(frozen=True)
class Symptom:
    """A symptom with its causes; remedies are judged by the metric ``goal``.

    ``rising`` says that more of the goal is better. ``beside`` are metrics that are
    shown beside it, because a remedy may pay with them. ``question`` is what to ask of
    the metrics to tell the causes apart.
    """

    key: str
    title: str
    symptom: str
    alarm: Sign
    goal: str
    rising: bool
    question: str
    machine: str
    healthy: Callable[[int], Watchable]
    healthy_load: str
    causes: tuple[Cause, ...]
    beside: tuple[str, ...] = ()

    def cause(self, name: str) -> Cause:
        """The cause of this name.

        Raises:
            ValueError: the symptom has no such cause.
        """
        for each in self.causes:
            if each.name == name:
                return each
        known = ", ".join(each.name for each in self.causes)
        raise ValueError(f"cause must be one of {known}, got {name!r}")

    def diagnose(self, dashboard: Dashboard) -> Cause:
        """The one cause whose signs all hold.

        Raises:
            ValueError: the dashboard does not show the symptom, or the signs point to
                no cause of this case, or to several.
        """
        if not self.alarm.holds(dashboard):
            raise ValueError(
                f"dashboard must show {self.alarm.metric} from {self.alarm.least:g} to "
                f"{self.alarm.most:g}, got {dashboard[self.alarm.metric]:g}"
            )
        found = [c for c in self.causes if all(s.holds(dashboard) for s in c.signs)]
        if len(found) != 1:
            names = ", ".join(each.name for each in found) or "none"
            raise ValueError(f"signs must point to one cause, got {names}")
        return found[0]

    @property
    def shown(self) -> tuple[str, ...]:
        """Metrics of its table: what to read, what is judged, and what it costs."""
        read = (sign.metric for cause in self.causes for sign in cause.signs)
        return tuple(dict.fromkeys((*read, self.goal, *self.beside, *EVERYWHERE)))


@dataclass(frozen=True)
class RemedyTrial:
    """A remedy tried on a cause: the dashboards before and after, and the factor."""

    case: Symptom
    cause: Cause
    remedy: Remedy
    before: Dashboard
    after: Dashboard

    @property
    def pair(self) -> tuple[Dashboard, Dashboard]:
        """Both dashboards, in the order of time."""
        return self.before, self.after

    @property
    def factor(self) -> float:
        """How many times as good the goal has become."""
        return self._gain(self.case.goal, rising=self.case.rising)

    @property
    def helped(self) -> bool:
        """Whether it became better by the least that counts as help."""
        return self.factor >= HELPS

    @property
    def price(self) -> tuple[str, ...]:
        """What the remedy made worse, by as much as counts as help elsewhere."""
        return tuple(
            each
            for each in dict.fromkeys((*self.case.beside, *PRICES))
            if each in self.before.values
            and self._gain(each, rising=each == "tokens_per_s") <= 1 / HELPS
        )

    def _gain(self, metric: str, *, rising: bool) -> float:
        before, after = self.before[metric], self.after[metric]
        better, worse = (after, before) if rising else (before, after)
        return better / worse if worse else inf

    @property
    def as_said(self) -> bool:
        """Whether the run bears out what is said of the remedy."""
        return self.factor >= HELPS if self.remedy.helps else self.factor <= NO_HELP


@cache
def watched(case: Symptom, cause: str | None = None, seed: int = 0) -> Dashboard:
    """The dashboard of a cause's run; without a cause, that of the healthy run.

    Raises:
        ValueError: there is no such cause, or no such seed.
    """
    whole_number("seed", seed, first=0)
    build = case.healthy if cause is None else case.cause(cause).setup
    return build(seed).observe()


@cache
def tried(case: Symptom, cause: str, remedy: str, seed: int = 0) -> RemedyTrial:
    """A remedy in the same run.

    Raises:
        ValueError: there is no such cause, remedy or seed.
    """
    of, what = case.cause(cause), case.cause(cause).remedy(remedy)
    after = what.change(of.setup(seed)).observe()
    return RemedyTrial(case, of, what, watched(case, cause, seed), after)


def trials(case: Symptom, seed: int = 0) -> list[RemedyTrial]:
    """All remedies of all causes of a case."""
    return [
        tried(case, cause.name, remedy.name, seed)
        for cause in case.causes
        for remedy in cause.remedies
    ]
