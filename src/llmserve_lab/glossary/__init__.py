"""Glossary: every term of the book, its synonyms, and where it is explained."""

from __future__ import annotations

from functools import cache

from llmserve_lab.glossary import (
    axes,
    deciding,
    drafts,
    errors,
    fewer_bytes,
    kernels,
    machines,
    memory,
    models,
    serving,
    symptoms,
)
from llmserve_lab.glossary.term import Term as Term


@cache
def terms() -> tuple[Term, ...]:
    """Every term, in alphabetical order.

    Raises:
        ValueError: a name stands for two things.
    """
    rooms = (
        axes,
        deciding,
        drafts,
        errors,
        fewer_bytes,
        kernels,
        machines,
        memory,
        models,
        serving,
        symptoms,
    )
    found = tuple(term for room in rooms for term in room.TERMS)
    names = [name for term in found for name in term.names]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"names must each stand for one term, got {twice} twice")
    return tuple(sorted(found, key=lambda term: term.name.lower()))
