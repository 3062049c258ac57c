"""What the book contains is found, not listed: a new formula is covered at once."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from functools import cache
from types import ModuleType

from llmserve_lab.formula.formula import Formula


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


def _by_number(formula: Formula) -> list[int]:
    return [int(part) for part in formula.number.split(".")]


def _exists(path: str) -> bool:
    try:
        return importlib.util.find_spec(path) is not None
    except ModuleNotFoundError:  # the parent is a module, not a package
        return False
