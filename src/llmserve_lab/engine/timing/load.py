"""What one iteration carries: rows to compute, pairs to attend to, cache to read."""

from __future__ import annotations

from math import inf
from operator import add
from typing import NamedTuple

from llmserve_lab.checks import at_least


class _Counts(NamedTuple):
    rows: int
    pairs: int
    kv_tokens: int
    requests: int = 0
    prompts: int = 0


class IterationLoad(_Counts):
    """What one iteration carries: new rows, query–key pairs, tokens read from cache.

    They belong to ``requests``, of which ``prompts`` bring more than one row.

    Raises:
        TypeError: one of them is no number.
        ValueError: one of them is negative, infinite or not a number.
    """

    __slots__ = ()

    def __new__(
        cls,
        rows: int,
        pairs: int,
        kv_tokens: int,
        requests: int = 0,
        prompts: int = 0,
    ) -> IterationLoad:
        """The counts, each finite and at least zero."""
        # Without a call that can be spared: an engine makes some for each iteration.
        load = tuple.__new__(cls, (rows, pairs, kv_tokens, requests, prompts))
        try:
            is_sound = (
                0 <= rows < inf
                and 0 <= pairs < inf
                and 0 <= kv_tokens < inf
                and 0 <= requests < inf
                and 0 <= prompts < inf
            )
        except TypeError:
            is_sound = False
        if not is_sound:
            for name, value in zip(cls._fields, load, strict=True):
                at_least(name, value, 0)
        return load

    @classmethod
    def of(cls, *, chunk: int, context: int = 0) -> IterationLoad:
        """``chunk`` new rows of one request that has ``context`` tokens in cache.

        Row i sees the cache and the i rows up to itself; decode is a chunk of one.

        Raises:
            ValueError: a size is negative.
        """
        if not (0 <= chunk < inf and 0 <= context < inf):
            given = f"{chunk} and {context}"
            raise ValueError(f"chunk and context must be at least 0 rows, got {given}")
        pairs = chunk * context + chunk * (chunk + 1) // 2
        return cls(chunk, pairs, context, chunk if chunk < 1 else 1, int(chunk > 1))

    def plus(self, other: IterationLoad) -> IterationLoad:
        """Both in one iteration."""
        return IterationLoad(*map(add, self, other))

    def times(self, count: int) -> IterationLoad:
        """As many as ``count`` of these in one iteration."""
        return IterationLoad(*(count * each for each in self))
