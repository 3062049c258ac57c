"""Live figures are found, not listed: a new one is covered at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from llmserve_lab.formula.registry import modules
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.step.figure import StepFigure


@cache
def figures() -> dict[str, Callable[[], LiveFigure]]:
    """Every function in the chapters' ``figures`` that makes a live figure, by name."""
    return _makers("LiveFigure")


@cache
def steps() -> dict[str, Callable[[], StepFigure]]:
    """Every function in the chapters' ``figures`` that makes a step figure, by name."""
    return _makers("StepFigure")


def _makers(kind: str) -> dict[str, Callable[[], Any]]:
    """Functions without arguments that are annotated to return ``kind``."""
    return {
        f"{module.__name__.split('.')[1]}.{name}": function
        for module in modules("page.figures")
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and kind in str(inspect.signature(function).return_annotation)
    }
