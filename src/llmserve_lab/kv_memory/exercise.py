"""The reader's own prefix lookup: which blocks of a prompt are in the cache already.

The check asks it about prompts that begin alike, that agree in the middle only, that
are known as a whole, and that belong to another tenant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from llmserve_lab.paged_cache import PagedAllocator, block_hash
from llmserve_lab.paged_cache.block_hash import ROOT

Lookup = Callable[[Sequence[int], int, Mapping[bytes, int], str], list[int]]
SIZE = 4
KNOWN = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)  # three blocks in the cache
PROMPTS: dict[str, tuple[tuple[int, ...], str]] = {
    "a prompt that begins alike": ((*KNOWN[:8], 0, 0, 0), ""),
    "a prompt that agrees in its second block only": ((0, 0, 0, 0, *KNOWN[4:]), ""),
    "the same prompt again": (KNOWN, ""),
    "the same prompt of another tenant": (KNOWN, "other"),
    "a prompt shorter than a block": (KNOWN[:3], ""),
}


def by_tokens(
    tokens: Sequence[int], size: int, index: Mapping[bytes, int], salt: str
) -> list[int]:
    """The naive lookup: each block is hashed on its own, as if it stood alone."""
    found = []
    for start in range(0, len(tokens), size):
        name = block_hash(ROOT, tokens[start : start + size])
        if name in index:
            found.append(index[name])
    return found


def by_chain(
    tokens: Sequence[int], size: int, index: Mapping[bytes, int], salt: str
) -> list[int]:
    """Blocks of the longest known beginning, at most all tokens but the last."""
    found, parent = [], ROOT
    for start in range(0, len(tokens) - size, size):
        parent = block_hash(parent, tokens[start : start + size], salt)
        salt = ""  # the chain carries it on
        if parent not in index:
            break
        found.append(index[parent])
    return found


def check(lookup: Lookup) -> str:
    """What is still wrong with a lookup, beginning with "not yet"; or that all is well.

    Raises:
        ValueError: the lookup does not return a list.
    """
    paged = _filled()
    index = {n: b for n, b in paged.pool.contents().items() if isinstance(n, bytes)}
    for what, (tokens, salt) in PROMPTS.items():
        found = lookup(tokens, SIZE, index, salt)
        if not isinstance(found, list):
            raise ValueError(f"lookup must return a list of blocks, got {found!r}")
        wanted = paged.lookup(tokens, salt=salt)
        if found != wanted:
            return (
                f"not yet: for {what}\nyour lookup gives {found}, "
                f"the cache may share {wanted}."
            )
    return "well done: every prompt finds its own beginning, and no other."


def _filled() -> PagedAllocator:
    """A cache that knows one text, and its middle as a text of another's, too."""
    paged = PagedAllocator(16, SIZE)
    for number, text in enumerate((KNOWN, (*KNOWN[4:8], 0))):
        paged.admit(number, text)
        paged.computed(number, len(text))
        paged.free(number)
    return paged
