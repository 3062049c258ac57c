"""Live figures and step figures are found, not listed: a new one is covered at once."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

from llmserve_lab.formula.registry import modules
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.step.figure import StepFigure
from llmserve_lab.page.still import StaticFigure


@cache
def figures() -> dict[str, Callable[[], LiveFigure]]:
    """Every function in the chapters' page rooms that makes a live figure, by name."""
    return _makers("LiveFigure", _rooms())


@cache
def steps() -> dict[str, Callable[[], StepFigure]]:
    """Every function in the chapters' page rooms that makes a step figure, by name."""
    return _makers("StepFigure", _rooms())


@cache
def stills() -> dict[str, Callable[..., StaticFigure]]:
    """Every public function there that draws a still: chapter, module and its name."""
    made = (
        (f"{room.__name__.split('.')[1]}.{room.__name__.rpartition('.')[2]}", each)
        for room in _rooms()
        for each in inspect.getmembers(room, inspect.isfunction)
        if each[1].__module__ == room.__name__ and not each[0].startswith("_")
    )
    return {
        f"{place}.{name}": make
        for place, (name, make) in made
        if inspect.signature(make).return_annotation == "StaticFigure"
    }


def _rooms() -> Iterator[ModuleType]:
    """All modules in the chapters' page rooms."""
    paths = [path for room in modules("page") for path in getattr(room, "__path__", ())]
    names = {info.name for info in pkgutil.iter_modules(paths)}
    return (each for name in sorted(names) for each in modules(f"page.{name}"))


def _makers(kind: str, places: Iterable[ModuleType]) -> dict[str, Callable[[], Any]]:
    """Functions of these modules that are annotated to return ``kind``."""
    return {
        f"{module.__name__.split('.')[1]}.{name}": function
        for module in places
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and kind in str(inspect.signature(function).return_annotation)
    }
