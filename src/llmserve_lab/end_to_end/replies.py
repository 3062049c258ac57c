"""The generation loop, written out: run the model, choose a token, append, repeat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llmserve_lab.end_to_end.story import END, WORDS, model, spell, tokenize
from llmserve_lab.transformer.sampling import chances, draw

LONGEST = 24  # tokens of an answer, unless it ends before


@dataclass(frozen=True)
class LoopPass:
    """One run of the model: rows computed, columns found in the cache, the choice."""

    computed: int
    reused: int
    token: int


@dataclass(frozen=True)
class LoopRun:
    """An answer and the passes that made it."""

    prompt: tuple[int, ...]
    passes: tuple[LoopPass, ...]

    @property
    def text(self) -> str:
        """The answer as text, its end mark left out."""
        return spell([one.token for one in self.passes]).removesuffix(END)


def reply(
    text: str,
    *,
    temperature: float = 0.0,
    top_p: float = 1.0,
    seed: int = 0,
    cached: bool = True,
) -> LoopRun:
    """Answer ``text``; temperature 0 is greedy.

    Raises:
        ValueError: a word is unknown, there is none, or a setting cannot be.
    """
    small, rng = model(), np.random.default_rng(seed)
    prompt, end = tokenize(text), WORDS.index(END)
    cache = small.new_cache(len(prompt) + LONGEST) if cached else None
    tokens, passes = list(prompt), list[LoopPass]()
    while len(passes) < LONGEST and tokens[-1] != end:
        reused = cache.length if cache else 0
        logits = small.forward(tokens[reused:], cache)[-1]
        if temperature == 0:
            token = int(np.argmax(logits))
        else:
            token = draw(chances(logits, temperature, top_p), rng)
        passes.append(LoopPass(len(tokens) - reused, reused, token))
        tokens.append(token)
    return LoopRun(tuple(prompt), tuple(passes))
