"""The log of a run: rows and time of each iteration, and what happened to requests.

It prints as a table and draws itself: one bar an iteration, as wide as it lasts, as
high as the rows in it, prompts stacked on decodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from llmserve_lab.checks import key_of
from llmserve_lab.engine.metrics.events import RequestEvent
from llmserve_lab.engine.metrics.iteration_record import (
    IterationRecord,
    ScheduledTokens,
)
from llmserve_lab.engine.replica import Replica
from llmserve_lab.formula.text import si
from llmserve_lab.page.still import StaticFigure
from llmserve_lab.page.table import Table

BEFORE = ("arrived", "admitted")  # an iteration that begins at this moment


@dataclass(frozen=True, kw_only=True)
class IterationFrame:
    """One iteration as a step figure or a dashboard shows it: plain data.

    ``events`` are (kind, request id) in the order in which they happened since the
    iteration before: arrivals and admissions come before it, and first tokens, ends and
    preemptions with its end. ``running`` says what each request ran in it, ``waiting``
    which ones stood in the queue, the head first; ``used_blocks`` of ``kv_blocks`` were
    held while it ran.
    """

    start_s: float
    end_s: float
    pool: str
    replica: int
    running: tuple[ScheduledTokens, ...]
    waiting: tuple[int, ...]
    used_blocks: int
    kv_blocks: int
    events: tuple[tuple[str, int], ...]

    @property
    def free_blocks(self) -> int:
        """KV blocks that nothing holds."""
        return self.kv_blocks - self.used_blocks

    def ids(self, kind: str) -> tuple[int, ...]:
        """Requests to which this happened, such as ``admitted``."""
        return tuple(number for each, number in self.events if each == kind)


@dataclass(frozen=True, repr=False)
class IterationLog:
    """All iterations of a run, and all events, in the order in which they ended."""

    steps: Sequence[IterationRecord]
    events: Sequence[RequestEvent] = ()

    @classmethod
    def of(cls, replicas: Iterable[Replica]) -> IterationLog | None:
        """All that the replicas have logged, or None if nothing was logged."""
        logged = [each for each in replicas if each.events is not None]
        if not logged:
            return None
        steps = [step for each in logged for step in each.counters.records or ()]
        steps.sort(key=lambda step: (step.end_s, step.pool, step.replica))
        events = [e for each in logged if each.events for e in each.events.events]
        events.sort(key=lambda event: event.time_s)
        return cls(tuple(steps), tuple(events))

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[IterationRecord]:
        return iter(self.steps)

    def __getitem__(self, place: int) -> IterationRecord:
        return self.steps[place]

    def between(self, from_s: float, until_s: float) -> IterationLog:
        """The steps that lie in this time, at least in part."""
        inside = (s for s in self.steps if s.end_s > from_s and s.start_s < until_s)
        shown = (e for e in self.events if from_s <= e.time_s <= until_s)
        return IterationLog(tuple(inside), tuple(shown))

    def frames(self, pool: str | None = None, replica: int = 0) -> list[IterationFrame]:
        """One replica's iterations as plain records, a frame each.

        Args:
            pool: ``prefill`` or ``decode``; not needed where there is but one.
            replica: its place in the pool.

        Raises:
            ValueError: the pool is not in the log, or iterations were leapt over, so
                that they cannot be told apart.
        """
        pools = sorted({step.pool for step in self.steps})
        pool = pools[0] if pool is None and len(pools) == 1 else pool
        key_of("pool", pool, pools)
        own = (pool, replica)
        events = [e for e in self.events if (e.pool, e.replica) == own]
        return [
            self._frame(step, events)
            for step in self.steps
            if (step.pool, step.replica) == own
        ]

    @staticmethod
    def _frame(step: IterationRecord, events: list[RequestEvent]) -> IterationFrame:
        if step.count > 1 or not step.scheduled:
            raise ValueError(
                "leap must be False for one frame an iteration, got a span of "
                f"{step.count} iterations"
            )
        found = []
        while (
            events
            and events[0].time_s <= step.end_s
            and not (events[0].time_s == step.end_s and events[0].kind in BEFORE)
        ):
            event = events.pop(0)
            found.append((event.kind, event.id))
        return IterationFrame(
            start_s=step.start_s,
            end_s=step.end_s,
            pool=step.pool,
            replica=step.replica,
            running=step.scheduled,
            waiting=step.queue,
            used_blocks=step.used_blocks,
            kv_blocks=step.num_blocks,
            events=tuple(found),
        )

    def table(self, limit: int = 20) -> Table:
        """The first ``limit`` steps, a row each."""
        shown = self.steps[:limit]
        several = len({(step.pool, step.replica) for step in self.steps}) > 1
        where = ("replica",) if several else ()
        head = ("start", *where, "iterations", "each takes", "decodes", "prompt rows")
        rows = [
            (
                si(step.start_s, "s", 4),
                *((f"{step.pool} {step.replica}",) if several else ()),
                step.count,
                si(step.seconds, "s"),
                step.decode_rows,
                step.prefill_rows,
                step.load.kv_tokens,
                step.waiting,
                step.binds,
            )
            for step in shown
        ]
        caption = f"{sum(s.count for s in self.steps):,} iterations"
        if len(shown) < len(self.steps):
            caption += f"; the first {len(shown)} of {len(self.steps)} runs of them"
        return Table(caption, (*head, "KV tokens read", "waiting", "bound by"), rows)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def timeline(
        self, *, from_s: float = 0.0, until_s: float | None = None, title: str = ""
    ) -> StaticFigure:
        """Draw the iterations of a stretch of time; see :mod:`.timeline`."""
        from llmserve_lab.engine.metrics.timeline import timeline

        return timeline(self, from_s=from_s, until_s=until_s, title=title)
