"""Two numbers in a text lie as the words between them say: risen, fallen, part, whole.

"Falls from [9 ms](#num-a) to [5 ms](#num-b)": that is read in the printed digits, and
holds whatever the numbers are made of.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.page.records import CHAPTERS, ROOT
from tests.page.test_written import paragraphs
from tests.page.written import LINK, PRINTED, ends

TO = r"[^.:;\[\]]{0,40}?"  # words within the same clause
UP = "rises?|rose|grows?|grew|increases?|climbs?|lengthens?|raises?"
DOWN = "falls?|fell|drops?|dropped|shrinks?|sinks?|lowers?|shortens?|cuts?"
LINKED = LINK.pattern
LESS, MORE = "the first is less", "the first is more"
WORDS = {  # what is said around two numbers, and which of them is the less
    rf"\b(?:{UP})\b{TO} from {LINKED}{TO} to {LINKED}": LESS,
    rf"\b(?:{DOWN})\b{TO} from {LINKED}{TO} to {LINKED}": MORE,
    rf"\b[Bb]etween {LINKED} and {LINKED}": LESS,
    rf"\bonly {LINKED} instead of {LINKED}": LESS,
    rf"{LINKED} of (?:the |its |all )?{LINKED}": LESS,
}
Pair = tuple[str, str, str]


def pairs(text: str) -> Iterator[Pair]:
    """Two numbers as they are printed, and which must be the less."""
    for pattern, which in WORDS.items():
        for found in re.finditer(pattern, text):
            yield found[1], found[3], which


def lies(one: str, other: str, which: str) -> bool:
    """Whether two printed numbers can lie so; a share of something always can."""
    said = [PRINTED.fullmatch(text) for text in (one, other)]
    units = [found[2] if found else "%" for found in said]
    if "%" in units[:1] and units[0] != units[1]:
        return True
    (low, high), (low_2, high_2) = (
        ends(text, bare=not all(units)) for text in (one, other)
    )
    return low <= high_2 if which == LESS else high >= low_2


@pytest.mark.parametrize(
    "path", [ROOT / "intro.ipynb", *CHAPTERS], ids=lambda path: path.stem
)
def test_two_numbers_lie_as_their_words_say(path: Path) -> None:
    found = [pair for text in paragraphs(path) for pair in pairs(text)]
    assert [pair for pair in found if not lies(*pair)] == []


def test_many_pairs_are_read_in_both_directions() -> None:
    found = [
        pair for path in CHAPTERS for text in paragraphs(path) for pair in pairs(text)
    ]
    assert len(found) > 50
    assert sum(which == MORE for *_, which in found) > 6


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("TTFT falls from [4.1 s](#num-a) to [37 ms](#num-b)", True),
        ("TTFT falls from [37 ms](#num-b) to [4.1 s](#num-a)", False),
        ("it grows by much, from [9 ms](#num-a) at first to [15 ms](#num-b)", True),
        ("it waits for [158 µs](#num-a) of its [505 µs](#num-b)", True),
        ("it waits for [505 µs](#num-b) of its [158 µs](#num-a)", False),
        ("[94.6%](#num-a) of [3.35 TB/s](#num-b)", True),
        ("between [11 %](#num-a) and [9 %](#num-b)", False),
    ],
)
def test_what_changed_places_is_found(text: str, right: bool) -> None:
    (pair,) = pairs(text)
    assert lies(*pair) is right
