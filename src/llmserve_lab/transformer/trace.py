"""Every intermediate of a forward pass, in order, with its axes and its shape."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from llmserve_lab.checks import UnknownKeyError
from llmserve_lab.page.table import Table
from llmserve_lab.transformer.arithmetic import PLAIN, Execution
from llmserve_lab.transformer.model import Transformer


@dataclass(frozen=True)
class ShapeAt:
    """One intermediate: where, what, its axes in the book's letters, its shape."""

    place: str
    name: str
    axes: tuple[str, ...]
    shape: tuple[int, ...]

    @property
    def num_bytes(self) -> int:
        """Bytes, 8 a number."""
        return 8 * math.prod(self.shape)


@dataclass(frozen=True)
class ShapeTrace:
    """The steps of a forward pass; prints as a table."""

    title: str
    steps: tuple[ShapeAt, ...]

    def at(self, place: str) -> ShapeTrace:
        """The steps in one place: ``"block 1"``, ``"block 1 / request 0"``, ….

        Raises:
            LookupError: the pass never was there.
        """
        steps = tuple(step for step in self.steps if step.place == place)
        if not steps:
            places = ", ".join(dict.fromkeys(step.place for step in self.steps))
            raise UnknownKeyError(f"place must be one of {places}, got {place!r}")
        return ShapeTrace(f"{self.title}, {place}", steps)

    @property
    def table(self) -> Table:
        """Steps as rows: name, axes, shape, and the place if there is more than one."""
        columns = ("step", "axes", "shape", "place")
        rows = [
            (step.name, _shape(step.axes), _shape(step.shape), step.place)
            for step in self.steps
        ]
        shown = 4 if len({step.place for step in self.steps}) > 1 else 3
        return Table(self.title, columns[:shown], [row[:shown] for row in rows])

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def _shape(sizes: tuple[int, ...] | tuple[str, ...]) -> str:
    return f"[{' × '.join(map(str, sizes))}]"


class Tracer:
    """Writes down the shapes of a forward pass as it happens."""

    def __init__(self) -> None:
        self._steps: list[ShapeAt] = []

    def on(self, run: Execution = PLAIN) -> Execution:
        """``run``, with this tracer looking on."""

        def note(name: str, axes: str, array: npt.NDArray[Any]) -> None:
            run.note(name, axes, array)
            place, _, step = name.rpartition(" / ")
            self._steps.append(
                ShapeAt(place or "model", step, tuple(axes.split()), array.shape)
            )

        return replace(run, note=note)

    def trace(self, title: str) -> ShapeTrace:
        """What was written down so far."""
        return ShapeTrace(title, tuple(self._steps))


def trace(
    model: Transformer, tokens: npt.ArrayLike, *, run: Execution = PLAIN
) -> ShapeTrace:
    """The trace of one forward pass over token ids [n]."""
    tracer = Tracer()
    model.forward(tokens, run=tracer.on(run))
    return tracer.trace(f"{model.shape.name}, {np.size(tokens)} tokens")
