"""Search for the cheapest deployment that keeps a service level, and what it spared.

Four reasons let a candidate go without a whole simulation, and each is recorded: it
cannot hold the model and the longest request; its work does not fit into the time
(:mod:`llmserve_lab.capacity.bounds`); something as cheap or cheaper has been shown to
do; or more replicas of the same kind have been shown to fail. What is left is
simulated, and stopped as soon as too many requests have missed a target, or enough have
kept both.

The last reason rests on an assumption, that taking a replica away never helps;
``exhaustive`` does without it, and a deep test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Literal

from llmserve_lab.capacity.bounds import Lengths, holds, least_busy
from llmserve_lab.capacity.deployment import Candidate, Prices
from llmserve_lab.capacity.level import ServiceLevel
from llmserve_lab.capacity.trace import Requests
from llmserve_lab.catalog.data.prices import HOURLY
from llmserve_lab.engine import simulate
from llmserve_lab.engine.arrivals import OpenLoop
from llmserve_lab.engine.metrics.request_log import RequestLog
from llmserve_lab.engine.scheduler.sequence import Sequence as Running
from llmserve_lab.engine.system import System

LIKELY = 0.2  # share of the busiest window under which most deployments do
Fate = Literal[
    "does not fit",
    "too much work",
    "cannot be cheaper",
    "more replicas failed",
    "stopped: fails",
    "stopped: keeps it",
    "fails",
    "keeps it",
]
FULL: tuple[Fate, ...] = ("fails", "keeps it")
GOOD: tuple[Fate, ...] = ("keeps it", "stopped: keeps it")


class KeptTally(RequestLog):
    """Log of answered requests that counts which of them kept the level."""

    def __init__(self, level: ServiceLevel) -> None:
        super().__init__()
        self.level, self.kept, self.missed = level, 0, 0

    def add(self, sequence: Running, finished_s: float) -> None:
        """Count an answered request."""
        first_s, steps = sequence.first_token_s, sequence.request.output_len - 1
        spent_s = sequence.last_token_s - first_s
        soon = first_s - sequence.request.arrival_s <= self.level.ttft_s
        if soon and spent_s <= steps * self.level.tpot_s:
            self.kept += 1
        else:
            self.missed += 1


def judged(candidate: Candidate, requests: Requests, level: ServiceLevel) -> Fate:
    """Simulate until it is certain whether the level is kept."""
    tally, spare = KeptTally(level), level.spare(len(requests))
    needed = len(requests) - spare

    def certain(_: float) -> bool:
        return tally.missed > spare or tally.kept >= needed

    over = System(candidate.pool).serve(OpenLoop(requests), tally, certain)
    if tally.missed > spare:
        return "fails" if over else "stopped: fails"
    return "keeps it" if over else "stopped: keeps it"


@dataclass(frozen=True)
class Found:
    """The cheapest candidate that keeps the level (None: none does), and every fate."""

    best: Candidate | None
    fates: dict[Candidate, Fate]

    @property
    def in_full(self) -> int:
        """Candidates that were simulated to the end of the trace."""
        return sum(fate in FULL for fate in self.fates.values())

    @property
    def started(self) -> int:
        """Candidates of which a simulation was begun."""
        begun = (*FULL, *GOOD, "stopped: fails")
        return sum(fate in begun for fate in self.fates.values())


Ranked = Callable[[Candidate], tuple[float, ...]]


def by_price(prices: Prices = HOURLY, *, spare: int = 0) -> Ranked:
    """Cheapest first; of equals fewer GPUs, then fewer replicas, then more rows.

    What is paid for is the candidate and so many ``spare`` replicas of its kind.
    """
    return lambda each: (
        round(each.with_spare(spare).dollars_per_hour(prices), 6),
        each.num_gpus,
        each.replicas,
        -each.rows,
    )


def by_gpus(prices: Prices = HOURLY) -> Ranked:
    """Fewest GPUs first; of equals the cheaper, then as :func:`by_price`."""
    return lambda each: (each.num_gpus, *by_price(prices)(each))


def exhaustive(
    candidates: Iterable[Candidate],
    requests: Requests,
    level: ServiceLevel,
    *,
    rank: Ranked,
) -> Candidate | None:
    """The best candidate that keeps the level, every one of them simulated."""
    lengths = Lengths.of(requests)
    for each in sorted(candidates, key=rank):
        if holds(each, lengths) and judged(each, requests, level) in GOOD:
            return each
    return None


def kind(candidate: Candidate) -> tuple[str, str, int, int]:
    """What candidates have in common that differ in the number of replicas."""
    return candidate.model, candidate.device, candidate.tp, candidate.rows


def search(
    candidates: Sequence[Candidate],
    requests: Requests,
    level: ServiceLevel,
    *,
    rank: Ranked | None = None,
    executor: Executor | None = None,
) -> Found:
    """The best candidate that keeps the level, with as little simulated as possible.

    ``rank`` says what is better, by default :func:`by_price`; an ``executor`` (of
    processes) simulates several at a time, to the same answer.

    Raises:
        ValueError: there are no candidates or no requests.
    """
    if not candidates:
        raise ValueError("candidates must hold at least 1 deployment, got none")
    rank, lengths = rank or by_price(), Lengths.of(requests)
    fates: dict[Candidate, Fate] = {}
    busy = _busiest(candidates, lengths, level)
    open_: list[Candidate] = []
    for each in sorted(candidates, key=rank):
        if busy[each] == inf:
            fates[each] = "does not fit"
        elif busy[each] > 1:
            fates[each] = "too much work"
        else:
            open_.append(each)
    asked = partial(judged, requests=requests, level=level)
    run = map if executor is None else executor.map
    best: Candidate | None = None
    while open_:
        tried = _round(open_, busy, proved=best is not None)
        for each, fate in zip(tried, run(asked, tried), strict=True):
            fates[each] = fate
            open_.remove(each)
            if fate in GOOD and (best is None or rank(each) < rank(best)):
                best = each
            elif fate not in GOOD:
                open_ = _without(open_, fates, "more replicas failed", _fewer(each))
        if best is not None:
            open_ = _without(open_, fates, "cannot be cheaper", _behind(best, rank))
    return Found(best, fates)


def _behind(best: Candidate, rank: Ranked) -> Callable[[Candidate], bool]:
    """Whether a candidate ranks behind the best."""
    return lambda each: rank(each) > rank(best)


def _fewer(than: Candidate) -> Callable[[Candidate], bool]:
    """Whether a candidate is the same with fewer replicas."""
    return lambda each: kind(each) == kind(than) and each.replicas < than.replicas


def _without(
    open_: list[Candidate],
    fates: dict[Candidate, Fate],
    fate: Fate,
    spared: Callable[[Candidate], bool],
) -> list[Candidate]:
    """The candidates that stay open; the others get their fate."""
    fates |= {each: fate for each in open_ if spared(each)}
    return [each for each in open_ if not spared(each)]


def _busiest(
    candidates: Sequence[Candidate], lengths: Lengths, level: ServiceLevel
) -> dict[Candidate, float]:
    """Share of the busiest window that work alone fills; infinite without room.

    It falls with the replicas, so that one of each kind is enough to know all.
    """
    known: dict[tuple[str, str, int], float] = {}
    for each in candidates:
        key = (each.model, each.device, each.tp)
        if key not in known:
            alone = replace(each, replicas=1)
            fits = holds(alone, lengths)
            known[key] = least_busy(alone, lengths, level)[0] if fits else inf
    return {
        each: known[each.model, each.device, each.tp] / each.replicas
        for each in candidates
    }


def _round(
    open_: list[Candidate], busy: dict[Candidate, float], *, proved: bool
) -> list[Candidate]:
    """What is simulated next: the best that is likely to do, until one does.

    From then on the largest of each kind: all that is open is better than what is
    proved, and where the largest fails, the smaller ones do.
    """
    if not proved:
        # Sorted by rank: the first is the cheapest, and where none is likely the last,
        # the dearest, is the surest to do.
        likely = (each for each in open_ if busy[each] <= LIKELY)
        return [next(likely, open_[-1])]
    largest: dict[tuple[str, str, int, int], Candidate] = {}
    for each in open_:
        if each.replicas >= largest.get(kind(each), each).replicas:
            largest[kind(each)] = each
    return list(largest.values())


def required(
    candidates: Sequence[Candidate], requests: Requests, level: ServiceLevel
) -> Candidate:
    """The cheapest candidate that keeps the level.

    Raises:
        ValueError: none does; the message says which target binds on the strongest of
            them, and the nearest one that it keeps. Or there are no candidates, or no
            requests.
    """
    found = search(candidates, requests, level)
    if found.best is not None:
        return found.best
    lengths = Lengths.of(requests)
    fits = [each for each in candidates if holds(each, lengths)]
    if not fits:
        raise ValueError(
            "candidates must hold the model and the longest request, of "
            f"{(lengths.prompt + lengths.answer).max():,.0f} tokens, got none that does"
        )
    strongest = min(fits, key=lambda each: least_busy(each, lengths, level)[0])
    kept = level.kept(simulate(requests, strongest.pool))
    nearest_s = {"ttft": kept.nearest_ttft_s, "tpot": kept.nearest_tpot_s}[kept.binds]
    asked_s = {"ttft": level.ttft_s, "tpot": level.tpot_s}[kept.binds]
    raise ValueError(
        f"level must be one that a candidate keeps, got {kept.binds}_s={asked_s:g}, "
        f"which binds: {strongest} keeps {nearest_s:.3g} s for {level.share:.0%} of "
        "the requests"
    )
