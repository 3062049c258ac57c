"""What the book contains is found, not listed: a new formula is covered at once."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from llmserve_lab.book.formula import Formula

if TYPE_CHECKING:
    from llmserve_lab.book.live import LiveFigure


@cache
def modules(name: str, *packages: str) -> tuple[ModuleType, ...]:
    """Every module called ``name`` (formulas, questions) in these packages, or all."""
    import llmserve_lab

    found = sorted(info.name for info in pkgutil.iter_modules(llmserve_lab.__path__))
    packages = packages or tuple(found)
    paths = [f"llmserve_lab.{package}.{name}" for package in packages]
    return tuple(importlib.import_module(path) for path in paths if _exists(path))


def formulas() -> tuple[Formula, ...]:
    """Every formula of the book, in the order of its number."""
    found = {
        id(item): item
        for module in modules("formulas")
        for item in vars(module).values()
        if isinstance(item, Formula)
    }
    return tuple(sorted(found.values(), key=_by_number))


@cache
def figures() -> dict[str, Callable[[], LiveFigure]]:
    """Every function in the chapters' ``figures`` that makes a live figure, by name."""
    return {
        f"{module.__name__.split('.')[-2]}.{name}": function
        for module in modules("figures")
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and "LiveFigure" in str(inspect.signature(function).return_annotation)
    }


def _by_number(formula: Formula) -> list[int]:
    return [int(part) for part in formula.number.split(".")]


def _exists(path: str) -> bool:
    try:
        return importlib.util.find_spec(path) is not None
    except ModuleNotFoundError:  # the parent is a module, not a package
        return False
