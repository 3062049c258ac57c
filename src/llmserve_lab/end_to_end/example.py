"""Five words and four features, chosen by hand so that every number can be read.

A trained model finds its own features, thousands of them, and none has a name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from llmserve_lab.end_to_end import story, tokens
from llmserve_lab.end_to_end.attention import Weights, attend, look
from llmserve_lab.page.table import Table
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.rope import rotate

FEATURES = ("alive", "verb", "article", "noun")
VECTORS = {
    "Give": (0, 1, 0, 0),
    " the": (0, 0, 1, 0),
    " dog": (1, 0, 0, 1),
    " ball": (0, 0, 0, 1),
}
# Row by row: what a living thing, a verb, an article, a noun looks for.
LOOKS_FOR = ((0, 0, 0, 0), (0, 0, 0, 0), (0, 1, 0, 0), (0, 3, 2, 0))
BACK = 1  # positions: rotated queries fit best a key that stands so far before them
OFFERS = 2 * np.eye(len(FEATURES))  # a word offers what it is
PASSES_ON = np.eye(len(FEATURES))  # and passes that on


@dataclass(frozen=True)
class Example:
    """The sentence as rows, and what attention makes of it, each [n, …]."""

    words: tuple[str, ...]
    rows: Array
    query: Array
    key: Array
    value: Array

    @property
    def products(self) -> Array:
        """Each query times each key [n, n], before anything is done to it."""
        return self.query @ self.key.T

    @property
    def weights(self) -> Array:
        """How much each row looks at each one [n, n]."""
        return look(self.query, self.key)

    @property
    def mixed(self) -> Array:
        """What each row receives [n, 4]."""
        return attend(self.query, self.key, self.value)

    @property
    def turned(self) -> Example:
        """The same with rotary positions, and queries that look for the word before.

        A trained matrix can turn its queries back by a position; then keys at that
        distance get the scores that all keys had without positions.
        """
        places = np.arange(len(self.words))
        query = rotate(self.query[:, None], places - BACK)[:, 0]
        key = rotate(self.key[:, None], places)[:, 0]
        return replace(self, query=query, key=key)

    def table(self, title: str, numbers: Array, columns: tuple[str, ...]) -> Table:
        """One of these arrays with its words beside it; what is hidden stays empty."""
        rows = [
            (word, *(_cell(x, i, j, numbers.shape) for j, x in enumerate(row)))
            for i, (word, row) in enumerate(zip(self.words, numbers, strict=True))
        ]
        return Table(title, ("row", *columns), rows)

    def vectors_table(self) -> Table:
        """Query, key and value of each row, as lists of their four numbers."""
        rows = [
            (word, *(_list(each[i]) for each in (self.query, self.key, self.value)))
            for i, word in enumerate(self.words)
        ]
        columns = ("row", "query", "key", "value")
        return Table(f"Features in this order: {', '.join(FEATURES)}", columns, rows)

    def scores_table(self) -> Table:
        """Queries times keys, the future left out."""
        return self.table("Query times key", self.products, self.words)

    def weights_table(self) -> Table:
        """The weights, the future left out."""
        return self.table(
            "Attention weights: before rounding each row adds up to 1",
            self.weights,
            self.words,
        )

    def mixed_table(self) -> Table:
        """What each row receives, by feature."""
        return self.table("What each row receives", self.mixed, FEATURES)


def _cell(x: float, i: int, j: int, shape: tuple[int, ...]) -> str:
    if shape[0] == shape[1] and j > i:
        return ""
    return f"{x:.2f}".removesuffix(".00")


def _list(numbers: Array) -> str:
    return " ".join(f"{x:g}" for x in numbers)


def weights() -> Weights:
    """The three matrices [4, 4] that make queries, keys and values."""
    return np.array(LOOKS_FOR, dtype=float), OFFERS, PASSES_ON


def example(text: str = story.SENTENCE) -> Example:
    """The sentence, or another of the same words.

    Raises:
        ValueError: it has a word without a vector.
    """
    words = tuple(tokens.pieces(text))
    unknown = [word for word in words if word not in VECTORS]
    if unknown:
        raise ValueError(f"text must use the words of VECTORS, got {unknown[0]!r}")
    rows = np.array([VECTORS[word] for word in words], dtype=float)
    w_q, w_k, w_v = weights()
    return Example(words, rows, rows @ w_q, rows @ w_k, rows @ w_v)
