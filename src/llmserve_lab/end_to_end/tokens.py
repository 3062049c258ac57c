"""Byte-pair encoding: pieces of text are merged, the commonest pair first.

The ranks are those of Llama 3's vocabulary, for the fragments that this chapter's words
are made of: a fragment's rank is its id. They were read from ``tokenizer.model`` in
Meta's repository (meta-llama/llama3, commit 66cd498f), whose first hundred thousand
ranks are those of OpenAI's ``cl100k_base``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

RANKS: Mapping[str, int] = {
    ".": 13, "G": 38, "a": 64, "b": 65, "c": 66, "d": 67, "e": 68, "f": 69, "g": 70,
    "h": 71, "i": 72, "l": 75, "n": 77, "o": 78, "s": 82, "t": 83, "u": 84, "v": 85,
    "y": 88, " ": 220, " t": 259, "on": 263, " a": 264, "at": 266, " th": 270,
    " c": 272, "an": 276, "al": 278, " the": 279, " f": 282, "is": 285, " b": 293,
    " d": 294, "el": 301, "nd": 303, " and": 323, "th": 339, "iv": 344, "un": 359,
    "ab": 370, "he": 383, "ly": 398, "and": 438, " an": 459, "ive": 535, "og": 540,
    "all": 543, " u": 577, "ve": 588, "one": 606, "ie": 648, " un": 653, " do": 656,
    "ll": 657, " bo": 712, "li": 747, "bo": 754, "ne": 818, "ish": 819, "ca": 936,
    "sh": 939, "be": 1395, "the": 1820, "bl": 2067, " ca": 2211, "ably": 2915,
    "do": 3055, "ball": 4047, "cat": 4719, "ba": 4749, " ball": 5041, "ev": 5230,
    " dog": 5679, "bon": 6098, "va": 6723, " fish": 7795, " bon": 7970, " cat": 8415,
    " fi": 9314, " bal": 9839, "bel": 9978, "fi": 10188, "lie": 11828, "eli": 12574,
    " ba": 13081, "bal": 13616, " bone": 17685, "nb": 18571, "fish": 18668,
    "dog": 18964, "bone": 20337, "belie": 32898, "Give": 36227, " unbelie": 40037,
    " unb": 42644, " fis": 42723, "iev": 44191, "Gi": 47941, "abl": 62573,
    " unbe": 66671, "eva": 74518, "vably": 89234,
}  # fmt: skip
END = 128_009  # <|eot_id|>: the end of a turn, in the model card of Llama 3
WORD = re.compile(r" ?[A-Za-z]+|[^A-Za-z]")


def words(text: str) -> list[str]:
    """Cut text into words, each with the space before it: tokens never span two."""
    return WORD.findall(text)


def merge(pieces: list[str], ranks: Mapping[str, int] = RANKS) -> list[str]:
    """Join the neighbours whose union has the lowest rank; as they are if none has."""
    pairs = [a + b for a, b in pairwise(pieces)]
    known = [pair for pair in pairs if pair in ranks]
    if not known:
        return pieces
    at = pairs.index(min(known, key=lambda pair: ranks[pair]))
    return [*pieces[:at], pairs[at], *pieces[at + 2 :]]


def stages(word: str) -> list[list[str]]:
    """The pieces of a word before the first merge and after each one.

    Raises:
        ValueError: a letter is not among the fragments of this chapter.
    """
    if unknown := sorted(set(word) - set(RANKS)):
        raise ValueError(
            f"word must be of letters that RANKS lists, got {unknown[0]!r} in {word!r}"
        )
    found = [list(word)]
    while (after := merge(found[-1])) != found[-1]:
        found.append(after)
    return found


def pieces(text: str) -> list[str]:
    """The tokens of ``text``, as text.

    Raises:
        ValueError: as :func:`stages`.
    """
    return [piece for word in words(text) for piece in stages(word)[-1]]


def encode(text: str) -> list[int]:
    """The ids of the tokens of ``text`` in Llama 3's vocabulary.

    Raises:
        ValueError: as :func:`stages`.
    """
    return [RANKS[piece] for piece in pieces(text)]
