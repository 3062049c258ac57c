"""What is counted in the sources' own texts, which the book may not contain.

The functions count; what they found is stored with a digest of each text, so that it
can be counted again where the texts are at hand (:func:`recount`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

STATUS = r"\[(?:next|done|planned|speculative)\]"


def entries(text: str) -> int:
    """Articles that a roadmap lists: a number, a title, a status."""
    listed = text.partition("Status legend")[0]
    return len(re.findall(rf"\b\d\d [A-Z].*?{STATUS}", listed, re.DOTALL))


def mentions(text: str, word: str = "cache") -> int:
    """How often a word stands in a text, in any form."""
    return len(re.findall(word, text, re.IGNORECASE))


def words(text: str) -> frozenset[str]:
    """Different words of four letters or more."""
    return frozenset(re.findall(r"[a-z]{4,}", text.lower()))


def shared_words(text: str, other: str) -> int:
    """Words of one text that are in the other too."""
    return len(words(text) & words(other))


@dataclass(frozen=True)
class Count:
    """A number counted in texts: how, in which files, and what was found."""

    count: Callable[..., int]
    files: tuple[str, ...]
    found: int


ROADMAP, FIRST = "article_00_roadmap.txt", "article_01_llm_end_to_end.txt"
PLAIN = "article_06_prefill_decode_disaggregation.txt"
DRAWN = "article_06_as_published_with_figure_text.txt"
COUNTS: Mapping[str, Count] = MappingProxyType(
    {
        "articles of the roadmap": Count(entries, (ROADMAP,), 16),
        "mentions of a cache in article 01": Count(mentions, (FIRST,), 0),
        "words of article 06": Count(lambda text: len(words(text)), (PLAIN,), 741),
        "words in both editions": Count(shared_words, (PLAIN, DRAWN), 730),
    }
)
DIGESTS: Mapping[str, str] = MappingProxyType(
    {
        ROADMAP: "629565a2c346d96987fa195b3478cdfcdcfef27709144ff0feb2ec41e3a13644",
        FIRST: "374f992ce47e1413c3ef66c188c7e158e5a3d4e406e0bad5df6d9dd63a4e942c",
        PLAIN: "cd2548ee95d02b2ec51bba64ec83e364b80f08b167ec650c7c11e74a9ec961db",
        DRAWN: "60e8f7f13901772d0678e4735489a962dc72583103152c07a9650eb6993fdd60",
    }
)


def recount(folder: Path) -> dict[str, int]:
    """Count again in the texts of ``folder``.

    Raises:
        ValueError: a text is not the one that was counted.
    """
    texts = {name: (folder / name).read_bytes() for name in DIGESTS}
    for name, content in texts.items():
        if hashlib.sha256(content).hexdigest() != DIGESTS[name]:
            raise ValueError(f"{name} must be the text that was counted, it is another")
    return {
        what: each.count(*(texts[name].decode() for name in each.files))
        for what, each in COUNTS.items()
    }
