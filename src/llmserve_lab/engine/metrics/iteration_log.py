"""The log of a run: which rows every iteration carried, and how long it took.

It prints as a table and draws itself: one bar an iteration, as wide as it lasts, as
high as the rows in it, prompts stacked on decodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmserve_lab.engine.timing.cost import IterationLoad

if TYPE_CHECKING:
    from llmserve_lab.engine.system import System
    from llmserve_lab.page.still import StaticFigure
    from llmserve_lab.page.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationRecord:
    """``count`` like iterations of one replica, from ``start_s`` to ``end_s``.

    ``load`` is that of the first, padding included; ``decode_rows`` of its rows are
    decodes, and ``chunks`` are (request id, rows, context in cache) of the prompts.
    ``compute_s`` and ``memory_s`` are sums over the iterations.
    """

    start_s: float
    end_s: float
    count: int
    pool: str
    replica: int
    decode_rows: int
    load: IterationLoad
    compute_s: float
    memory_s: float
    waiting: int
    kv_tokens_held: int
    chunks: tuple[tuple[int, int, int], ...]

    @property
    def seconds(self) -> float:
        """Mean time of one of the iterations."""
        return (self.end_s - self.start_s) / self.count

    @property
    def prefill_rows(self) -> int:
        """Rows of prompts in one iteration."""
        return sum(rows for _, rows, _ in self.chunks)

    @property
    def padding_rows(self) -> int:
        """Rows that are computed for nobody."""
        return self.load.rows - self.decode_rows - self.prefill_rows

    @property
    def binds(self) -> str:
        """Which of the two takes longer."""
        return "compute" if self.compute_s >= self.memory_s else "memory"


@dataclass(frozen=True, repr=False)
class IterationLog:
    """All steps of a run, in the order in which they ended."""

    steps: Sequence[IterationRecord]

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[IterationRecord]:
        return iter(self.steps)

    def __getitem__(self, place: int) -> IterationRecord:
        return self.steps[place]

    def between(self, from_s: float, until_s: float) -> IterationLog:
        """The steps that lie in this time, at least in part."""
        inside = (s for s in self.steps if s.end_s > from_s and s.start_s < until_s)
        return IterationLog(tuple(inside))

    def table(self, limit: int = 20) -> Table:
        """The first ``limit`` steps, a row each."""
        from llmserve_lab.formula.text import si
        from llmserve_lab.page.table import Table

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


def log_of(system: System) -> IterationLog | None:
    """Everything that the replicas have logged, or None if they were not asked to."""
    steps = [step for each in system.replicas for step in each.counters.steps or ()]
    logged = any(each.counters.steps is not None for each in system.replicas)
    steps.sort(key=lambda step: (step.end_s, step.pool, step.replica))
    return IterationLog(tuple(steps)) if logged else None
