"""The generation loop twice: once it runs everything again, once it remembers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmserve_lab.end_to_end.arguments import cached_heads, dense_ffn
from llmserve_lab.end_to_end.tally import Tally
from llmserve_lab.end_to_end.toy import WORDS
from llmserve_lab.page.table import Table
from llmserve_lab.transformer import Transformer, generate


@dataclass(frozen=True)
class Reply:
    """The tokens that a loop generated, and the tally of what that took."""

    tokens: tuple[int, ...]
    tally: Tally


def reply(
    model: Transformer, prompt: Sequence[int], new_tokens: int, *, cached: bool
) -> Reply:
    """Generate ``new_tokens`` greedily, and count.

    Raises:
        ValueError: there is no prompt, or nothing to generate.
    """
    tally = Tally()
    found = generate(model, prompt, new_tokens, cached=cached, run=tally.on())
    return Reply(tuple(found.tolist()), tally)


@dataclass(frozen=True)
class Comparison:
    """The same request answered by both loops, ``words`` of the tokens generated."""

    recomputed: Reply
    cached: Reply
    words: tuple[str, ...]

    @property
    def same_tokens(self) -> bool:
        """Whether both loops said the same."""
        return self.recomputed.tokens == self.cached.tokens

    @property
    def table(self) -> Table:
        """Table of passes: the token that comes out, rows and pairs of either loop."""
        both = (self.recomputed.tally, self.cached.tally)
        passes = zip(*(tally.passes for tally in both), strict=True)
        rows: list[tuple[str | int, ...]] = [
            (word, again.rows, once.rows, again.pairs, once.pairs)
            for word, (again, once) in zip(self.words, passes, strict=True)
        ]
        again, once = both
        rows.append(("all passes", again.rows, once.rows, again.pairs, once.pairs))
        columns = ("token out", "rows", "rows, cached", "pairs", "pairs, cached")
        return Table("Two loops, pass by pass", columns, rows)


def both_loops(
    model: Transformer, prompt: Sequence[int], new_tokens: int
) -> Comparison:
    """Answer ``prompt`` without a cache and with one.

    Words are those of the toy for a vocabulary as large as its own, or else the ids.

    Raises:
        ValueError: as :func:`reply`; or the model has latent attention or experts, in
            which some matrices see more rows than others.
    """
    cached_heads(model.shape)
    dense_ffn(model.shape)
    again, once = (
        reply(model, prompt, new_tokens, cached=cached) for cached in (False, True)
    )
    known = model.shape.vocab == len(WORDS)
    words = (WORDS[token] if known else str(token) for token in once.tokens)
    return Comparison(again, once, tuple(words))
