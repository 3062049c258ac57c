"""Words beside numbers: whether a label names the quantity that it stands beside.

A label is free text, so that it reads well; it must share a word with what the notation
says of its quantity, and must not say more of another one in the same figure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from llmserve_lab.formula.quantity import Quantity

ENDINGS = ("ing", "es", "s", "ed", "d", "e")
LITTLE = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "each",
        "for",
        "from",
        "has",
        "have",
        "how",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "many",
        "more",
        "much",
        "no",
        "not",
        "of",
        "on",
        "one",
        "or",
        "per",
        "than",
        "that",
        "the",
        "their",
        "they",
        "to",
        "two",
        "what",
        "when",
        "where",
        "which",
        "with",
    ]
)


def stem(word: str) -> str:
    """A word without its ending, so that *reads* and *reading* are one."""
    low = word.lower()
    ending = next((e for e in ENDINGS if len(low) > 4 and low.endswith(e)), "")
    if len(low) == 4 and low.endswith("s") and not low.endswith("ss"):
        ending = "s"
    return low.removesuffix(ending)[:5]


def stems(text: str) -> frozenset[str]:
    """The words of a text that carry meaning, without their endings."""
    words = re.findall(r"[A-Za-z]+", text.replace("_", " "))
    return frozenset(stem(word) for word in words if word.lower() not in LITTLE)


def shares_a_word(text: str, other: str) -> bool:
    """Whether two texts have a word of meaning in common."""
    return bool(stems(text) & stems(other))


def named(quantity: Quantity, signal: str = "") -> frozenset[str]:
    """All words by which a quantity, or a signal that holds it, may be called."""
    return stems(f"{quantity.meaning} {quantity.name} {signal}")


def best_named(label: str, others: dict[str, frozenset[str]]) -> list[str]:
    """Names in ``others`` of whose words the label has most; none if it has none."""
    score = {name: len(stems(label) & words) for name, words in others.items()}
    most = max(score.values(), default=0)
    return [name for name, value in score.items() if value == most and most > 0]


def told_apart(called: Sequence[tuple[str, frozenset[str]]]) -> None:
    """Refuse names of which two could be swapped and would say as much or more.

    ``called`` holds the name of each mark, and the words of what it draws. Marks that
    draw the same with other numbers have the same words: their names fit alike.

    Raises:
        ValueError: two names fit each other's marks at least as well as their own; or
            two marks draw the same, and only one of them is called by it.
    """
    for (one, mine), (other, its) in combinations(called, 2):
        kept = len(stems(one) & mine) + len(stems(other) & its)
        swapped = len(stems(one) & its) + len(stems(other) & mine)
        same = len(stems(one) & mine) == len(stems(other) & its)
        if (kept <= swapped) if mine != its else not same:
            raise ValueError(
                f"names of marks must fit their own best, got {one!r} for "
                f"{sorted(mine)} and {other!r} for {sorted(its)}"
            )
