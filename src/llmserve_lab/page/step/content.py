"""What a step figure plays: frames of an executed log, forwards and back.

The engine, the allocator or the ranks have run; their log is cut into frames, each with
one sentence and two or three counters. The reader steps through them; on paper stand
the three frames that matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from llmserve_lab.formula.text import said
from llmserve_lab.page.live.figure import NAME
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.palette import HATCH, MEANINGS, vega_config
from llmserve_lab.page.step.marks import Scene, Spec

WIDTH, STILL_WIDTH = 640, 320  # CSS pixels; the player follows its container
STILLS = 3
Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]
Place = tuple[str, int]


@dataclass(frozen=True)
class Counter:
    """A number that every frame states: its name, its unit, how many digits."""

    label: str
    unit: str = ""
    digits: int = 3

    def shown(self, value: float | str) -> str:
        """The number as the page prints it; words as they are."""
        return value if isinstance(value, str) else said(value, self.unit, self.digits)


@dataclass(frozen=True)
class Frame:
    """One moment of a log: what happened, its counters, and the time ``at``.

    ``at`` is the ``now`` of marks that grow; without one it is the frame's index.
    """

    sentence: str
    counters: tuple[float | str, ...] = ()
    at: float | None = None


@dataclass(frozen=True)
class StepLog:
    """Frames in their order, and the rows of every table that the marks read.

    Raises:
        ValueError: there are fewer than two frames, or a table's rows differ in fields.
    """

    frames: tuple[Frame, ...]
    tables: Tables

    def __post_init__(self) -> None:
        if len(self.frames) < 2:
            raise ValueError(f"frames must be at least 2, got {len(self.frames)}")

    @property
    def times(self) -> list[float]:
        """``now`` of each frame."""
        return [float(i if f.at is None else f.at) for i, f in enumerate(self.frames)]


@dataclass(frozen=True, kw_only=True)
class StepContent:
    """Frames of one log, or of several that the reader may change between.

    ``logs`` names them; ``stills`` are three pairs (log, frame) for paper. ``legend``
    says in words what each ink stands for: ``{"A": "request A", "idle": "idle"}``.
    The signals ``frame``, ``log`` (an index) and ``now`` may stand in the scene's
    expressions and in the ``goal``.

    Raises:
        ValueError: a name cannot stand in an address, a still does not exist, a frame
            has other counters than the figure, or a row has an unknown ink.
    """

    name: str
    title: str
    scene: Scene
    logs: Mapping[str, StepLog]
    stills: tuple[Place, ...]
    legend: Mapping[str, str] = field(default_factory=dict)
    counters: tuple[Counter, ...] = ()
    goal: Goal | None = None
    start: int = 0

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(f"name must be of a-z, 0-9 and -, got {self.name!r}")
        if len(self.stills) != STILLS:
            raise ValueError(f"stills must be {STILLS}, got {len(self.stills)}")
        for log, frame in self.stills:
            self._require_frame(log, frame)
        self._require_frame(next(iter(self.logs)), self.start)
        for log in self.logs:
            self._require_counters(log)
        self._require_inks()

    def _require_frame(self, log: str, frame: int) -> None:
        if log not in self.logs or not 0 <= frame < len(self.logs[log].frames):
            raise ValueError(
                f"a frame of {self.name} must exist, got {frame} of {log!r}"
            )

    def _require_counters(self, log: str) -> None:
        for i, frame in enumerate(self.logs[log].frames):
            if len(frame.counters) != len(self.counters):
                raise ValueError(
                    f"frame {i} of {log!r} must have {len(self.counters)} counters, "
                    f"got {len(frame.counters)}"
                )

    def _require_inks(self) -> None:
        unknown = sorted((set(self.inks) | set(self.legend)) - set(MEANINGS))
        if unknown:
            raise ValueError(
                f"inks of {self.name} must be of {', '.join(MEANINGS)}, got {unknown}"
            )

    @cached_property
    def inks(self) -> tuple[str, ...]:
        """Names of the inks that any row uses, in the order of the palette."""
        named = [mark.ink for mark in self.scene.marks]
        used = {
            str(row[mark.ink])
            for mark in self.scene.marks
            for row in self.rows.get(mark.table, ())
            if mark.ink in row
        }
        order = list(MEANINGS)
        known = [name for name in order if name in used]
        return (*known, *sorted(used - set(order) - set(named)))

    @cached_property
    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """Rows by table; where there are several logs, marked with the log's index."""
        found = {n: [dict(r) for r in rows] for n, rows in self._fixed.items()}
        several = len(self.logs) > 1
        for index, log in enumerate(self.logs.values()):
            mark = {"log": index} if several else {}
            for name, rows in log.tables.items():
                found.setdefault(name, []).extend({**row, **mark} for row in rows)
        return found

    @property
    def _fixed(self) -> Tables:
        return self.scene.fixed or {}

    def frame(self, log: str, index: int) -> Frame:
        """One frame of a log."""
        return self.logs[log].frames[index]

    def values(self, log: str, frame: int) -> dict[str, float]:
        """The signals at a frame."""
        index = list(self.logs).index(log)
        now = self.logs[log].times[frame]
        return {"frame": float(frame), "log": float(index), "now": now}

    def shown(self, frame: Frame) -> list[str]:
        """The counters of a frame as the page prints them."""
        pairs = zip(self.counters, frame.counters, strict=True)
        return [counter.shown(value) for counter, value in pairs]

    def params(self, log: str = "", frame: int = 0) -> list[Spec]:
        """The signals as Vega-Lite parameters; ``now`` follows from the other two."""
        times = [each.times for each in self.logs.values()]
        plain = all(row == list(range(len(row))) for row in times)
        now = "frame" if plain else f"{_short(times)}[log][frame]"
        index = list(self.logs).index(log) if log else 0
        found: list[Spec] = [
            {"name": "frame", "value": frame},
            {"name": "log", "value": index},
            {"name": "now", "expr": now},
        ]
        return found + ([self.goal.param()] if self.goal else [])

    def spec(self, log: str = "", frame: int = 0, *, width: int = WIDTH) -> Spec:
        """The Vega-Lite specification at a frame, without its rows."""
        return {
            "width": width,
            "height": self.scene.height,
            "autosize": {"type": "fit-x", "contains": "padding"},
            "params": self.params(log, frame),
            "layer": self.scene.layers(self.inks),
            "config": vega_config(),
        }

    def picture(self, log: str, frame: int) -> str:
        """One frame as an SVG document, as wide as a still."""
        from llmserve_lab.extras import vl_convert

        spec = self.spec(log, frame, width=STILL_WIDTH) | {"datasets": self.rows}
        svg = str(vl_convert.vegalite_to_svg(spec))
        numbers = dict[str, str]()
        return re.sub(
            r"\bclip\d+\b",
            lambda clip: numbers.setdefault(clip.group(), f"clip{len(numbers)}"),
            svg,
        )

    @property
    def hatched(self) -> bool:
        """Whether anything is drawn in the hatched ink."""
        return any(MEANINGS[name].css == HATCH for name in (*self.inks, *self.legend))

    def caption(self) -> str:
        """The sentences of the stills."""
        return " ".join(self.frame(*still).sentence for still in self.stills)

    def __repr__(self) -> str:
        return f"{self.title}. {self.caption()}"


def _short(times: list[list[float]]) -> str:
    """Nested numbers as an expression, 3.0 as 3."""
    rows = (",".join(f"{t:.12g}" for t in row) for row in times)
    return "[" + ",".join(f"[{row}]" for row in rows) + "]"
