"""An entry of the glossary."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """A term, its meaning in a sentence or two, the chapter that explains it.

    ``also`` are synonyms and abbreviations; a search for one finds the chapter.
    ``said`` are words in the meaning of a letter that speak of it, ``near`` the names
    of terms that are often taken for it. A word of everyday language is not ``marked``
    where it stands in other chapters.

    Raises:
        ValueError: the meaning is no sentence, or the name is empty.
    """

    name: str
    meaning: str
    chapter: str
    also: tuple[str, ...] = ()
    marked: bool = True
    said: tuple[str, ...] = ()
    near: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("name must say something, got an empty string")
        if not self.meaning.endswith((".", ".)")):
            raise ValueError(f"meaning must be a sentence, got {self.meaning!r}")

    @property
    def names(self) -> tuple[str, ...]:
        """The term and all that it is called besides."""
        return (self.name, *self.also)

    @property
    def words(self) -> tuple[str, ...]:
        """What may stand in a text that speaks of it."""
        return (*self.names, *self.said)

    @property
    def anchor(self) -> str:
        """Its place on the page of the glossary."""
        return "term-" + re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")
