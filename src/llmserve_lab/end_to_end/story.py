"""The chapter's model: a Llama in miniature that has learned a few sentences by heart.

Its blocks are random; only its LM head is fitted, in closed form, so that after each
beginning of a sentence the next words have the probabilities that they have in
:data:`STORIES`. So it says something, and every step of it is that of a large model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from llmserve_lab.transformer import Transformer, seeded, tiny_shape
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.rowwise import norm
from llmserve_lab.transformer.weights import Weights

END = "<end>"
WORDS = (
    *("Give", " the", " dog", " ball", " bone", " cat", " fish", " and", "."),
    *(" stick", " bird", " worm", " a", " please", ",", END),
)
PROMPT = "Give the dog the"
SENTENCE = "Give the dog the ball"
# How often each was read; the numbers make the probabilities.
STORIES: dict[str, int] = {
    "Give the dog the ball and the cat the fish.": 5,
    "Give the dog the ball, please.": 4,
    "Give the dog the ball.": 3,
    "Give the dog the bone.": 6,
    "Give the dog the stick.": 4,
    "Give the dog the fish.": 2,
    "Give the dog the worm.": 1,
    "Give the cat the fish.": 5,
    "Give the bird the worm.": 5,
    "Give the dog a bone.": 3,
}
SELDOM = 1e-4  # the share of a word that was never read at a place


def tokenize(text: str) -> list[int]:
    """Ids of the words of ``text`` in :data:`WORDS`, longest first.

    Raises:
        ValueError: something in the text is no word of the vocabulary.
    """
    found, rest = list[int](), text
    while rest:
        fits = [word for word in WORDS if rest.startswith(word)]
        if not fits:
            raise ValueError(f"text must use the words of WORDS, got {rest!r}")
        word = max(fits, key=len)
        found.append(WORDS.index(word))
        rest = rest[len(word) :]
    return found


def spell(tokens: Sequence[int]) -> str:
    """The text of some ids.

    Raises:
        ValueError: an id is outside the vocabulary.
    """
    outside = [token for token in tokens if not 0 <= token < len(WORDS)]
    if outside:
        raise ValueError(f"tokens must be 0 to {len(WORDS) - 1}, got {outside[0]}")
    return "".join(WORDS[token] for token in tokens)


def next_words() -> dict[tuple[int, ...], Array]:
    """What follows each beginning of a story: probabilities [V]."""
    counts: dict[tuple[int, ...], Array] = defaultdict(lambda: np.zeros(len(WORDS)))
    for story, times in STORIES.items():
        ids = [*tokenize(story), WORDS.index(END)]
        for place in range(1, len(ids)):
            counts[tuple(ids[:place])][ids[place]] += times
    return {begin: _smooth(count) for begin, count in counts.items()}


def _smooth(counts: Array) -> Array:
    shares = counts / counts.sum() + SELDOM
    return np.asarray(shares / shares.sum())


@cache
def model() -> Transformer:
    """The model: two blocks of 64 features, 4 query heads, 2 key–value heads, seed 0.

    The LM head solves a linear system: last rows times head = log-probabilities.
    """
    shape = tiny_shape(d_model=64, d_head=16, vocab=len(WORDS))
    drawn = Transformer(shape, weights=Weights(shape, seeded(shape)))
    wanted = next_words()
    rows = np.stack([final_row(drawn, begin) for begin in wanted])
    logits = np.log(np.stack(list(wanted.values())))
    solved, *_ = np.linalg.lstsq(rows, logits, rcond=None)
    head = np.asarray(solved, dtype=np.float64)
    arrays = {**drawn.weights.arrays, "lm_head": head[None]}
    return Transformer(shape, weights=replace(drawn.weights, arrays=arrays))


def final_row(model: Transformer, tokens: Sequence[int]) -> Array:
    """The last row [d] after the last norm: what the LM head is multiplied with."""
    rows = model.hidden(list(tokens), (0, len(tokens)))
    normed: Array = norm(rows, *model.weights.final_norm)
    return np.asarray(normed[-1])
