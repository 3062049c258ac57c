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
    """Every formula of the book, chapter by chapter, as they are defined.

    Raises:
        ValueError: two formulas have the same label.
    """
    found: dict[str, Formula] = {}
    for module in modules("formulas"):
        for item in vars(module).values():
            if isinstance(item, Formula) and found.setdefault(item.label, item) != item:
                raise ValueError(f"label must be used once, got {item.label} twice")
    return tuple(found.values())


def _exists(path: str) -> bool:
    try:
        return importlib.util.find_spec(path) is not None
    except ModuleNotFoundError:  # the parent is a module, not a package
        return False
