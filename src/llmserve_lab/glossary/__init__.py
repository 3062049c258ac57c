"""Glossary: every term of the book, its synonyms, and where it is explained."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from llmserve_lab.glossary.term import Term as Term


@cache
def terms() -> tuple[Term, ...]:
    """Every term, in alphabetical order.

    Raises:
        ValueError: a name stands for two things.
    """
    names = sorted(module.name for module in iter_modules(__path__, f"{__name__}."))
    rooms = (import_module(name) for name in names if name != Term.__module__)
    found = tuple(term for room in rooms for term in room.TERMS)
    called = [name for term in found for name in term.names]
    if twice := sorted({name for name in called if called.count(name) > 1}):
        raise ValueError(f"names must each stand for one term, got {twice} twice")
    return tuple(sorted(found, key=lambda term: term.name.lower()))
