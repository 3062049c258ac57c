"""A model of the article's kind, small enough that a page can print all of it.

LayerNorm, as many key–value heads as heads, and an FFN of four times the width with a
GeLU. Its weights are random: what it says makes no sense, how it says it is exact.
"""

from __future__ import annotations

from functools import cache

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.ffn import GeluFfn
from llmserve_lab.transformer import Transformer, tiny_shape

WORDS = (
    *("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "and"),
    *("runs", "into", "green", "woods", "again", "."),
)
TEXT = "the quick brown fox jumps over"
D_MODEL, N_HEADS = 32, 4
WIDENING = 4


def article_shape(*, n_layers: int = 2, d_model: int = D_MODEL) -> ModelShape:
    """The article's shape: heads side by side are as wide as a row, d_ff = 4·d.

    Raises:
        ValueError: the heads do not divide the width, or there is no layer.
    """
    if d_model % N_HEADS:
        raise ValueError(f"d_model must be a multiple of {N_HEADS}, got {d_model}")
    return tiny_shape(
        n_layers=n_layers,
        d_model=d_model,
        vocab=len(WORDS),
        n_heads=N_HEADS,
        n_kv_heads=N_HEADS,
        d_head=d_model // N_HEADS,
        ffn=GeluFfn(d_ff=WIDENING * d_model),
        norm="layer",
    )


@cache
def toy() -> Transformer:
    """The model of the chapter, two blocks of 32 features, seed 0."""
    return Transformer(article_shape())


def tokenize(text: str) -> list[int]:
    """Ids of the words of ``text``, one token a word.

    Raises:
        ValueError: a word is not in the vocabulary.
    """
    words = text.split()
    unknown = [word for word in words if word not in WORDS]
    if unknown:
        raise ValueError(f"text must use the words of WORDS, got {unknown[0]!r}")
    return [WORDS.index(word) for word in words]


def spell(tokens: list[int]) -> str:
    """The words of some token ids.

    Raises:
        ValueError: an id is outside the vocabulary.
    """
    outside = [token for token in tokens if not 0 <= token < len(WORDS)]
    if outside:
        raise ValueError(f"tokens must be 0 to {len(WORDS) - 1}, got {outside[0]}")
    return " ".join(WORDS[token] for token in tokens)
